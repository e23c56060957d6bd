"""A small round mark: nothing there, ready, or busy. Words beside it say the same."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from logitscope.gui import theme

SIZE = 12


class StatusDot(QWidget):
    """A ring without a model, a filled dot when ready, in the accent colour when busy."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._busy = False
        self._ready = False
        self.setFixedSize(SIZE, SIZE)

    def set_state(self, *, busy: bool, ready: bool) -> None:
        if (busy, ready) != (self._busy, self._ready):
            self._busy, self._ready = busy, ready
            self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        palette = theme.palette()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        circle = QRectF(self.rect()).adjusted(2, 2, -2, -2)
        if self._busy or self._ready:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(palette.accent if self._busy else palette.derived)
        else:
            painter.setPen(QPen(palette.muted, 1.5))
        painter.drawEllipse(circle)
