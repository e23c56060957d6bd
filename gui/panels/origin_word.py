"""The selected word: what was expected at its place with and without the sources."""

from __future__ import annotations

import math

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from logitscope.display import token_label
from logitscope.gui import theme
from logitscope.gui.panels.origin_words import word_html
from logitscope.gui.widgets.expected_bars import Bar, Column, ExpectedBars
from logitscope.gui.widgets.plain import rich
from logitscope.origin_places import places_of
from logitscope.origin_types import Condition, Expected, OriginReport, WordOrigin
from logitscope.vocabulary import Vocabulary


class OriginWord(QWidget):
    """Label, share and gain in words, and three columns of bars."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.words = rich(QLabel(self))
        self.words.setWordWrap(True)
        self.words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.bars = ExpectedBars()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, theme.GRID // 2, 0, 0)
        column.setSpacing(theme.GRID)
        column.addWidget(self.words)
        column.addWidget(self.bars)
        column.addStretch(1)

    def show_word(
        self, report: OriginReport | None, word: WordOrigin | None, vocabulary: Vocabulary | None
    ) -> None:
        """Show a word of a report; None clears."""
        self.words.setFont(theme.number_font())
        if report is None or word is None or vocabulary is None:
            self.words.setText("")
            self.bars.set_columns(())
            return
        stands_there = bool(places_of(vocabulary, report.case, word.text))
        self.words.setText(word_html(word, stands_there=stands_there))
        answer = report.case.answer_ids
        shown = (Condition.WITH, Condition.DROP, filler_of(word))
        by_condition = {each.condition: each for each in word.expected}
        self.bars.set_columns(
            tuple(
                self._column(condition, by_condition[condition], answer, vocabulary)
                for condition in shown
                if condition in by_condition
            )
        )

    def _column(
        self,
        condition: Condition,
        expected: Expected,
        answer: tuple[int, ...],
        vocabulary: Vocabulary,
    ) -> Column:
        own = None if expected.token is None else answer[expected.token]
        bars = tuple(
            Bar(token_label(vocabulary, token_id), math.exp(log), token_id == own)
            for token_id, log in zip(expected.ids, expected.log_probabilities, strict=True)
        )
        title, tip = self._title(condition)
        return Column(title, tip, bars)

    def _title(self, condition: Condition) -> tuple[str, str]:
        if condition is Condition.WITH:
            return self.tr("with the sources"), self.tr("The prompt as it is")
        if condition is Condition.DROP:
            return self.tr("dropped"), self.tr("The prompt without its sources")
        return self.tr("filler"), self.tr(
            "An unrelated text of as many tokens in place of the sources; of two fillers the one "
            "that leaves the word likelier"
        )


def filler_of(word: WordOrigin) -> Condition:
    """The filler that leaves the word likelier: it decides, with the dropped sources."""
    fillers = (Condition.FILL_A, Condition.FILL_B)
    return max(fillers, key=lambda each: word.log_probability.get(each, -math.inf))
