"""A second opinion on the selected word by gradients, on models of PyTorch."""

from __future__ import annotations

from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QPushButton,
    QSizePolicy,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from logitscope.attribution_ranges import Grain, ranges_of
from logitscope.attribution_units import GradientMethod, sum_ranges
from logitscope.backends.origin_messages import SecondOpinion
from logitscope.display import label_of_bytes
from logitscope.gui import theme
from logitscope.gui.originating import Originator
from logitscope.gui.panels.origin_words import nats, short, shown
from logitscope.gui.widgets.plain import plain
from logitscope.gui.widgets.table_model import TableModel
from logitscope.gui.words import mark, translated
from logitscope.origin_types import OriginReport
from logitscope.vocabulary import Vocabulary

CONTEXT = "OriginGradients"
ROWS = 100
METHODS = {
    GradientMethod.GRADIENT_X_INPUT: mark(CONTEXT, "Gradient × input"),
    GradientMethod.INTEGRATED_GRADIENTS: mark(CONTEXT, "Integrated gradients"),
}
GRAINS = {
    Grain.TOKEN: mark(CONTEXT, "by token"),
    Grain.WORD: mark(CONTEXT, "by word"),
    Grain.SENTENCE: mark(CONTEXT, "by sentence"),
    Grain.PARAGRAPH: mark(CONTEXT, "by paragraph"),
}


class OriginGradients(QWidget):
    """Asks for it, and lists what adds most to the word's log-probability."""

    def __init__(self, originator: Originator, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._originator = originator
        self._opinion: SecondOpinion | None = None
        self._report: OriginReport | None = None
        self._vocabulary: Vocabulary | None = None
        self.method, self.grain = QComboBox(self), QComboBox(self)
        for each, title in METHODS.items():
            self.method.addItem(translated(CONTEXT, title), each)
        for grain, title in GRAINS.items():
            self.grain.addItem(translated(CONTEXT, title), grain)
        self.grain.setCurrentIndex(1)
        self.method.setAccessibleName(self.tr("Method"))
        self.grain.setAccessibleName(self.tr("Unit"))
        self.ask = QPushButton(self.tr("Ask"), self)
        self.note = plain(QLabel(self))
        self.note.setWordWrap(True)
        self.note.setProperty("muted", True)
        self.rows = TableModel((self.tr("text"), self.tr("nats")), self)
        self.table = QTableView(self)
        self._lay_out()
        self.ask.clicked.connect(self._ask)
        self.grain.currentIndexChanged.connect(self._refresh)

    def _lay_out(self) -> None:
        view = self.table
        view.setModel(self.rows)
        view.setAccessibleName(self.tr("What adds most to the word, in nats"))
        view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        view.setShowGrid(False)
        view.setMinimumHeight(4 * 3 * theme.GRID)
        view.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Ignored)
        view.verticalHeader().hide()
        view.verticalHeader().setDefaultSectionSize(3 * theme.GRID)
        view.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        row = QHBoxLayout()
        for widget in (self.method, self.grain, self.ask):
            row.addWidget(widget)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, theme.GRID // 2, 0, 0)
        column.setSpacing(theme.GRID // 2)
        column.addLayout(row)
        column.addWidget(self.note)
        column.addWidget(view, 1)

    # -- showing ----------------------------------------------------------------------------

    def show_opinion(
        self,
        opinion: SecondOpinion | None,
        report: OriginReport,
        word: int | None,
        vocabulary: Vocabulary | None,
    ) -> None:
        """Show an opinion where it is about the selected word."""
        is_about = opinion is not None and opinion.word == word
        self._opinion = opinion if is_about else None
        self._report, self._vocabulary = report, vocabulary
        self.ask.setEnabled(word is not None)
        self._refresh()

    def _refresh(self) -> None:
        opinion, report, vocabulary = self._opinion, self._report, self._vocabulary
        if opinion is None or report is None or vocabulary is None:
            self.note.setText(
                self.tr(
                    "A second opinion: slopes of the word’s log-probability at the prompt as it "
                    "is, not what happens without a part of it."
                )
            )
            self.rows.set_rows(())
            return
        word = report.words[opinion.word]
        ids = (*report.case.prompt_ids, *report.case.answer_ids)[: len(opinion.values)]
        units = ranges_of(vocabulary, ids, Grain(self.grain.currentData()))
        sums = sum_ranges(opinion.values, units)
        order = sorted(range(len(units)), key=lambda i: -abs(sums[i]))[:ROWS]
        said = self.tr("{method} for {word}; all tokens together {sum} nats.")
        self.note.setText(
            said.format(
                method=translated(CONTEXT, METHODS[opinion.method]),
                word=shown(word.text),
                sum=nats(float(opinion.values.sum())),
            )
        )
        self.rows.set_rows(
            tuple(
                (
                    short(label_of_bytes(_bytes(vocabulary, ids[slice(*units[i])])), 64),
                    nats(float(sums[i])),
                )
                for i in order
            )
        )

    # -- intents ----------------------------------------------------------------------------

    def _ask(self) -> None:
        number = self._originator.word
        if number is not None:
            self._originator.ask_second_opinion(number, GradientMethod(self.method.currentData()))


def _bytes(vocabulary: Vocabulary, ids: tuple[int, ...]) -> bytes:
    """The names of special tokens included."""
    return b"".join(vocabulary.bytes_of(token_id) for token_id in ids)
