"""A scrollable area of token cells: layout in slices, scrolling, painting of the visible lines."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from PySide6.QtCore import QPoint, QRect, Qt, QTimer
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractScrollArea, QWidget

from logitscope.gui import theme
from logitscope.gui.widgets.token_fonts import TokenFonts
from logitscope.gui.widgets.token_layout import TokenLayout
from logitscope.gui.widgets.token_painter import CellStyle, TokenPainter
from logitscope.vocabulary import Vocabulary

MARGIN = theme.GRID
SLICE_TOKENS, SLICE_SECONDS = 16, 0.004
"""Long texts are laid out in slices, so that the window stays alive; a token whose look is new
takes 0.1 ms."""
FROZEN_SECONDS = 0.25
"""So long the old picture stays while a text is laid out anew: less flicker than growing lines."""
REPAINT_SECONDS = 0.1
"""Between two pictures of a text that is still being laid out."""
STALE_OPACITY = 0.45
PLAIN = CellStyle()


class TokenCanvas(QAbstractScrollArea):
    """Shows tokens; knows no selection but what it is told to paint."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._fonts = TokenFonts(shows_ids=False)
        self._layout = TokenLayout(self._fonts)
        self._vocabulary: Vocabulary | None = None
        self._ids: Sequence[int] = ()
        self._marks = True
        self._shows_ids = False
        self._number_of: Callable[[int], str] | None = None
        self._number_columns = 0
        self._is_stale = False
        self._placeholder = ""
        self._style_of: Callable[[int], CellStyle] = lambda _token: PLAIN
        self._selected: int | None = None
        self._hovered: int | None = None
        self._chosen = range(0)
        self._sticks_to_end = True
        self._scrolled = 0
        """Pixels of the text above the first line that is shown."""
        self._held: int | None = None
        """The token to bring back to the upper edge once it is laid out again."""
        self._is_scrolling_itself = False
        self._frozen_until = self._repaint_at = 0.0
        self._repaints = False
        """Everything has to be painted, whatever was laid out."""
        self._filler = QTimer(self, interval=0, singleShot=True)
        self._filler.timeout.connect(self._fill_slice)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFrameShape(QAbstractScrollArea.Shape.NoFrame)
        self.verticalScrollBar().valueChanged.connect(self._note_scroll)
        theme.notifier().changed.connect(self._restyle)

    # -- contents ---------------------------------------------------------------------------

    @property
    def ids(self) -> Sequence[int]:
        return self._ids

    @property
    def vocabulary(self) -> Vocabulary | None:
        return self._vocabulary

    @property
    def built_tokens(self) -> int:
        """Tokens laid out since the view was made: what the changes so far have cost."""
        return self._layout.built_tokens

    @property
    def is_complete(self) -> bool:
        """Every token is laid out; long texts take a few idle moments."""
        return len(self._layout) == len(self._ids)

    def set_tokens(
        self, ids: Sequence[int], vocabulary: Vocabulary | None, *, repaint: bool = True
    ) -> None:
        """Show these ids. Only what differs from the present ones is laid out.

        Without ``repaint`` only that is painted, too: for a text that grows, and whose tokens stay
        marked as they are.
        """
        self._repaints |= repaint
        if vocabulary is not self._vocabulary:
            self._vocabulary = vocabulary
            self._layout.set_vocabulary(vocabulary)
        self._ids = ids if vocabulary is not None else ()
        same = _common_prefix(self._layout.ids, self._ids)
        self._forget_from(min(same, len(self._ids)))
        if same < len(self._layout):
            self._hold_place()
            self._layout.truncate(same)
        self._fill()

    def _forget_from(self, token: int) -> None:
        """Forget what was chosen or pointed at among tokens that are others now."""
        if self._chosen.stop > token:
            self._chosen = range(0)
            self._repaints = True
        if self._hovered is not None and self._hovered >= token:
            self._hovered = None
        if self._selected is not None and self._selected >= len(self._ids):
            self._selected = None

    def append(self, token_id: int) -> None:
        """Put one token behind the last."""
        self.set_tokens((*self._ids, token_id), self._vocabulary)

    def set_style(self, style_of: Callable[[int], CellStyle]) -> None:
        """Who says how a token is marked: background and a second mark."""
        self._style_of = style_of
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

    def set_numbers(self, number_of: Callable[[int], str] | None, columns: int = 0) -> None:
        """What stands below the tokens in place of ids, at most ``columns`` figures; None: nothing.

        The numbers may change at any time; then call ``viewport().update()``.
        """
        self._number_of, self._number_columns = number_of, columns
        self._shows_ids = number_of is not None
        self._restyle()

    def set_stale(self, is_stale: bool) -> None:
        """Whether the tokens belong to an older text: then they are drawn faint."""
        if is_stale != self._is_stale:
            self._is_stale = is_stale
            self.viewport().update()

    def set_placeholder(self, text: str) -> None:
        """What stands in the middle while there are no tokens."""
        if text != self._placeholder:
            self._placeholder = text
            self.viewport().update()

    def _restyle(self) -> None:
        self._repaints = True
        self._hold_place()
        self._fonts = TokenFonts(self._shows_ids)
        self._layout.set_style(
            self._fonts,
            marks=self._marks,
            shows_ids=self._shows_ids,
            number_columns=self._number_columns,
        )
        self._fill()

    def _fill(self) -> None:
        self._frozen_until = self._repaint_at = time.perf_counter() + FROZEN_SECONDS
        self._fill_slice()

    def _fill_slice(self) -> None:
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
        now = time.perf_counter()
        # Only the old picture is kept; whoever scrolls the new one shall see it move.
        self.viewport().setUpdatesEnabled(self.is_complete or now >= self._frozen_until)
        if self.is_complete or now >= self._repaint_at:
            self._repaint_at = now + REPAINT_SECONDS
            self._update_scrollbar()
            self._update_changed()

    def _update_changed(self) -> None:
        """Have painted what was laid out anew, and all below it."""
        view = self.viewport()
        line = self._layout.take_changed_line()
        top = 0 if self._repaints else max(0, self._top_of(line))
        view.update(0, top, view.width(), view.height() - top)
        self._repaints = False

    # -- scrolling --------------------------------------------------------------------------

    @property
    def sticks_to_end(self) -> bool:
        """The end is in view and stays in view while the text grows."""
        return self._sticks_to_end

    def scroll_to_end(self) -> None:
        """Show the end, and stay there."""
        self._sticks_to_end = True
        self._update_scrollbar()

    def scroll_to_start(self) -> None:
        """Show the beginning, and stay there."""
        self._sticks_to_end = False
        self._held = None
        self.verticalScrollBar().setValue(0)

    def scroll_to(self, token: int) -> None:
        """Bring a token into view."""
        height = self._fonts.line_height
        top = self._layout.place_of(token)[0] * height
        bar = self.verticalScrollBar()
        if top < self._scrolled:
            bar.setValue(top)
        elif top >= self._scrolled + self._lines_room * height:
            bar.setValue(top - (self._lines_room - 1) * height)

    def _hold_place(self) -> None:
        """Remember what is at the upper edge, before lines are taken away."""
        if self._held is None and not self._sticks_to_end:
            first = self._line_at(MARGIN)
            self._held = next((cell.start for cell in self._layout.cells(first)), None)

    def _update_scrollbar(self) -> None:
        bar, height = self.verticalScrollBar(), self._fonts.line_height
        self._is_scrolling_itself = True
        bar.setPageStep(self._lines_room * height)
        bar.setSingleStep(height)
        bar.setRange(0, max(0, self._layout.line_count - self._lines_room) * height)
        if self._held is not None and self._held < len(self._layout):
            bar.setValue(self._layout.place_of(self._held)[0] * height)
        elif self._sticks_to_end:
            bar.setValue(bar.maximum())
        if self.is_complete:
            self._held = None
        if self._scrolled != (scrolled := self._whole_lines(bar.value())):
            # Lines have another height now.
            self._scrolled, self._repaints = scrolled, True
        self._is_scrolling_itself = False

    def _note_scroll(self, value: int) -> None:
        if not self._is_scrolling_itself:
            self._held = None
            end = self.verticalScrollBar().maximum()
            self._sticks_to_end = value >= end - self._fonts.line_height // 2

    def scrollContentsBy(self, _dx: int, _dy: int) -> None:
        # What stays visible is moved as pixels; only the new lines are painted.
        before, self._scrolled = self._scrolled, self._whole_lines(self.verticalScrollBar().value())
        if before != self._scrolled:
            self.viewport().scroll(0, before - self._scrolled, self.lines_rect)

    def _whole_lines(self, pixels: int) -> int:
        """Rounded to lines: a touchpad scrolls by pixels."""
        height = self._fonts.line_height
        return round(pixels / height) * height

    @property
    def _lines_room(self) -> int:
        """Lines that are shown: half of one at an edge is no text."""
        return max(1, (self.viewport().height() - MARGIN) // self._fonts.line_height)

    @property
    def lines_rect(self) -> QRect:
        """Where lines are shown, in the viewport."""
        height = self._lines_room * self._fonts.line_height
        return QRect(0, MARGIN, self.viewport().width(), height)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._hold_place()
        self._layout.set_width(max(1, self.viewport().width() - 2 * MARGIN))
        self._update_scrollbar()

    # -- places -----------------------------------------------------------------------------

    def token_at(self, point: QPoint) -> int | None:
        """The token under a point of the viewport."""
        if not self.lines_rect.contains(point):
            return None
        return self._layout.token_at(self._line_at(point.y()), point.x() - MARGIN)

    def nearest_token(self, point: QPoint) -> int | None:
        """The token closest to a point, on the line of that point."""
        last = self._layout.line_count - 1
        line = max(0, min(last, self._line_at(point.y())))
        return self._layout.nearest(line, point.x() - MARGIN)

    def rect_of(self, token: int) -> QRect:
        """Where a token begins in the viewport; empty behind the end."""
        line, x, width = self._layout.place_of(token)
        return QRect(round(x) + MARGIN, self._top_of(line), round(width), self._fonts.line_height)

    def _top_of(self, line: int) -> int:
        return line * self._fonts.line_height + MARGIN - self._scrolled

    def _line_at(self, y: int) -> int:
        return (y - MARGIN + self._scrolled) // self._fonts.line_height

    def _lines_in(self, rect: QRect) -> range:
        if rect.isEmpty():
            return range(0)
        first = max(0, self._line_at(rect.top()))
        return range(first, min(self._layout.line_count, self._line_at(rect.bottom()) + 1))

    def drawn_lines(self) -> list[str]:
        """What is drawn on each line, marks included, ids not."""
        return [
            "".join(run.text for cell in self._layout.cells(line) for run in cell.look.runs)
            for line in range(self._layout.line_count)
        ]

    @property
    def line_height(self) -> int:
        """Height of a line in device-independent pixels."""
        return self._fonts.line_height

    # -- painting ---------------------------------------------------------------------------

    def _update_token(self, token: int | None) -> None:
        if token is not None and token < len(self._layout):
            height = self._fonts.line_height
            for line in self._layout.lines_of(token):
                self.viewport().update(0, self._top_of(line), self.viewport().width(), height)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        try:
            self._paint(painter, event.rect())
        finally:
            # An active painter that outlives an exception takes the process down.
            painter.end()

    def _paint(self, painter: QPainter, rect: QRect) -> None:
        painter.fillRect(rect, theme.palette().page)
        if not self._ids:
            self._paint_placeholder(painter)
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setOpacity(STALE_OPACITY if self._is_stale else 1.0)
        painter.translate(MARGIN, 0)
        lines = TokenPainter(
            painter,
            self._layout,
            self._fonts,
            self._style_of,
            shows_ids=self._shows_ids,
            number_of=self._number_of,
        )
        lines.selected, lines.hovered, lines.chosen = self._selected, self._hovered, self._chosen
        painter.setClipRect(self.lines_rect.translated(-MARGIN, 0))
        for line in self._lines_in(rect.intersected(self.lines_rect)):
            lines.paint_line(line, self._top_of(line))
        if self._selected is None and self.is_complete:
            self._paint_end(painter)

    def _paint_end(self, painter: QPainter) -> None:
        """The place of the next token."""
        line, x = self._layout.end
        rect = QRect(round(x) + 2, self._top_of(line) + 3, 2, self._fonts.text_height - 6)
        painter.fillRect(rect, theme.palette().accent)

    def _paint_placeholder(self, painter: QPainter) -> None:
        room = self.viewport().rect().adjusted(MARGIN, MARGIN, -MARGIN, -MARGIN)
        painter.setFont(theme.ui_font())
        painter.setPen(theme.palette().muted)
        flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
        painter.drawText(room, flags, self._placeholder)


def _common_prefix(old: Sequence[int], new: Sequence[int]) -> int:
    """Number of equal ids in front."""
    limit = min(len(old), len(new))
    if list(old[:limit]) == list(new[:limit]):
        return limit
    return next(i for i in range(limit) if old[i] != new[i])
