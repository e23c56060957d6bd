"""Words of the answer against the spans of the sources."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QScrollArea, QVBoxLayout, QWidget

from logitscope.display import label_of_bytes
from logitscope.gui import theme
from logitscope.gui.origin_style import evidence_tint
from logitscope.gui.originating import Originator
from logitscope.gui.panels.origin_export import OriginExport
from logitscope.gui.panels.origin_words import short, span_text
from logitscope.gui.session import Session
from logitscope.gui.widgets.eliding_label import ElidingLabel
from logitscope.gui.widgets.matrix_view import MatrixView
from logitscope.origin_totals import evidence_matrix
from logitscope.origin_types import OriginReport
from logitscope.vocabulary import Vocabulary


class OriginMatrix(QWidget):
    """Evidence in nats; what is not worked out is left open."""

    word_selected = Signal(int)

    def __init__(
        self, session: Session, originator: Originator, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.view = MatrixView(evidence_tint)
        self.view.setAccessibleName(self.tr("Evidence of every span for every word, in nats"))
        self.view.row_selected.connect(self.word_selected)
        self.export = OriginExport(session, originator, self.view, matrix=True)
        self.fill = QPushButton(self.tr("Work out all words"), self)
        self.fill.clicked.connect(originator.wish_all_sources)
        self.note = ElidingLabel(self)
        self.note.setText(self.tr("Evidence in nats: half of need and hold"))
        self.note.setProperty("muted", True)
        self.area = QScrollArea(self)
        self.area.setWidget(self.view)
        self.area.setWidgetResizable(True)
        self.area.setFrameShape(QFrame.Shape.NoFrame)
        row = QHBoxLayout()
        row.addWidget(self.fill)
        row.addWidget(self.note, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, theme.GRID // 2, 0, 0)
        column.setSpacing(theme.GRID // 2)
        column.addLayout(row)
        column.addWidget(self.area, 1)

    def show_report(
        self, report: OriginReport | None, word: int | None, vocabulary: Vocabulary | None
    ) -> None:
        """Show a report with one word selected; None clears."""
        if report is None or vocabulary is None:
            self.view.set_matrix(np.zeros((0, 0)), (), (), ())
            self.fill.setEnabled(False)
            return
        spans = [span_text(vocabulary, report.case, span) for span in report.case.sources]
        names = [f"{i + 1} {short(text, 16)}" for i, text in enumerate(spans)]
        words = [label_of_bytes(each.text.encode(errors="replace")) for each in report.words]
        matrix = evidence_matrix(report)
        self.view.set_matrix(matrix, words, names, spans)
        self.view.set_selected_row(word)
        self.fill.setEnabled(any(each.sources is None for each in report.words))
