"""Parts of a whole in one bar: colours, and patterns for those who do not tell them apart."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from logitscope.gui import colors, theme
from logitscope.gui.widgets.plain import plain_tip

HEIGHT = 12
_GAP = 1.0


@dataclass(frozen=True, slots=True)
class Part:
    """One stretch. ``weight`` is its share of the whole, in any unit."""

    weight: float
    color: QColor
    pattern: Qt.BrushStyle
    """Drawn over the colour; SolidPattern for none."""
    tip: str


class StackBar(QWidget):
    """A bar of parts, as wide as there is room."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._parts: tuple[Part, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def parts(self) -> tuple[Part, ...]:
        return self._parts

    def set_parts(self, parts: tuple[Part, ...]) -> None:
        self._parts = tuple(part for part in parts if part.weight > 0)
        self.setAccessibleDescription("; ".join(part.tip for part in self._parts))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(160, HEIGHT)

    def rects(self) -> list[QRectF]:
        """Where the parts are drawn."""
        whole = sum(part.weight for part in self._parts)
        found, left = [], 0.0
        for part in self._parts:
            width = self.width() * part.weight / whole
            found.append(QRectF(left, 0, max(1.0, width - _GAP), HEIGHT))
            left += width
        return found

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        for part, rect in zip(self._parts, self.rects(), strict=True):
            painter.fillRect(rect, part.color)
            if part.pattern is not Qt.BrushStyle.SolidPattern:
                line = colors.with_alpha(theme.palette().page, 0.65)
                painter.fillRect(rect, QBrush(line, part.pattern))
        painter.end()

    def tip_at(self, point: QPoint) -> str:
        """What is said of the part under a point."""
        for part, rect in zip(self._parts, self.rects(), strict=True):
            if rect.left() <= point.x() <= rect.right() + _GAP:
                return part.tip
        return ""

    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), plain_tip(self.tip_at(event.pos())), self)
            return True
        return super().event(event)
