"""Passes of the model side by side, the newest on the right."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QBrush,
    QFocusEvent,
    QFontMetricsF,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from logitscope.gui import colors, theme
from logitscope.gui.widgets import numbers
from logitscope.passes import Pass, PassKind

LENGTH = 6.0
"""Pixels of a bar for one token, and what every doubling adds."""
GAP = 2.0
LEAST_HEIGHT = 4.0
LEAST_DECADES = 1.5
"""Times that differ by less than a factor of 30 shall not look far apart."""
ROOM_BELOW, ROOM_ABOVE = 0.5, 0.1
"""Decades below the shortest time, so that it has a bar, and above the longest."""
RIGHT = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight)
CENTRE = int(Qt.AlignmentFlag.AlignCenter)


def length_of(tokens: int) -> float:
    """Pixels: on a logarithmic scale, or a prefill of 2,000 tokens would be a mile of decodes."""
    return LENGTH * (1 + math.log2(max(1, tokens)))


class PassStrip(QWidget):
    """Length is tokens, height is time, both logarithmic; a prefill is hatched and numbered."""

    current_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._passes: Sequence[Pass] = ()
        self._decades = decades_of(())
        self._current: int | None = None
        self.tooltip_of: Callable[[Pass], str] = lambda _pass: ""
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        theme.notifier().changed.connect(self._theme_changed)

    def _theme_changed(self) -> None:
        self.updateGeometry()
        self.update()

    @property
    def passes(self) -> Sequence[Pass]:
        return self._passes

    @property
    def current(self) -> Pass | None:
        """The pass that was chosen; None: none is."""
        return next((one for one in self._passes if one.number == self._current), None)

    def set_passes(self, passes: Sequence[Pass]) -> None:
        """Show these, oldest first; what does not fit falls out on the left."""
        if passes == self._passes:
            return
        self._passes = passes
        self._decades = decades_of(passes)
        if self._current is not None and self.current is None:
            self.choose(None)
        self.update()

    def choose(self, number: int | None) -> None:
        """Make the pass of this number the current one."""
        if number != self._current:
            self._current = number
            self.update()
            self.current_changed.emit()

    def sizeHint(self) -> QSize:
        return QSize(320, 96)

    def minimumSizeHint(self) -> QSize:
        return QSize(160, 72)

    # -- places -----------------------------------------------------------------------------

    def bars(self) -> list[tuple[Pass, QRectF]]:
        """Every pass that is on screen and its bar, newest first."""
        area, found = self._area(), []
        bottom, top = self._decades
        right = area.right()
        for one in reversed(self._passes):
            length = length_of(one.evaluated)
            if right - length < area.left():
                break
            share = (_log(one.seconds) - bottom) / (top - bottom)
            height = max(LEAST_HEIGHT, share * area.height())
            found.append((one, QRectF(right - length, area.bottom() - height, length, height)))
            right -= length + GAP
        return found

    def pass_at(self, place: QPointF) -> Pass | None:
        """The pass in whose column a place lies."""
        for one, bar in self.bars():
            if bar.left() - GAP / 2 <= place.x() < bar.right() + GAP / 2:
                return one
        return None

    def _area(self) -> QRectF:
        metrics = QFontMetricsF(theme.number_font(-1))
        left = metrics.horizontalAdvance("100 ms") + theme.GRID
        top = metrics.height() / 2 + 1
        return QRectF(left, top, max(1.0, self.width() - left - 2), self.height() - top - 3)

    # -- painting ---------------------------------------------------------------------------

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setFont(theme.number_font(-1))
        self._paint_axis(painter)
        for one, bar in self.bars():
            self._paint_bar(painter, one, bar)
        painter.end()

    def _paint_axis(self, painter: QPainter) -> None:
        palette, area = theme.palette(), self._area()
        bottom, top = self._decades
        height = QFontMetricsF(painter.font()).height()
        room = area.height() / (top - bottom)
        every = max(1, math.ceil(1.4 * height / room))
        for power in range(math.floor(top), math.ceil(bottom) - 1, -every):
            y = area.bottom() - (power - bottom) * room
            painter.setPen(QPen(palette.line, 1))
            painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
            painter.setPen(palette.muted)
            place = QRectF(0, y - height / 2, area.left() - theme.GRID / 2, height)
            painter.drawText(place, RIGHT, _power_text(power))

    def _paint_bar(self, painter: QPainter, one: Pass, bar: QRectF) -> None:
        palette = theme.palette()
        if one.kind is PassKind.PREFILL:
            paint_prefill(painter, bar)
            self._paint_count(painter, one, bar)
        else:
            painter.fillRect(bar, palette.bar_shaped)
        if one.number == self._current:
            painter.setPen(QPen(palette.text, 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(bar.adjusted(-1, -1, 1, 1))

    def _paint_count(self, painter: QPainter, one: Pass, bar: QRectF) -> None:
        text = numbers.count(one.evaluated)
        metrics = QFontMetricsF(painter.font())
        wide = metrics.horizontalAdvance(text) + 6
        if wide > bar.width() or metrics.height() > bar.height():
            return
        palette = theme.palette()
        place = QRectF(0, 0, wide, metrics.height())
        place.moveCenter(bar.center())
        painter.fillRect(place, palette.page)
        painter.setPen(palette.text)
        painter.drawText(place, CENTRE, text)

    # -- mouse and keys ---------------------------------------------------------------------

    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            one = self.pass_at(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), "" if one is None else self.tooltip_of(one), self)
            return True
        return super().event(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton:
            one = self.pass_at(event.position())
            self.choose(None if one is None else one.number)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        shown = [one.number for one, _bar in self.bars()]
        place = shown.index(self._current) if self._current in shown else -1
        wanted = {
            Qt.Key.Key_Left: place + 1,
            Qt.Key.Key_Right: max(0, place - 1),
            Qt.Key.Key_Home: len(shown) - 1,
            Qt.Key.Key_End: 0,
        }.get(Qt.Key(event.key()))
        if wanted is None or not shown:
            super().keyPressEvent(event)
        else:
            self.choose(shown[min(wanted, len(shown) - 1)])


def paint_prefill(painter: QPainter, bar: QRectF) -> None:
    """The look of a prefill: light, hatched, outlined."""
    palette = theme.palette()
    painter.fillRect(bar, colors.mix(palette.page, palette.bar_shaped, 0.25))
    painter.fillRect(bar, QBrush(palette.bar_shaped, Qt.BrushStyle.BDiagPattern))
    painter.setPen(QPen(palette.bar_shaped, 1))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(bar.adjusted(0.5, 0.5, -0.5, -0.5))


def decades_of(passes: Sequence[Pass]) -> tuple[float, float]:
    """Powers of ten of the axis' ends, in seconds."""
    times = [one.seconds for one in passes] or [1e-3]
    top = _log(max(times)) + ROOM_ABOVE
    return min(_log(min(times)) - ROOM_BELOW, top - LEAST_DECADES), top


def _log(seconds: float) -> float:
    """Power of ten; a tenth of a microsecond is as good as nothing."""
    return math.log10(max(seconds, 1e-7))


def _power_text(power: int) -> str:
    for unit, low in (("s", 0), ("ms", -3), ("µs", -6)):
        if power >= low:
            return f"{10 ** (power - low):,} {unit}"
    return f"0.{'0' * (-7 - power)}1 µs"
