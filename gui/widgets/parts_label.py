"""A line of several figures that leaves out the least important ones where they do not fit."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel, QWidget

from logitscope.gui import theme
from logitscope.gui.widgets.plain import plain

SEPARATOR = " · "
MORE = "…"


class PartsLabel(QLabel):
    """``text()`` is always the whole line."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._parts: tuple[str, ...] = ()
        plain(self)

    def set_parts(self, parts: Sequence[str]) -> None:
        """The most important ones first; the line is cut between two of them."""
        if tuple(parts) != self._parts:
            self._parts = tuple(parts)
            self._fit()
            self.updateGeometry()

    def text(self) -> str:
        return SEPARATOR.join(self._parts)

    @property
    def shown(self) -> str:
        """The parts that fit."""
        return super().text()

    def sizeHint(self) -> QSize:
        return QSize(self._width(self.text()), super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        return QSize(2 * theme.GRID, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.FontChange:
            self._fit()

    def _fit(self) -> None:
        room = self.contentsRect().width()
        shown = self.text()
        kept = list(self._parts)
        while len(kept) > 1 and self._width(shown) > room:
            kept.pop()
            shown = SEPARATOR.join((*kept, MORE))
        super().setText(shown)

    def _width(self, text: str) -> int:
        return self.fontMetrics().horizontalAdvance(text)
