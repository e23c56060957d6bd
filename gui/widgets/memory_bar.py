"""Memory that a model needs against the memory there is, as one bar."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from logitscope.gui import colors, theme

HEIGHT = 12


@dataclass(frozen=True, slots=True)
class Part:
    """One stretch of the bar."""

    bytes: int
    role: str
    """Name of the palette's colour."""


class MemoryBar(QWidget):
    """Parts side by side; the line marks the free memory. What is over it is in the error
    colour."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._parts: tuple[Part, ...] = ()
        self._free = 0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_parts(self, parts: tuple[Part, ...], free: int) -> None:
        self._parts, self._free = parts, free
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(240, HEIGHT + 8)

    def paintEvent(self, _event: QPaintEvent) -> None:
        palette = theme.palette()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        total = sum(part.bytes for part in self._parts)
        scale = self.width() / max(1, total, round(1.05 * self._free))
        bar = QRectF(0, 4, self.width(), HEIGHT)
        shape = QPainterPath()
        shape.addRoundedRect(bar, 4, 4)
        painter.setClipPath(shape)
        painter.fillRect(bar, palette.line)
        start = 0.0
        for part in self._parts:
            width = part.bytes * scale
            painter.fillRect(QRectF(start, 4, width, HEIGHT), self._color(part.role))
            start += width
        limit = self._free * scale
        if start > limit:
            painter.fillRect(QRectF(limit, 4, start - limit, HEIGHT), palette.error)
        painter.setClipping(False)
        painter.setPen(QPen(palette.text, 2, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
        if total:
            painter.drawLine(QRectF(limit, 1, 0, HEIGHT + 6).topLeft(),
                             QRectF(limit, 1, 0, HEIGHT + 6).bottomLeft())  # fmt: skip

    @staticmethod
    def _color(role: str) -> QColor:
        color: QColor = getattr(theme.palette(), role)
        return colors.with_alpha(color, 1.0)
