"""Loss along the positions of a text, which can be scrubbed, zoomed and cut out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QObject, QPointF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QFontMetricsF,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
)
from PySide6.QtWidgets import QToolTip, QVBoxLayout, QWidget

from logitscope.axis_steps import round_steps
from logitscope.envelope import BlockedSeries
from logitscope.gui import colors, plot_library, theme
from logitscope.gui.turns import Turns
from logitscope.gui.widgets.token_canvas import STALE_OPACITY

USUAL_TOP = 10.0
"""Nats: the axis reaches at least so far, so that texts compare."""
LEAST_COLUMNS = 32
USUAL_HEIGHT, LEAST_HEIGHT = 80, 56
LEAST_SPAN = 8
"""Positions: the axis is never narrower."""
ROOMS = 16
"""A growing text gets another axis, which costs as much as the curve, 8 to 16 times a doubling."""
FETCH_MS = 100
MEAN_WIDTH = 32
"""Tokens of the rolling mean: a sentence or two."""
MOST_PARAGRAPHS = 200
"""With more marks than this in view there would be nothing else to see."""


class LossCurve(QWidget):
    """Draws what it is given. A drag selects positions, a drag with Shift a range.

    The plot is made behind the first painting of the window, and shown when there is something to
    draw: its library takes a quarter of a second. In the window's thread: Qt's types come into
    being when they are first used, and must not do so in two threads at once.
    """

    scrubbed = Signal(int)
    """The person is at this position."""
    range_chosen = Signal(int, int)
    """The person chose positions ``start <= p < stop``; none where both are equal."""
    hovered = Signal(object)
    jump_wanted = Signal(int)
    step_wanted = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._has_plot = False
        self._turns = Turns(self)
        self._loss = BlockedSeries()
        self._entropy: BlockedSeries | None = None
        self._paragraphs: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._count = 0
        self._tooltip_of: Callable[[int], str] = lambda _position: ""
        self._anchor: int | None = None
        self._is_choosing = False
        self._is_stale = False
        self._is_fitting = False
        """The range is being set from here, and what it shows is drawn once behind that."""
        self._position: int | None = None
        self._chosen = range(0)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        # Before there is a plot, too: who shares out the room does so then.
        self.setMinimumHeight(LEAST_HEIGHT)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(self.tr("Loss along the text"))
        theme.notifier().changed.connect(self._colour)

    def _make_plot(self) -> None:
        if self._has_plot:
            return
        library = self._library = theme.pyqtgraph()
        self.plot = library.PlotWidget(self, enableMenu=False)
        self.plot.setVisible(self._count > 0)
        self.plot.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        item = self.plot.getPlotItem()
        item.disableAutoRange()
        item.hideButtons()
        item.setContentsMargins(0, 4, 8, 0)
        self._box = item.getViewBox()
        self._box.setMouseEnabled(x=True, y=False)
        item.getAxis("left").setWidth(36)
        for side in ("left", "bottom"):
            # There is no unit to put a prefix to, and to find that out took 0.7 ms a frame.
            item.getAxis(side).enableAutoSIPrefix(False)
        self._marks = library.PlotCurveItem(connect="pairs")
        self._curve = library.PlotCurveItem(connect="finite")
        self._expected = library.PlotCurveItem(connect="finite")
        self._mean = library.PlotCurveItem(connect="finite")
        self._region = library.LinearRegionItem(movable=False)
        self._region.hide()
        self._line = library.InfiniteLine(angle=90)
        self._pointer = library.InfiniteLine(angle=90)
        for drawn in (
            self._region, self._marks, self._curve, self._expected, self._mean,
            self._pointer, self._line,
        ):  # fmt: skip
            item.addItem(drawn, ignoreBounds=True)
        self._line.hide()
        self._pointer.hide()
        self._box.sigXRangeChanged.connect(self._range_changed)
        # Its first size is not that of the widget: what was drawn for it has too few columns.
        self._box.sigResized.connect(self._draw)
        self.plot.viewport().setMouseTracking(True)
        self.plot.viewport().installEventFilter(self)
        self._column.addWidget(self.plot)
        self._has_plot = True
        self._colour()
        self.show_all()
        self.set_range(self._chosen)
        self.set_position(self._position)

    def fetch_soon(self) -> None:
        """Have the plots' library at hand, in a moment: also where there is no room for the curve
        yet, for something to draw may come when the model works on every core."""
        if not self._has_plot:
            QTimer.singleShot(FETCH_MS, self, self._fetch)

    def _fetch(self) -> None:
        if self._has_plot or self._turns.is_busy:
            return
        # Each in a turn of its own: a plot takes 30 ms.
        self._turns.start([*plot_library.pieces(), self._make_plot])

    @property
    def has_plot(self) -> bool:
        """There was something to draw, and it is drawn."""
        return self._has_plot and not self.plot.isHidden()

    # -- contents ---------------------------------------------------------------------------

    def set_series(
        self, loss: BlockedSeries, entropy: BlockedSeries | None, paragraphs: NDArray[np.int64]
    ) -> None:
        """Nats by position, NaN = unknown. Another length shows the whole text again."""
        is_other = room_for(len(loss)) != room_for(self._count)
        self._loss, self._entropy, self._paragraphs = loss, entropy, paragraphs
        self._count = len(loss)
        if self._count and not self._has_plot:
            # In a turn of its own: the first row is to be drawn everywhere.
            QTimer.singleShot(0, self, self._fetch)
        elif self._has_plot:
            self.plot.setVisible(self._count > 0)
        if is_other:
            self.show_all()
        else:
            self._draw()

    def set_tooltip(self, tooltip_of: Callable[[int], str]) -> None:
        """Who says what a position's tooltip is (rich text)."""
        self._tooltip_of = tooltip_of

    def set_stale(self, is_stale: bool) -> None:
        """Whether the numbers are those of an older text: then they are drawn faint."""
        self._is_stale = is_stale
        self._veil()

    def sizeHint(self) -> QSize:
        return QSize(640, USUAL_HEIGHT)

    def set_position(self, position: int | None) -> None:
        """Mark the selected position; it is brought into view."""
        self._position = position
        if not self._has_plot:
            return
        self._line.setVisible(position is not None)
        if position is not None:
            self._line.setValue(position)
            self._bring_into_view(position)

    def set_pointed(self, position: int | None) -> None:
        """Mark the position that is pointed at elsewhere."""
        if not self._has_plot:
            return
        self._pointer.setVisible(position is not None)
        if position is not None:
            self._pointer.setValue(position)

    def set_range(self, chosen: range) -> None:
        """Mark a range."""
        self._chosen = chosen
        if not self._has_plot:
            return
        self._region.setVisible(len(chosen) > 0)
        if chosen:
            self._region.setRegion((chosen.start - 0.5, chosen.stop - 0.5))

    def show_all(self) -> None:
        """Zoom out to the whole text."""
        if not self._has_plot:
            return
        room = room_for(self._count)
        self._is_fitting = True
        self._box.setLimits(xMin=-1.0, xMax=float(room), minXRange=LEAST_SPAN)
        self._box.setXRange(-0.5, room - 0.5, padding=0)
        self._is_fitting = False
        self._draw()

    @property
    def visible(self) -> range:
        """Positions in view."""
        if not self._has_plot:
            return range(0)
        low, high = self._box.viewRange()[0]
        return range(max(0, int(low)), min(self._count, int(high) + 2))

    def _bring_into_view(self, position: int) -> None:
        low, high = self._box.viewRange()[0]
        if not low <= position <= high:
            half = (high - low) / 2
            self._box.setXRange(position - half, position + half, padding=0)

    # -- drawing ----------------------------------------------------------------------------

    def _range_changed(self) -> None:
        if not self._is_fitting:
            self._draw()

    def _draw(self, *_resized: object) -> None:
        if not self._has_plot:
            return
        shown = self.visible
        columns = max(LEAST_COLUMNS, int(self._box.width()))
        made = self._loss.envelope(shown.start, shown.stop, columns)
        finite = made.high[np.isfinite(made.high)]
        top = max(USUAL_TOP, float(finite.max()) if len(finite) else 0.0)
        self._box.setYRange(0.0, top * 1.05, padding=0)
        self._label_nats(top)
        # Both extremes of each column: a stroke from one to the other, and on to the next.
        x = np.repeat(made.x, 2)
        y = np.minimum(np.stack((made.low, made.high), axis=1).ravel(), 2 * top)
        self._curve.setData(x, y)
        self._mean.setData(made.x, self._loss.rolling_mean(made, MEAN_WIDTH))
        self._draw_entropy(shown, columns)
        self._draw_paragraphs(shown, top * 1.05)

    def _label_nats(self, top: float) -> None:
        """As many round numbers as can stand one above the other."""
        line = QFontMetricsF(theme.number_font(-2)).height()
        labels = [(value, f"{value:g}") for value in round_steps(top, self._box.height() / line)]
        self.plot.getPlotItem().getAxis("left").setTicks([labels])

    def _draw_entropy(self, shown: range, columns: int) -> None:
        self._expected.setVisible(self._entropy is not None)
        if self._entropy is not None:
            made = self._entropy.envelope(shown.start, shown.stop, columns)
            self._expected.setData(made.x, made.mean)

    def _draw_paragraphs(self, shown: range, top: float) -> None:
        first, last = np.searchsorted(self._paragraphs, (shown.start, shown.stop))
        places = self._paragraphs[first:last]
        self._marks.setVisible(0 < len(places) <= MOST_PARAGRAPHS)
        if 0 < len(places) <= MOST_PARAGRAPHS:
            self._marks.setData(np.repeat(places - 0.5, 2), np.tile((0.0, top), len(places)))

    def _colour(self) -> None:
        if not self._has_plot:
            return
        palette, pen = theme.palette(), self._library.mkPen
        self.plot.setBackground(palette.page)
        self._curve.setPen(pen(palette.bar_raw, width=1))
        self._mean.setPen(pen(palette.accent, width=2))
        self._expected.setPen(pen(palette.derived, width=1, style=Qt.PenStyle.DotLine))
        self._marks.setPen(pen(palette.line, width=1, style=Qt.PenStyle.DashLine))
        self._line.setPen(pen(palette.text, width=1.5))
        self._pointer.setPen(pen(palette.muted, width=1, style=Qt.PenStyle.DotLine))
        self._region.setBrush(colors.with_alpha(palette.accent, 0.18))
        for edge in self._region.lines:
            edge.setPen(pen(palette.accent, width=1))
        item = self.plot.getPlotItem()
        for side in ("left", "bottom"):
            axis = item.getAxis(side)
            axis.setPen(palette.line)
            axis.setTextPen(palette.muted)
            axis.setTickFont(theme.number_font(-2))
        self._veil()

    def _veil(self) -> None:
        """Cover what is stale with the colour of the page."""
        if self._has_plot:
            page = colors.with_alpha(theme.palette().page, 1 - STALE_OPACITY)
            self.plot.setForegroundBrush(page if self._is_stale else Qt.BrushStyle.NoBrush)

    # -- mouse and keys ---------------------------------------------------------------------

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QMouseEvent) and self._take_mouse(event):
            return True
        if event.type() is QEvent.Type.Leave:
            self.hovered.emit(None)
        if isinstance(event, QHelpEvent):
            position = self.position_at(QPointF(event.pos()))
            text = "" if position is None else self._tooltip_of(position)
            QToolTip.showText(event.globalPos(), text, self.plot)
            return True
        return super().eventFilter(watched, event)

    def _take_mouse(self, event: QMouseEvent) -> bool:
        """The left button belongs to us; the wheel and the middle button zoom and pan."""
        kind = event.type()
        position = self.position_at(event.position())
        is_left = event.button() is Qt.MouseButton.LeftButton
        if kind is QEvent.Type.MouseMove and not event.buttons():
            self.hovered.emit(position)
            return False
        if kind is QEvent.Type.MouseButtonPress and is_left:
            self.setFocus(Qt.FocusReason.MouseFocusReason)
            self._anchor = position
            self._is_choosing = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            if self._is_choosing and self._position is not None:
                self._anchor = self._position
            self._drag_to(position)
            return True
        if kind is QEvent.Type.MouseMove and event.buttons() & Qt.MouseButton.LeftButton:
            self._drag_to(position)
            return True
        if kind is QEvent.Type.MouseButtonRelease and is_left:
            self._anchor = None
            return True
        if kind is QEvent.Type.MouseButtonDblClick and is_left:
            self.show_all()
            return True
        return False

    def position_at(self, point: QPointF) -> int | None:
        """The position nearest to a point of the plot; None without any."""
        if self._count == 0:
            return None
        x: float = self._box.mapSceneToView(self.plot.mapToScene(point.toPoint())).x()
        return min(max(round(x), 0), self._count - 1)

    def _drag_to(self, position: int | None) -> None:
        if position is None or self._anchor is None:
            return
        if self._is_choosing:
            first, last = sorted((self._anchor, position))
            self.range_chosen.emit(first, last + 1)
        elif position != self._position:
            self.scrubbed.emit(position)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        match event.key():
            case Qt.Key.Key_Left:
                self.step_wanted.emit(-1)
            case Qt.Key.Key_Right:
                self.step_wanted.emit(1)
            case Qt.Key.Key_N:
                self.jump_wanted.emit(1)
            case Qt.Key.Key_P:
                self.jump_wanted.emit(-1)
            case Qt.Key.Key_Home:
                self.show_all()
            case _:
                super().keyPressEvent(event)


def room_for(count: int) -> int:
    """Positions on the axis of a text of ``count`` tokens: at most a sixteenth more."""
    step = 1 << max(0, (count // ROOMS).bit_length() - 1)
    return max(LEAST_SPAN, -(-count // step) * step)
