"""The cumulative bar of a draw: intervals of the kept tokens side by side, and where u fell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QHelpEvent,
    QPainter,
    QPaintEvent,
    QPolygonF,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from logitscope.gui import colors, theme

MARK_HEIGHT = 8.0
PADDING = 4.0
SHADES = (0.55, 0.3)
"""Neighbouring intervals are told apart by these shares of the bars' colour."""


@dataclass(frozen=True, slots=True)
class Interval:
    """One token's place on [0, 1)."""

    token_id: int
    text: str
    low: float
    high: float


class DrawBar(QWidget):
    """Intervals in order; behind the last one lie those too narrow to draw."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._intervals: tuple[Interval, ...] = ()
        self._u: float | None = None
        self._hit: int | None = None
        self.tooltip_of: Callable[[Interval | None], str] = lambda _interval: ""
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMouseTracking(True)
        theme.notifier().changed.connect(self._theme_changed)

    def _theme_changed(self) -> None:
        self.updateGeometry()
        self.update()

    @property
    def intervals(self) -> tuple[Interval, ...]:
        return self._intervals

    @property
    def u(self) -> float | None:
        return self._u

    @property
    def hit(self) -> int | None:
        """Id of the token whose interval holds u."""
        return self._hit

    def set_draw(self, intervals: tuple[Interval, ...], u: float | None, hit: int | None) -> None:
        """Show these intervals, the mark at ``u`` and the interval of the id ``hit``."""
        self._intervals = intervals
        self._u = u
        self._hit = hit
        self.update()

    def sizeHint(self) -> QSize:
        height = QFontMetricsF(theme.token_font(-1)).height() + 8 + MARK_HEIGHT + 2
        return QSize(240, round(height))

    def minimumSizeHint(self) -> QSize:
        return QSize(120, self.sizeHint().height())

    def interval_at(self, x: float) -> Interval | None:
        """The interval drawn at a horizontal place; None where the rest is."""
        place = x / max(1, self.width())
        for interval in self._intervals:
            if interval.low <= place < interval.high:
                return interval
        return None

    # -- painting ---------------------------------------------------------------------------

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        palette = theme.palette()
        area = QRectF(0, MARK_HEIGHT + 2, self.width(), self.height() - MARK_HEIGHT - 2)
        painter.fillRect(area, colors.mix(palette.page, palette.tail, 0.6))
        fills = [colors.mix(palette.page, palette.bar_raw, share) for share in SHADES]
        for index, interval in enumerate(self._intervals):
            fill = self._of(interval, index, [*fills, palette.bar_shaped])
            left = interval.low * area.width()
            width = interval.high * area.width() - left
            painter.fillRect(QRectF(left, area.top(), width, area.height()), fill)
        inks = [colors.readable(palette.text, fill) for fill in (*fills, palette.bar_shaped)]
        self._paint_texts(painter, area, inks)
        if self._u is not None:
            self._paint_mark(painter, area, self._u)
        painter.end()

    def _of(self, interval: Interval, index: int, choices: list[QColor]) -> QColor:
        """The last of the colours for the interval that was hit, else the others in turn."""
        if interval.token_id == self._hit:
            return choices[-1]
        return choices[index % len(SHADES)]

    def _paint_texts(self, painter: QPainter, area: QRectF, inks: list[QColor]) -> None:
        """The tokens of the intervals that have room for one."""
        painter.setFont(theme.token_font(-1))
        metrics = QFontMetricsF(painter.font())
        least = 2 * metrics.averageCharWidth()
        for index, interval in enumerate(self._intervals):
            left = interval.low * area.width() + PADDING
            room = interval.high * area.width() - PADDING - left
            if room < least:
                continue
            painter.setPen(self._of(interval, index, inks))
            text = metrics.elidedText(interval.text, Qt.TextElideMode.ElideRight, room)
            place = QRectF(left, area.top(), room, area.height())
            painter.drawText(place, int(Qt.AlignmentFlag.AlignCenter), text)

    def _paint_mark(self, painter: QPainter, area: QRectF, u: float) -> None:
        color = theme.palette().text
        x = min(u * area.width(), area.width() - 1.0)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color)
        half = MARK_HEIGHT / 2
        painter.drawPolygon(
            QPolygonF([QPointF(x - half, 0), QPointF(x + half, 0), QPointF(x, MARK_HEIGHT)])
        )
        painter.fillRect(QRectF(x - 0.75, MARK_HEIGHT - 1, 1.5, area.bottom()), color)

    # -- mouse ------------------------------------------------------------------------------

    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            if self._intervals:
                text = self.tooltip_of(self.interval_at(event.pos().x()))
                QToolTip.showText(event.globalPos(), text, self)
            return True
        return super().event(event)
