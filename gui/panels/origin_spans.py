"""The source spans of the selected word, the swap test and what the word leans on."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QPushButton,
    QSizePolicy,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from logitscope.backends.origin_messages import Task
from logitscope.gui import theme
from logitscope.gui.originating import Originator
from logitscope.gui.panels import origin_words
from logitscope.gui.widgets.note_bar import NoteBar
from logitscope.gui.widgets.plain import plain
from logitscope.gui.widgets.table_model import TableModel
from logitscope.origin_sources import listed_spans
from logitscope.origin_types import OriginReport, SourceEvidence
from logitscope.vocabulary import Vocabulary

LEAST_ROWS = 4


class OriginSpans(QWidget):
    """Need and hold of every span; a click shows it in the prompt."""

    span_selected = Signal(int)

    def __init__(self, originator: Originator, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._originator = originator
        self.listed: tuple[int, ...] = ()
        """Spans in the table, top to bottom."""
        self.note = NoteBar(self)
        titles = ("span", "need", "hold", "evidence", "word")
        self.rows = TableModel(tuple(map(self.tr, titles)), self)
        self.table = self._make_table()
        self.swap = QPushButton(self.tr("Try other words"), self)
        self.swap.setToolTip(
            self.tr(
                "Put other words in place of the source word, and see whether the answer follows"
            )
        )
        self.leans = QPushButton(self.tr("Leans on …"), self)
        self.leans.setToolTip(self.tr("Which earlier words of the answer the word depends on"))
        self.found = plain(QLabel(self))
        self.found.setWordWrap(True)
        self._lay_out()
        self.swap.clicked.connect(lambda: self._wish(Task.SWAP))
        self.leans.clicked.connect(lambda: self._wish(Task.LEANS))
        self.table.selectionModel().currentRowChanged.connect(self._tell)

    def _make_table(self) -> QTableView:
        view = QTableView(self)
        view.setModel(self.rows)
        view.setAccessibleName(self.tr("Source spans of the selected word, in nats"))
        view.setToolTip(
            self.tr(
                "Need: what the word loses without the span; hold: what it gains by the span "
                "alone; evidence: half of both. In nats."
            )
        )
        view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        view.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        view.setShowGrid(False)
        view.setMinimumHeight(LEAST_ROWS * 3 * theme.GRID)
        view.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Ignored)
        view.verticalHeader().hide()
        view.verticalHeader().setDefaultSectionSize(3 * theme.GRID)
        header = view.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        return view

    def _lay_out(self) -> None:
        buttons = QHBoxLayout()
        buttons.setSpacing(theme.GRID)
        buttons.addWidget(self.swap)
        buttons.addWidget(self.leans)
        buttons.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, theme.GRID // 2, 0, 0)
        column.setSpacing(theme.GRID // 2)
        column.addWidget(self.note)
        column.addWidget(self.table, 1)
        column.addLayout(buttons)
        column.addWidget(self.found)

    # -- showing ----------------------------------------------------------------------------

    def show_word(
        self, report: OriginReport | None, number: int | None, vocabulary: Vocabulary | None
    ) -> None:
        """Show a word of a report by its number; None clears."""
        is_there = report is not None and number is not None and vocabulary is not None
        for button in (self.swap, self.leans):
            button.setEnabled(is_there)
        self._show_note(report)
        if report is None or number is None or vocabulary is None:
            self.rows.set_rows(())
            self.found.setText("")
            return
        word = report.words[number]
        found = listed_spans(word)
        self.listed = tuple(each.span for each in found)
        self.rows.set_rows(tuple(self._row(report, each, vocabulary) for each in found))
        lines = []
        if word.sources is not None and not found:
            lines.append(self.tr("No span has as much as 0.5 nat of evidence: less is noise."))
        lines.extend(origin_words.swap_text(swap) for swap in word.swaps)
        lines.append(origin_words.leans_text(report, word))
        if self._originator.has_worked_out(Task.SWAP, number) and not word.swaps:
            lines.append(
                self.tr("No other word of the same shape fits there, so there is no swap test.")
            )
        self.found.setText("\n".join(line for line in lines if line))
        self.found.setVisible(bool(self.found.text()))

    def _row(
        self, report: OriginReport, each: SourceEvidence, vocabulary: Vocabulary
    ) -> tuple[str, ...]:
        text = origin_words.span_text(vocabulary, report.case, report.case.sources[each.span])
        word = origin_words.source_text(vocabulary, report.case, each)
        if each.word_need is not None:
            word = f"{word} ({origin_words.nats(each.word_need)})"
        figures = (origin_words.nats(value) for value in (each.need, each.hold, each.evidence))
        return origin_words.short(text), *figures, word

    def _show_note(self, report: OriginReport | None) -> None:
        case = self._originator.case
        if report is not None and case is not None and self._originator.needs_permission:
            words = origin_words.many_text(case)
            self.note.say(words, self.tr("Search them"), self._originator.allow)
        else:
            self.note.say("")

    # -- intents ----------------------------------------------------------------------------

    def _wish(self, task: Task) -> None:
        number = self._originator.word
        if number is not None:
            self._originator.wish(task, number)

    def _tell(self, index: QModelIndex, _before: QModelIndex) -> None:
        if index.isValid() and index.row() < len(self.listed):
            self.span_selected.emit(self.listed[index.row()])
