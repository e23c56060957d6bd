"""Short facts in a row: the least important ones go first where there is no room."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QWidget

from logitscope.gui import theme

GAP = 2 * theme.GRID


class Fact(QLabel):
    """A quiet word and a value: ``context 74 / 2,048``."""

    def __init__(self, word: str, meaning: str, parent: QWidget) -> None:
        super().__init__(parent)
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
        word = f"<span style='color:{palette.muted.name()}'>{self._word}</span> "
        value = f"<span style='color:{color.name()}'>{self._value}</span>"
        self.setFont(theme.number_font())
        self.setText(f"{word if self._word else ''}{value}" if self._value else "")
        self.setAccessibleName(f"{self._word} {self._value}".strip())


class FactRow(QWidget):
    """Facts from left to right. ``add`` them in this order and give each its importance."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._facts: list[tuple[int, Fact]] = []
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(GAP)
        self._row.addStretch(1)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)

    def add(self, word: str, meaning: str, importance: int) -> Fact:
        fact = Fact(word, meaning, self)
        self._facts.append((importance, fact))
        self._row.insertWidget(len(self._facts) - 1, fact)
        return fact

    def fit(self) -> None:
        """Show as many facts as there is room for, the most important ones first."""
        room = self.width()
        shown: set[int] = set()
        for _, fact in sorted(self._facts, key=lambda pair: -pair[0]):
            needed = fact.sizeHint().width() + GAP
            if fact.value and needed <= room:
                shown.add(id(fact))
                room -= needed
            else:
                # The less important ones are not shown in its place: a row with holes misleads.
                room = room if not fact.value else 0
        for _, fact in self._facts:
            fact.setVisible(id(fact) in shown)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit()

    def minimumSizeHint(self) -> QSize:
        return QSize(0, self.fontMetrics().height())
