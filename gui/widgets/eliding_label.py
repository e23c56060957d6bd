"""A label of one line whose text is cut with an ellipsis where it does not fit."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel, QWidget

from logitscope.gui import theme


class ElidingLabel(QLabel):
    """``text()`` is always the whole text."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text = ""
        self._mode = Qt.TextElideMode.ElideRight
        self._lead = 0
        self.setTextFormat(Qt.TextFormat.PlainText)

    def setElideMode(self, mode: Qt.TextElideMode) -> None:
        """Which end is cut; usually the right one."""
        self._mode = mode
        self._fit()

    def text(self) -> str:
        return self._text

    def setText(self, text: str, lead: int = 0) -> None:
        """The first ``lead`` characters are never cut, whichever end is."""
        if (text, lead) != (self._text, self._lead):
            self._text, self._lead = text, lead
            self._fit()
            self.updateGeometry()

    @property
    def shown(self) -> str:
        """The part that fits."""
        return super().text()

    def sizeHint(self) -> QSize:
        width = self.fontMetrics().horizontalAdvance(self._text) + 2 * self.margin()
        return QSize(width, super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        return QSize(2 * theme.GRID, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.FontChange:
            self._fit()

    def shortened(self, room: int) -> str:
        """The text for so many pixels."""
        lead, rest = self._text[: self._lead], self._text[self._lead :]
        metrics = self.fontMetrics()
        room -= metrics.horizontalAdvance(lead)
        return lead + metrics.elidedText(rest, self._mode, max(room, 0))

    def _fit(self) -> None:
        super().setText(self.shortened(self.contentsRect().width()))
