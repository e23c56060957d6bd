"""Short facts in a row: the least important ones go first where there is no room."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from logitscope.gui import theme
from logitscope.gui.widgets.plain import rich

GAP = 2 * theme.GRID


class Fact(QLabel):
    """A quiet word and a value: ``context 74 / 2,048``."""

    def __init__(self, word: str, meaning: str, parent: QWidget) -> None:
        super().__init__(parent)
        rich(self)
        self._word = word
        self._value = ""
        self._warns = False
        self.setToolTip(meaning)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        theme.notifier().changed.connect(self._draw)

    @property
    def value(self) -> str:
        return self._value

    def set_value(self, value: str, *, warns: bool = False) -> None:
        """Show a value; "" hides the fact."""
        if (value, warns) != (self._value, self._warns):
            self._value, self._warns = value, warns
            self._draw()

    def _draw(self) -> None:
        palette = theme.palette()
        color = palette.warning if self._warns else palette.text
        word = f"<span style='color:{palette.muted.name()}'>{escape(self._word)}</span> "
        value = f"<span style='color:{color.name()}'>{escape(self._value)}</span>"
        self.setFont(theme.number_font())
        self.setText(f"{word if self._word else ''}{value}" if self._value else "")
        self.setAccessibleName(f"{self._word} {self._value}".strip())


class FactRow(QWidget):
    """Facts from left to right. ``add`` them in this order and give each its importance.

    Places them itself: a layout would answer each one that comes or goes by resizing the row.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._facts: list[tuple[int, Fact]] = []
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)

    def add(self, word: str, meaning: str, importance: int) -> Fact:
        fact = Fact(word, meaning, self)
        self._facts.append((importance, fact))
        return fact

    def fit(self) -> None:
        """Show as many facts as there is room for, the most important ones first."""
        fitting = self._fitting()
        left = 0
        for _, fact in self._facts:
            is_shown = fact in fitting
            if is_shown:
                width = fact.sizeHint().width()
                fact.setGeometry(left, 0, width, self.height())
                left += width + GAP
            fact.setVisible(is_shown)

    def _fitting(self) -> list[Fact]:
        room = self.width()
        fitting: list[Fact] = []
        for _, fact in sorted(self._facts, key=lambda pair: -pair[0]):
            if not fact.value:
                continue
            needed = fact.sizeHint().width() + (GAP if fitting else 0)
            if needed > room:
                # Nothing less important is shown in its place: a row with holes misleads.
                break
            fitting.append(fact)
            room -= needed
        return fitting

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit()

    def sizeHint(self) -> QSize:
        return QSize(0, max((fact.sizeHint().height() for _, fact in self._facts), default=0))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()
