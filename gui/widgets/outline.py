"""An outline around a control that is spoken of, over everything and in nobody's way."""

from __future__ import annotations

from PySide6.QtCore import QAbstractAnimation, QRect, QRectF, Qt, QVariantAnimation
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from logitscope.gui import colors, theme

ROOM = 10
"""Pixels around the control in which the outline pulses."""
GAP = 3
WIDTH = 2.5
PULSE_MS, PULSES = 900, 4


class Outline(QWidget):
    """Drawn on the window; clicks go through it. It pulses a few times, then stays still."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._target: QWidget | None = None
        self._part = QRect()
        self._phase = 1.0
        """1: at rest, close around the control; 0: as far out as it goes."""
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAttribute(Qt.WidgetAttribute.WA_NoSystemBackground)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._pulse = QVariantAnimation(self)
        self._pulse.setStartValue(0.0)
        self._pulse.setEndValue(1.0)
        self._pulse.setDuration(PULSE_MS)
        self._pulse.setLoopCount(PULSES)
        self._pulse.valueChanged.connect(self._set_phase)
        theme.notifier().changed.connect(self.update)
        self.hide()

    @property
    def target(self) -> QWidget | None:
        """The widget that is outlined."""
        return self._target

    @property
    def is_moving(self) -> bool:
        return self._pulse.state() is QAbstractAnimation.State.Running

    def point_at(self, target: QWidget, part: QRect, *, moves: bool = True) -> None:
        """Outline a part of a widget; ``moves``: draw attention with a few pulses."""
        self._target, self._part = target, part
        self.place()
        self._pulse.stop()
        self._phase = 1.0
        if moves and self.isVisible():
            self._pulse.start()

    def clear(self) -> None:
        self._pulse.stop()
        self._target = None
        self.hide()

    def place(self) -> None:
        """Follow the control to where it is now; hide while it cannot be seen."""
        target, window = self._target, self._window
        if target is None or not target.isVisible() or target.window() is not window:
            self.hide()
            return
        seen = seen_part(target, self._part)
        self.setGeometry(seen.adjusted(-ROOM, -ROOM, ROOM, ROOM))
        self.setVisible(not seen.isEmpty())
        self.raise_()

    def _set_phase(self, value: float) -> None:
        self._phase = value
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        accent = theme.palette().accent
        inset = ROOM - GAP
        rest = QRectF(self.rect()).adjusted(inset, inset, -inset, -inset)
        painter.setPen(QPen(accent, WIDTH))
        painter.drawRoundedRect(rest, 6, 6)
        if self._phase < 1.0:
            out = self._phase * (inset - WIDTH)
            painter.setPen(QPen(colors.with_alpha(accent, 1.0 - self._phase), WIDTH))
            painter.drawRoundedRect(rest.adjusted(-out, -out, out, out), 6 + out, 6 + out)


def seen_part(widget: QWidget, part: QRect) -> QRect:
    """What of a part is not cut off by what is around the widget, in the window's coordinates.

    ``visibleRegion`` would leave out what the widget's own children cover.
    """
    if not widget.isVisible():
        return QRect()
    rect = QRect(part)
    inner: QWidget | None = widget
    while inner is not None and not inner.isWindow():
        rect = (rect & inner.rect()).translated(inner.pos())
        inner = inner.parentWidget()
    return rect & widget.window().rect()
