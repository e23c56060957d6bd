"""Where the tokens of a text stand: cells in wrapped lines, kept up while the text grows.

Appending a token lays out that token (and those it shares a character with); a new width only
moves the line ends. Everything is in lines and device-independent pixels from the left.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from logitscope.display import parts_of, token_parts
from logitscope.gui.widgets.token_cells import Look, Measure, looks_of
from logitscope.spans import TokenSpans
from logitscope.vocabulary import Vocabulary

SHARED_COLUMNS = 1.25
"""Least width, in columns, of the part of a shared character that stands for one token."""
_CACHE_LIMIT = 200_000


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell in its line. ``stop - start > 1``: a character that these tokens share, of which
    each takes an equal part of the width."""

    index: int
    start: int
    stop: int
    x: float
    width: float
    look: Look

    def part_of(self, token: int) -> tuple[float, float]:
        """Left edge and width of one token's part."""
        share = self.width / (self.stop - self.start)
        return self.x + share * (token - self.start), share

    def token_at(self, x: float) -> int:
        share = self.width / (self.stop - self.start)
        return max(self.start, min(self.stop - 1, self.start + int((x - self.x) / share)))


class TokenLayout:
    """Cells and lines of a list of ids."""

    def __init__(self, measure: Measure) -> None:
        self._measure = measure
        self._vocabulary: Vocabulary | None = None
        self._marks = True
        self._shows_ids = False
        self._width = 600.0
        self._looks_by_id: dict[int, tuple[Look, ...]] = {}
        self.built_tokens = 0
        """Tokens laid out since the layout was made."""
        self._reset()

    def _reset(self) -> None:
        self.ids: list[int] = []
        self._spans = TokenSpans()
        self._starts: list[int] = []
        self._stops: list[int] = []
        self._looks: list[Look] = []
        self._widths: list[float] = []
        self._cell_of: list[int] = []
        """First cell of each token."""
        self._lines: list[int] = [0]
        """First cell of each line; one line even where there is no cell."""
        self._line_end = 0.0

    # -- how ------------------------------------------------------------------------------

    def set_vocabulary(self, vocabulary: Vocabulary | None) -> None:
        """Start anew with the tokens of another model."""
        self._vocabulary = vocabulary
        self._looks_by_id.clear()
        self._reset()

    def set_style(self, measure: Measure, *, marks: bool, shows_ids: bool) -> None:
        """Change what cells look like; drops all of them."""
        self._measure, self._marks, self._shows_ids = measure, marks, shows_ids
        self._looks_by_id.clear()
        self._reset()

    def set_width(self, width: float) -> None:
        """Wrap at another width."""
        if width != self._width:
            self._width = width
            self._rewrap(0)

    # -- growing --------------------------------------------------------------------------

    def append(self, token_id: int) -> None:
        """Add one token behind the last."""
        assert self._vocabulary is not None
        is_special = self._vocabulary.is_special(token_id)
        piece = self._vocabulary.bytes_of(token_id)
        group = self._spans.append(piece, is_special)
        self.ids.append(token_id)
        self._build_from(group)

    def truncate(self, count: int) -> None:
        """Keep the first ``count`` tokens."""
        if count >= len(self.ids):
            return
        group = self._spans.truncate(count)
        start = min(count, self._spans.group(group).start) if group < self._groups else count
        self._drop_cells(start)
        del self.ids[count:]
        self._build_from(group)

    @property
    def _groups(self) -> int:
        return self._spans.group_count

    def _build_from(self, group: int) -> None:
        if group < self._groups:
            self._drop_cells(self._spans.group(group).start)
        first_cell = len(self._starts)
        for index in range(group, self._groups):
            self._build_group(index)
        self._wrap(first_cell)

    def _build_group(self, index: int) -> None:
        group = self._spans.group(index)
        self.built_tokens += group.stop - group.start
        if group.stop - group.start == 1:
            token_id = self.ids[group.start]
            self._cell_of.append(len(self._starts))
            for look in self._looks_of_id(token_id):
                self._add_cell(group.start, group.stop, look, look.width)
            return
        for segment in self._spans.segments(index):
            while len(self._cell_of) < segment.stop:
                self._cell_of.append(len(self._starts))
            looks = looks_of(parts_of(segment.piece), self._measure, self._marks)
            least = self._least_width(segment.start, segment.stop)
            for look in looks:
                self._add_cell(segment.start, segment.stop, look, max(look.width, least))

    def _least_width(self, start: int, stop: int) -> float:
        count = stop - start
        least = SHARED_COLUMNS * self._measure.column if count > 1 else 0.0
        if self._shows_ids:
            least = max(least, *(self._id_width(self.ids[i]) for i in range(start, stop)))
        return least * count

    def _id_width(self, token_id: int) -> float:
        return (len(str(token_id)) + 1) * self._measure.id_column

    def _looks_of_id(self, token_id: int) -> tuple[Look, ...]:
        looks = self._looks_by_id.get(token_id)
        if looks is None:
            assert self._vocabulary is not None
            parts = token_parts(self._vocabulary, token_id)
            looks = looks_of(parts, self._measure, self._marks)
            if self._shows_ids:
                looks = (looks[0].at_least(self._id_width(token_id)), *looks[1:])
            if len(self._looks_by_id) >= _CACHE_LIMIT:
                self._looks_by_id.clear()
            self._looks_by_id[token_id] = looks
        return looks

    def _add_cell(self, start: int, stop: int, look: Look, width: float) -> None:
        self._starts.append(start)
        self._stops.append(stop)
        self._looks.append(look)
        self._widths.append(width)

    def _drop_cells(self, token: int) -> None:
        """Drop the cells of ``token`` and all behind it, and the line ends they decided."""
        if token >= len(self._cell_of):
            return
        cell = self._cell_of[token]
        del self._cell_of[token:]
        del self._starts[cell:], self._stops[cell:], self._looks[cell:], self._widths[cell:]
        self._rewrap(max(0, self._line_of_cell(cell) - 1))

    # -- wrapping -------------------------------------------------------------------------

    def _rewrap(self, line: int) -> None:
        """Set the line ends again from a line on: it and the next depend on what follows."""
        start = self._lines[line]
        del self._lines[line + 1 :]
        self._line_end = 0.0
        self._wrap(start)

    def _wrap(self, cell: int) -> None:
        widths, looks, lines = self._widths, self._looks, self._lines
        x, limit = self._line_end, self._width
        for index in range(cell, len(widths)):
            if index and looks[index - 1].ends_line and lines[-1] != index:
                lines.append(index)
                x = 0.0
            x += widths[index]
            if x > limit and index > lines[-1]:
                start = self._break_before(index)
                lines.append(start)
                x = sum(widths[start : index + 1])
        self._line_end = x

    def _break_before(self, cell: int) -> int:
        """The last place before ``cell`` where this line may end."""
        for index in range(cell, self._lines[-1], -1):
            if not (self._looks[index - 1].is_glued_right and self._looks[index].is_glued_left):
                return index
        return cell

    # -- reading --------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def line_count(self) -> int:
        """Lines, the empty one behind a last line feed included."""
        ends = bool(self._looks) and self._looks[-1].ends_line
        return len(self._lines) + ends

    @property
    def end(self) -> tuple[int, float]:
        """Line and x behind the last token."""
        if self._looks and self._looks[-1].ends_line:
            return len(self._lines), 0.0
        return len(self._lines) - 1, self._line_end

    def cells(self, line: int) -> Iterator[Cell]:
        """The cells of a line from left to right."""
        if line >= len(self._lines):
            return
        stop = self._lines[line + 1] if line + 1 < len(self._lines) else len(self._starts)
        x = 0.0
        for index in range(self._lines[line], stop):
            width = self._widths[index]
            yield Cell(index, self._starts[index], self._stops[index], x, width, self._looks[index])
            x += width

    def begins_in(self, token: int, cell: Cell) -> bool:
        """Whether this is the first cell of the token."""
        return self._cell_of[token] == cell.index

    def line_of(self, token: int) -> int:
        """The line on which a token begins; for the end of the text the last line."""
        if token >= len(self._cell_of):
            return self.end[0]
        return self._line_of_cell(self._cell_of[token])

    def lines_of(self, token: int) -> range:
        """All lines on which a token stands."""
        first = self.line_of(token)
        last = first
        if token < len(self._cell_of):
            cell = self._cell_of[token]
            while cell + 1 < len(self._starts) and self._starts[cell + 1] <= token:
                cell += 1
            last = self._line_of_cell(cell)
        return range(first, last + 1)

    def token_at(self, line: int, x: float) -> int | None:
        """The token at a place; None behind the end of its line and outside all lines."""
        for cell in self.cells(line) if line >= 0 else ():
            if cell.x <= x < cell.x + cell.width:
                return cell.token_at(x)
        return None

    def nearest(self, line: int, x: float) -> int | None:
        """The token of this line that is closest to ``x``; None for a line without tokens."""
        found = None
        for cell in self.cells(line) if line >= 0 else ():
            found = cell.token_at(x)
            if x < cell.x + cell.width:
                break
        return found

    def x_of(self, token: int) -> float:
        """Left edge of a token on its first line."""
        for cell in self.cells(self.line_of(token)):
            if cell.start <= token < cell.stop:
                return cell.part_of(token)[0]
        return self.end[1]

    def _line_of_cell(self, cell: int) -> int:
        return max(0, bisect_right(self._lines, cell) - 1)
