"""A text as the model sees it: every token a cell, in lines that wrap as the text is written.

The view knows ids, a vocabulary and how many tokens are the prompt; what single tokens are
marked with comes from a hook, what their tooltips say from another.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QPoint, QRect, Qt, QTimer, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QGuiApplication,
    QHelpEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea, QToolTip, QWidget

from logitscope.gui import theme
from logitscope.gui.widgets.token_fonts import TokenFonts
from logitscope.gui.widgets.token_layout import TokenLayout
from logitscope.gui.widgets.token_painter import CellStyle, TokenPainter
from logitscope.vocabulary import Vocabulary

MARGIN = theme.GRID
SLICE_TOKENS, SLICE_SECONDS = 100, 0.006
"""Long texts are laid out in slices, so that the window stays alive."""
PLAIN = CellStyle()


class TokenView(QAbstractScrollArea):
    """Scrollable, virtual, selectable view of tokens."""

    position_selected = Signal(object)
    """The person chose a token (int), or the end of the text (None)."""
    range_selected = Signal(int, int)
    """The person chose tokens ``start <= i < stop`` for copying."""
    rewind_requested = Signal(int)
    menu_requested = Signal(int, QPoint)
    """A context menu for a token, at a point of the screen; the end of the text is ``len(ids)``."""
    hovered = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._fonts = TokenFonts(shows_ids=False)
        self._layout = TokenLayout(self._fonts)
        self._vocabulary: Vocabulary | None = None
        self._ids: Sequence[int] = ()
        self._prompt_length = 0
        self._marks = True
        self._shows_ids = False
        self._selected: int | None = None
        self._hovered: int | None = None
        self._chosen = range(0)
        self._anchor: int | None = None
        self._sticks_to_end = False
        self._style_of: Callable[[int], CellStyle] = lambda _token: PLAIN
        self._tooltip_of: Callable[[int], str] = lambda _token: ""
        self._filler = QTimer(self, interval=0)
        self._filler.timeout.connect(self._fill_slice)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFrameShape(QAbstractScrollArea.Shape.NoFrame)
        self.viewport().setMouseTracking(True)
        self.viewport().setCursor(Qt.CursorShape.IBeamCursor)
        self.verticalScrollBar().sliderMoved.connect(self._scrolled_by_hand)
        self.verticalScrollBar().actionTriggered.connect(self._scrolled_by_hand)
        theme.notifier().changed.connect(self._restyle)
        self.setAccessibleName(self.tr("Tokens"))

    # -- contents ---------------------------------------------------------------------------

    @property
    def layout_of_tokens(self) -> TokenLayout:
        return self._layout

    @property
    def ids(self) -> Sequence[int]:
        return self._ids

    @property
    def is_complete(self) -> bool:
        """Every token is laid out; long texts take a few idle moments."""
        return len(self._layout) == len(self._ids)

    def set_tokens(
        self, ids: Sequence[int], vocabulary: Vocabulary | None, prompt_length: int
    ) -> None:
        """Show these ids. Only what differs from the present ones is laid out."""
        if vocabulary is not self._vocabulary:
            self._vocabulary = vocabulary
            self._layout.set_vocabulary(vocabulary)
        self._ids = ids if vocabulary is not None else ()
        self._prompt_length = prompt_length
        self._layout.truncate(_common_prefix(self._layout.ids, self._ids))
        self._chosen = range(0)
        self._hovered = None
        self._fill_slice()

    def append(self, token_id: int) -> None:
        """Put one token behind the last."""
        self.set_tokens((*self._ids, token_id), self._vocabulary, self._prompt_length)

    def set_hooks(
        self,
        style_of: Callable[[int], CellStyle] | None = None,
        tooltip_of: Callable[[int], str] | None = None,
    ) -> None:
        """Who says how a token is marked, and what its tooltip is (rich text)."""
        self._style_of = style_of or self._style_of
        self._tooltip_of = tooltip_of or self._tooltip_of
        self.viewport().update()

    def set_marks(self, marks: bool) -> None:
        """Whether whitespace and invisible characters get visible marks."""
        if marks != self._marks:
            self._marks = marks
            self._restyle()

    def set_shows_ids(self, shows_ids: bool) -> None:
        """Whether ids stand below their tokens."""
        if shows_ids != self._shows_ids:
            self._shows_ids = shows_ids
            self._restyle()

    def _restyle(self) -> None:
        self._fonts = TokenFonts(self._shows_ids)
        self._layout.set_style(self._fonts, marks=self._marks, shows_ids=self._shows_ids)
        self._fill_slice()

    def _fill_slice(self) -> None:
        was_line = self._layout.line_count - 1
        end = time.perf_counter() + SLICE_SECONDS
        while not self.is_complete:
            start = len(self._layout)
            self._layout.extend(self._ids[start : start + SLICE_TOKENS])
            if time.perf_counter() > end:
                break
        if self.is_complete:
            self._filler.stop()
        else:
            self._filler.start()
        self._update_scrollbar()
        if self._top_of(was_line) <= self.viewport().height():
            self.viewport().update()

    # -- scrolling --------------------------------------------------------------------------

    def set_sticks_to_end(self, sticks: bool) -> None:
        """Keep the end in view while the text grows, until the person scrolls away."""
        self._sticks_to_end = sticks
        self._update_scrollbar()

    def _update_scrollbar(self) -> None:
        bar = self.verticalScrollBar()
        height = self._layout.line_count * self._fonts.line_height + 2 * MARGIN
        was_at_end = bar.value() >= bar.maximum() - self._fonts.line_height
        bar.setPageStep(self.viewport().height())
        bar.setSingleStep(self._fonts.line_height)
        bar.setRange(0, max(0, height - self.viewport().height()))
        if self._sticks_to_end and was_at_end:
            bar.setValue(bar.maximum())

    def _scrolled_by_hand(self) -> None:
        self._hovered = None

    def scrollContentsBy(self, _dx: int, dy: int) -> None:
        self.viewport().scroll(0, dy)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._layout.set_width(max(1, self.viewport().width() - 2 * MARGIN))
        self._update_scrollbar()

    def scroll_to(self, token: int) -> None:
        """Bring a token into view."""
        top = self._layout.place_of(token)[0] * self._fonts.line_height
        bar = self.verticalScrollBar()
        if top < bar.value():
            bar.setValue(top)
        elif top + self._fonts.line_height + 2 * MARGIN > bar.value() + self.viewport().height():
            bar.setValue(top + self._fonts.line_height + 2 * MARGIN - self.viewport().height())

    # -- painting ---------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        try:
            self._paint(painter, event.rect())
        finally:
            # An active painter that outlives an exception takes the process down.
            painter.end()

    def _paint(self, painter: QPainter, rect: QRect) -> None:
        painter.fillRect(rect, theme.palette().page)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.translate(MARGIN, 0)
        lines = TokenPainter(
            painter, self._layout, self._fonts, self._style_of, shows_ids=self._shows_ids
        )
        lines.selected, lines.hovered, lines.chosen = self._selected, self._hovered, self._chosen
        for line in self._lines_in(rect):
            lines.paint_line(line, self._top_of(line))
        self._paint_end(painter)

    def _paint_end(self, painter: QPainter) -> None:
        """The place of the next token."""
        if self._selected is not None or not self._ids or not self.is_complete:
            return
        line, x = self._layout.end
        top = self._top_of(line)
        rect = QRect(round(x) + 2, top + 3, 2, self._fonts.text_height - 6)
        painter.fillRect(rect, theme.palette().accent)

    def _top_of(self, line: int) -> int:
        return line * self._fonts.line_height + MARGIN - self.verticalScrollBar().value()

    def _line_at(self, y: int) -> int:
        return (y - MARGIN + self.verticalScrollBar().value()) // self._fonts.line_height

    def _lines_in(self, rect: QRect) -> range:
        first = max(0, self._line_at(rect.top()))
        return range(first, min(self._layout.line_count, self._line_at(rect.bottom()) + 1))

    # -- selection --------------------------------------------------------------------------

    @property
    def selected_position(self) -> int | None:
        """The selected token; None is the end of the text."""
        return self._selected

    def set_selected_position(self, position: int | None) -> None:
        """Select without telling anyone."""
        if position is not None and position >= len(self._ids):
            position = None
        if position != self._selected:
            self._selected = position
            if position is not None:
                self.scroll_to(position)
            self.viewport().update()

    @property
    def chosen(self) -> range:
        """The range of tokens chosen for copying; empty without one."""
        return self._chosen

    def choose(self, start: int, stop: int) -> None:
        """Choose a range of tokens."""
        self._chosen = range(max(0, start), min(stop, len(self._ids)))
        self.viewport().update()
        self.range_selected.emit(self._chosen.start, self._chosen.stop)

    def tokens_to_copy(self) -> Sequence[int]:
        """The ids of the chosen range, else of the selected token, else all."""
        if self._chosen:
            return self._ids[self._chosen.start : self._chosen.stop]
        if self._selected is not None:
            return self._ids[self._selected : self._selected + 1]
        return self._ids

    def copy_text(self) -> None:
        """Put the text of the tokens on the clipboard (bytes that are no text as U+FFFD)."""
        if self._vocabulary is not None:
            text = self._vocabulary.text_bytes(self.tokens_to_copy()).decode(errors="replace")
            QGuiApplication.clipboard().setText(text)

    def copy_ids(self) -> None:
        """Put the ids of the tokens on the clipboard, separated by spaces."""
        QGuiApplication.clipboard().setText(" ".join(map(str, self.tokens_to_copy())))

    def copy_bytes(self) -> None:
        """Put the bytes of the tokens on the clipboard, in hexadecimal."""
        if self._vocabulary is not None:
            data = self._vocabulary.text_bytes(self.tokens_to_copy())
            QGuiApplication.clipboard().setText(data.hex(" ").upper())

    def _select(self, position: int | None) -> None:
        if self._chosen:
            self._chosen = range(0)
        if position is not None and not 0 <= position < len(self._ids):
            position = None if position >= len(self._ids) else 0
        self.set_selected_position(position)
        self.viewport().update()
        self.position_selected.emit(position)

    # -- mouse ------------------------------------------------------------------------------

    def token_at(self, point: QPoint) -> int | None:
        """The token under a point of the viewport."""
        return self._layout.token_at(self._line_at(point.y()), point.x() - MARGIN)

    def rect_of(self, token: int) -> QRect:
        """Where a token is in the viewport, on its first line."""
        line, x, width = self._layout.place_of(token)
        return QRect(round(x) + MARGIN, self._top_of(line), round(width), self._fonts.line_height)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton:
            token = self.token_at(event.position().toPoint())
            extends = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            if extends and self._selected is not None and token is not None:
                self._choose_between(self._selected, token)
            else:
                self._anchor = token
                self._select(token)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        point = event.position().toPoint()
        if event.buttons() & Qt.MouseButton.LeftButton and self._anchor is not None:
            token = self._layout.nearest(self._line_at(point.y()), point.x() - MARGIN)
            if token is not None and (token != self._anchor or self._chosen):
                self._choose_between(self._anchor, token)
            return
        self._hover(self.token_at(point))

    def mouseReleaseEvent(self, _event: QMouseEvent) -> None:
        self._anchor = None

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        token = self.token_at(event.position().toPoint())
        if token is not None and event.button() is Qt.MouseButton.LeftButton:
            self.rewind_requested.emit(token)

    def leaveEvent(self, event: QEvent) -> None:
        self._hover(None)
        super().leaveEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        token = self.token_at(event.pos())
        if event.reason() is QContextMenuEvent.Reason.Keyboard:
            token = self._selected
        if token is not None and token not in self._chosen:
            self._select(token)
        self.menu_requested.emit(len(self._ids) if token is None else token, event.globalPos())

    def _choose_between(self, one: int, other: int) -> None:
        self.choose(min(one, other), max(one, other) + 1)

    def _hover(self, token: int | None) -> None:
        if token == self._hovered:
            return
        old, self._hovered = self._hovered, token
        for changed in (old, token):
            if changed is not None and changed < len(self._layout):
                self._update_token(changed)
        self.hovered.emit(token)

    def _update_token(self, token: int) -> None:
        for line in self._layout.lines_of(token):
            self.viewport().update(
                0, self._top_of(line), self.viewport().width(), self._fonts.line_height
            )

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            token = self.token_at(event.pos())
            text = "" if token is None else self._tooltip_of(token)
            rect = QRect() if token is None else self.rect_of(token)
            QToolTip.showText(event.globalPos(), text, self.viewport(), rect)
            return True
        return super().viewportEvent(event)

    # -- keyboard ---------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy_text()
        elif not self._move(event):
            super().keyPressEvent(event)

    def _move(self, event: QKeyEvent) -> bool:
        here = len(self._ids) if self._selected is None else self._selected
        match event.key():
            case Qt.Key.Key_Left:
                self._select(here - 1)
            case Qt.Key.Key_Right:
                self._select(here + 1)
            case Qt.Key.Key_Up | Qt.Key.Key_Down:
                self._select(self._above_or_below(here, event.key() == Qt.Key.Key_Down))
            case Qt.Key.Key_Home:
                self._select(0)
            case Qt.Key.Key_End:
                self._select(None)
            case Qt.Key.Key_Delete | Qt.Key.Key_Backspace:
                self.rewind_requested.emit(here if self._selected is not None else here - 1)
            case _:
                return False
        return True

    def _above_or_below(self, token: int, below: bool) -> int | None:
        here, x, _width = self._layout.place_of(token)
        line = here + (1 if below else -1)
        if line < 0:
            return 0
        return self._layout.nearest(line, x + 1)


def _common_prefix(old: Sequence[int], new: Sequence[int]) -> int:
    """Number of equal ids in front."""
    if len(old) <= len(new) and tuple(old) == tuple(new[: len(old)]):
        return len(old)
    for index, (one, other) in enumerate(zip(old, new, strict=False)):
        if one != other:
            return index
    return min(len(old), len(new))
