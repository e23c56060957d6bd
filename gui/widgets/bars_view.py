"""Tokens as rows of two bars, raw and shaped, with their numbers; one row for all others.

Painted by hand: a repaint costs what is visible, and nothing is laid out again while a slider is
dragged.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QToolTip, QWidget

from logitscope.gui import theme
from logitscope.gui.widgets import bars_paint
from logitscope.gui.widgets.bars_data import LINEAR_AXIS, Axis, Bar, Scale, Tail, axis_for
from logitscope.gui.widgets.bars_layout import Columns, columns
from logitscope.gui.widgets.token_canvas import STALE_OPACITY

NUMBER_SIZE = -1.5
"""Points smaller than the chrome's text: a row has two lines of numbers."""
TAIL = -1
"""What stands for the tail's row where an id is asked for."""


class BarsView(QAbstractScrollArea):
    """Shows what it is given; chooses nothing and computes nothing."""

    activated = Signal(int)
    """Double click or Enter on a token: its id."""
    current_changed = Signal(int)
    """The highlighted token's id."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bars: tuple[Bar, ...] = ()
        self._tail: Tail | None = None
        self._axis: Axis = LINEAR_AXIS
        self._scale = Scale.LINEAR
        self._current: int | None = None
        self._is_forced = False
        self._is_stale = False
        self._empty_text = ""
        self.tooltip_of: Callable[[int], str] = lambda _id: ""
        """Gives the tooltip of an id, or of ``TAIL``."""
        self.spoken_row_of: Callable[[Bar], str] = lambda bar: bar.text
        """Gives the sentence a screen reader says for a row."""
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFrameShape(QAbstractScrollArea.Shape.NoFrame)
        self.viewport().setMouseTracking(True)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self._read_theme()
        theme.notifier().changed.connect(self._theme_changed)

    # -- what is shown ----------------------------------------------------------------------

    @property
    def bars(self) -> tuple[Bar, ...]:
        return self._bars

    @property
    def tail(self) -> Tail | None:
        return self._tail

    @property
    def axis(self) -> Axis:
        return self._axis

    @property
    def empty_text(self) -> str:
        """What stands there while there are no rows."""
        return self._empty_text

    @empty_text.setter
    def empty_text(self, text: str) -> None:
        if text != self._empty_text:
            self._empty_text = text
            if not self._bars:
                self.viewport().update()

    @property
    def current(self) -> int | None:
        """The id of the highlighted row."""
        return self._current

    def set_rows(self, bars: tuple[Bar, ...], tail: Tail | None, *, is_forced: bool) -> None:
        """Draw these rows, likeliest first; ``is_forced`` chooses the tint of the marked one."""
        layout_changed = len(bars) != len(self._bars) or (tail is None) != (self._tail is None)
        axis = axis_for(self._scale, bars)
        only_shaped = (
            (is_forced, axis) == (self._is_forced, self._axis)
            and _without_shaped(bars, tail) == _without_shaped(self._bars, self._tail)
        )  # fmt: skip
        self._bars = bars
        self._tail = tail
        self._is_forced = is_forced
        self._axis = axis
        if layout_changed:
            self._update_scroll_bar()
        self.viewport().update(self._shaped_area() if only_shaped else self.viewport().rect())

    def set_stale(self, is_stale: bool) -> None:
        """Whether the rows belong to an older text: then they are drawn faint."""
        if is_stale != self._is_stale:
            self._is_stale = is_stale
            self.viewport().update()

    def set_scale(self, scale: Scale) -> None:
        self._scale = scale
        self._axis = axis_for(scale, self._bars)
        self.viewport().update()

    def set_current(self, token_id: int | None) -> None:
        """Highlight a token; an id without a row highlights none."""
        if token_id == self._current:
            return
        self._current = token_id
        row = self._row_of(token_id)
        if row is not None:
            self._scroll_to(row)
            self.setAccessibleDescription(self.spoken_row_of(self._bars[row]))
        self.viewport().update()
        if token_id is not None:
            self.current_changed.emit(token_id)

    # -- geometry ---------------------------------------------------------------------------

    @property
    def row_height(self) -> float:
        return self._row_height

    @property
    def head_height(self) -> float:
        return self._head_height

    @property
    def columns(self) -> Columns:
        """Where the columns stand."""
        legend = bars_paint.RowPainter.legend_width(self._look, self._labels())
        return columns(self.viewport().width(), self._look.number_metrics, legend)

    def row_count(self) -> int:
        return len(self._bars) + (self._tail is not None)

    def row_at(self, y: float) -> int | None:
        """The row at a height of the viewport; the tail is the last one."""
        row = int((y - self._head_height + self.verticalScrollBar().value()) // self._row_height)
        return row if y >= self._head_height and 0 <= row < self.row_count() else None

    def sizeHint(self) -> QSize:
        return QSize(440, int(self._head_height + 12 * self._row_height))

    def minimumSizeHint(self) -> QSize:
        return QSize(240, int(self._head_height + 4 * self._row_height))

    def _shaped_area(self) -> QRect:
        """The bars and their numbers: all that a move of a sampler control changes, and no more
        than half of what a repaint costs."""
        at = self.columns
        left, right = int(at.bar_x) - 1, int(at.probability_x + at.probability_width) + 1
        top = int(self._head_height)
        return QRect(left, top, right - left, max(0, self.viewport().height() - top))

    def _row_of(self, token_id: int | None) -> int | None:
        for row, bar in enumerate(self._bars):
            if bar.token_id == token_id:
                return row
        return None

    def _update_scroll_bar(self) -> None:
        page = max(0, int(self.viewport().height() - self._head_height))
        whole = int(self.row_count() * self._row_height)
        bar = self.verticalScrollBar()
        bar.setPageStep(page)
        bar.setSingleStep(int(self._row_height))
        bar.setRange(0, max(0, whole - page))

    def _scroll_to(self, row: int) -> None:
        bar = self.verticalScrollBar()
        top = int(row * self._row_height)
        bottom = int((row + 1) * self._row_height)
        if top < bar.value():
            bar.setValue(top)
        elif bottom > bar.value() + bar.pageStep():
            bar.setValue(bottom - bar.pageStep())

    def _read_theme(self) -> None:
        self._look = bars_paint.Look(
            theme.palette(), theme.token_font(), theme.number_font(NUMBER_SIZE)
        )
        line = self._look.number_metrics.height()
        self._row_height = round(2 * line + 2)
        self._head_height = round(line + 8)

    def _theme_changed(self) -> None:
        self._read_theme()
        self._update_scroll_bar()
        self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._update_scroll_bar()

    # -- painting ---------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        palette = theme.palette()
        painter.fillRect(event.rect(), palette.page)
        painter.setOpacity(STALE_OPACITY if self._is_stale else 1.0)
        if not self._bars:
            self._paint_empty(painter)
            return
        self._paint_rows(painter, only_shaped=self._shaped_area().contains(event.rect()))
        painter.end()

    def _paint_empty(self, painter: QPainter) -> None:
        painter.setFont(theme.ui_font())
        painter.setPen(theme.palette().muted)
        flags = int(Qt.AlignmentFlag.AlignCenter) | int(Qt.TextFlag.TextWordWrap)
        painter.drawText(self.viewport().rect().adjusted(24, 24, -24, -24), flags, self._empty_text)

    def _paint_rows(self, painter: QPainter, *, only_shaped: bool) -> None:
        width = self.viewport().width()
        height = self.viewport().height()
        at = self.columns
        palette = theme.palette()
        tint = palette.forced_tint if self._is_forced else palette.generated_tint
        rows = bars_paint.RowPainter(
            painter, at, self._axis, self._look, tint, only_shaped=only_shaped
        )
        below = QRectF(0, self._head_height, width, height - self._head_height)
        painter.setClipRect(below, Qt.ClipOperation.IntersectClip)
        offset = self.verticalScrollBar().value()
        first = int(offset // self._row_height)
        last = int((offset + height - self._head_height) // self._row_height)
        bottom = self._head_height + self.row_count() * self._row_height - offset
        rows.grid(self._head_height, min(bottom, height))
        for row in range(first, min(last + 1, self.row_count())):
            top = self._head_height + row * self._row_height - offset
            self._paint_row(painter, rows, row, QRectF(0, top, width, self._row_height))
        if not only_shaped:
            painter.setClipping(False)
            rows.head(QRectF(0, 0, width, self._head_height), self._labels())

    def _paint_row(
        self, painter: QPainter, rows: bars_paint.RowPainter, row: int, area: QRectF
    ) -> None:
        if row < len(self._bars):
            rows.row(area, self._bars[row])
            if self._bars[row].token_id == self._current:
                self._paint_current(painter, area)
        elif self._tail is not None:
            rows.tail(area, self._tail)

    def _paint_current(self, painter: QPainter, area: QRectF) -> None:
        palette = theme.palette()
        painter.setPen(palette.accent if self.hasFocus() else palette.muted)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(area.adjusted(0.5, 0.5, -0.5, -0.5))

    def _labels(self) -> bars_paint.Labels:
        return bars_paint.Labels(
            self.tr("raw"),
            self.tr("shaped"),
            self.tr("probability"),
            self.tr("logit"),
            self.tr("id"),
        )

    # -- mouse and keyboard -----------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        row = self.row_at(event.position().y())
        if row is not None and row < len(self._bars):
            self.set_current(self._bars[row].token_id)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        row = self.row_at(event.position().y())
        is_left = event.button() is Qt.MouseButton.LeftButton
        if is_left and row is not None and row < len(self._bars):
            self.activated.emit(self._bars[row].token_id)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if key in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            if self._row_of(self._current) is not None and self._current is not None:
                self.activated.emit(self._current)
            return
        target = self._target_row(key)
        if target is None:
            super().keyPressEvent(event)
        elif self._bars:
            row = min(len(self._bars) - 1, max(0, target))
            self.set_current(self._bars[row].token_id)

    def _target_row(self, key: Qt.Key) -> int | None:
        """The row a key moves to, before it is kept within the list."""
        row = self._row_of(self._current)
        page = max(1, int(self.verticalScrollBar().pageStep() // self._row_height))
        moves = {
            Qt.Key.Key_Up: -1,
            Qt.Key.Key_Down: 1,
            Qt.Key.Key_PageUp: -page,
            Qt.Key.Key_PageDown: page,
        }
        if key is Qt.Key.Key_Home:
            return 0
        if key is Qt.Key.Key_End:
            return len(self._bars) - 1
        if key not in moves:
            return None
        return 0 if row is None else row + moves[key]

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            self._show_tooltip(event.pos(), event.globalPos())
            return True
        return super().viewportEvent(event)

    def _show_tooltip(self, place: QPoint, on_screen: QPoint) -> None:
        row = self.row_at(place.y())
        if row is None:
            QToolTip.hideText()
            return
        token_id = self._bars[row].token_id if row < len(self._bars) else TAIL
        QToolTip.showText(on_screen, self.tooltip_of(token_id), self.viewport())


def _without_shaped(bars: tuple[Bar, ...], tail: Tail | None) -> tuple[object, ...]:
    """What the sampler's settings do not change as long as no other token is removed."""
    rest = None if tail is None else (tail.label, tail.count, tail.raw, tail.note)
    return (
        *(
            (
                bar.text,
                bar.rank,
                bar.logit,
                bar.raw,
                bar.removed_by,
                bar.note,
                bar.is_extra,
                bar.token_id,
            )
            for bar in bars
        ),
        rest,
    )
