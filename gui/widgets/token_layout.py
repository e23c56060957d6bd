"""Where the tokens of a text stand: cells in wrapped lines, kept up while the text grows.

Appending a token lays out that token (and those it shares a character with); a new width only
moves the line ends. Everything is in lines and device-independent pixels from the left.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from logitscope.display import parts_of, token_parts
from logitscope.gui.widgets.token_cells import Look, Measure, looks_of
from logitscope.spans import TokenSpans
from logitscope.vocabulary import Vocabulary

SHARED_COLUMNS = 1.25
"""Least width, in columns, of the part of a shared character that stands for one token."""


class _Cell(NamedTuple):
    start: int
    stop: int
    look: Look


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
        """The token whose part is at ``x``, or the nearest of this cell."""
        share = self.width / (self.stop - self.start)
        return max(self.start, min(self.stop - 1, self.start + int((x - self.x) / share)))


class TokenLayout:
    """Cells and lines of a list of ids."""

    def __init__(self, measure: Measure) -> None:
        self._measure = measure
        self._vocabulary: Vocabulary | None = None
        self._marks = True
        self._shows_ids = False
        self._number_columns = 0
        self._width = 600.0
        self._looks_by_id: dict[int, tuple[Look, ...]] = {}
        self.built_tokens = 0
        """Tokens laid out since the layout was made."""
        self._reset()

    def _reset(self) -> None:
        self.ids: list[int] = []
        self._spans = TokenSpans()
        self._cells: list[_Cell] = []
        self._ends: list[float] = [0.0]
        """Sum of the widths of the cells before each cell, and of all."""
        self._breaks: list[int] = []
        """Cells that end their line."""
        self._first_cells: list[int] = []
        """First cell of each token."""
        self._lines: list[int] = [0]
        """First cell of each line; one line even where there is no cell."""
        self._changed_line = 0

    # -- how ------------------------------------------------------------------------------

    def set_vocabulary(self, vocabulary: Vocabulary | None) -> None:
        """Start anew with the tokens of another model."""
        self._vocabulary = vocabulary
        self._looks_by_id.clear()
        self._reset()

    def set_style(
        self, measure: Measure, *, marks: bool, shows_ids: bool, number_columns: int = 0
    ) -> None:
        """Change what cells look like; drops all of them.

        Where something else than ids stands below the tokens, ``number_columns`` are its figures.
        """
        self._measure, self._marks, self._shows_ids = measure, marks, shows_ids
        self._number_columns = number_columns
        self._looks_by_id.clear()
        self._reset()

    def set_width(self, width: float) -> None:
        """Wrap at another width."""
        if width != self._width:
            self._width = width
            self._rewrap(0)

    # -- growing --------------------------------------------------------------------------

    def extend(self, ids: Iterable[int]) -> None:
        """Add tokens behind the last."""
        vocabulary = self._vocabulary
        if vocabulary is None:
            return
        changed = self._spans.group_count
        for token_id in ids:
            piece = vocabulary.bytes_of(token_id)
            group = self._spans.append(piece, vocabulary.is_special(token_id))
            changed = min(changed, group)
            self.ids.append(token_id)
        self._build_from(changed)

    def truncate(self, count: int) -> None:
        """Keep the first ``count`` tokens."""
        if count < len(self.ids):
            group = self._spans.truncate(count)
            del self.ids[count:]
            starts = self._spans.group_starts
            self._drop_cells(starts[group] if group < len(starts) else count)
            self._build_from(group)

    def _build_from(self, group: int) -> None:
        starts = self._spans.group_starts
        if group >= len(starts):
            return
        self._drop_cells(starts[group])
        for index in range(group, len(starts)):
            stop = starts[index + 1] if index + 1 < len(starts) else len(self.ids)
            if stop - starts[index] == 1:
                self._build_token(starts[index])
            else:
                self._build_group(index)
        self.built_tokens += len(self.ids) - starts[group]
        self._wrap()

    def _build_token(self, token: int) -> None:
        self._first_cells.append(len(self._cells))
        for look in self._looks_of_id(self.ids[token]):
            self._add_cell(token, token + 1, look)

    def _build_group(self, index: int) -> None:
        for segment in self._spans.segments(index):
            while len(self._first_cells) < segment.stop:
                self._first_cells.append(len(self._cells))
            least = self._least_width(segment.start, segment.stop)
            for look in looks_of(parts_of(segment.piece), self._measure, self._marks):
                self._add_cell(segment.start, segment.stop, look.at_least(least))

    def _add_cell(self, start: int, stop: int, look: Look) -> None:
        if look.ends_line:
            self._breaks.append(len(self._cells))
        self._cells.append(_Cell(start, stop, look))
        self._ends.append(self._ends[-1] + look.width)

    def _least_width(self, start: int, stop: int) -> float:
        least = SHARED_COLUMNS * self._measure.column if stop - start > 1 else 0.0
        if self._shows_ids:
            least = max(least, *(self._id_width(self.ids[i]) for i in range(start, stop)))
        return least * (stop - start)

    def _id_width(self, token_id: int) -> float:
        figures = self._number_columns or len(str(token_id))
        return (figures + 1) * self._measure.id_column

    def _looks_of_id(self, token_id: int) -> tuple[Look, ...]:
        looks = self._looks_by_id.get(token_id)
        if looks is None:
            parts = token_parts(self._vocabulary, token_id) if self._vocabulary else ()
            looks = looks_of(parts, self._measure, self._marks)
            if self._shows_ids:
                looks = (looks[0].at_least(self._id_width(token_id)), *looks[1:])
            self._looks_by_id[token_id] = looks
        return looks

    def _drop_cells(self, token: int) -> None:
        """Drop the cells of ``token`` and all behind it, and the line ends they decided."""
        if token >= len(self._first_cells):
            return
        cell = self._first_cells[token]
        del self._first_cells[token:], self._cells[cell:], self._ends[cell + 1 :]
        del self._breaks[bisect_left(self._breaks, cell) :]
        self._rewrap(max(0, self._line_of_cell(cell) - 1))

    # -- wrapping -------------------------------------------------------------------------

    def take_changed_line(self) -> int:
        """The first line that is another since this was last asked; ``line_count`` if none is."""
        line, self._changed_line = self._changed_line, len(self._lines)
        return line

    def _rewrap(self, line: int) -> None:
        """Set the line ends again from a line on: it and the next depend on what follows."""
        del self._lines[line + 1 :]
        self._wrap()

    def _wrap(self) -> None:
        """Add the lines behind the last known one."""
        ends, lines, breaks = self._ends, self._lines, self._breaks
        self._changed_line = min(self._changed_line, len(lines) - 1)
        count = len(self._cells)
        next_break = bisect_left(breaks, lines[-1])
        while lines[-1] < count:
            start = lines[-1]
            # The first cell that does not fit, but at least one a line.
            stop = max(start + 1, bisect_right(ends, ends[start] + self._width, start) - 1)
            while next_break < len(breaks) and breaks[next_break] < start:
                next_break += 1
            if next_break < len(breaks) and breaks[next_break] < stop:
                lines.append(breaks[next_break] + 1)
            elif stop < count:
                lines.append(self._break_before(stop, start))
            else:
                return

    def _break_before(self, cell: int, start: int) -> int:
        """The last place up to ``cell`` where the line that begins at ``start`` may end."""
        cells = self._cells
        for index in range(cell, start, -1):
            if not (cells[index - 1].look.is_glued_right and cells[index].look.is_glued_left):
                return index
        return cell

    # -- reading --------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def line_count(self) -> int:
        """Lines, the empty one behind a last line feed included."""
        return len(self._lines)

    @property
    def end(self) -> tuple[int, float]:
        """Line and x behind the last token."""
        return len(self._lines) - 1, self._ends[-1] - self._ends[self._lines[-1]]

    def cells(self, line: int) -> Iterator[Cell]:
        """The cells of a line from left to right; none outside the text."""
        if not 0 <= line < len(self._lines):
            return
        first = self._lines[line]
        stop = self._lines[line + 1] if line + 1 < len(self._lines) else len(self._cells)
        left = self._ends[first]
        for index in range(first, stop):
            start, end, look = self._cells[index]
            yield Cell(index, start, end, self._ends[index] - left, look.width, look)

    def begins_in(self, token: int, cell: Cell) -> bool:
        """Whether this is the first cell of the token."""
        return self._first_cells[token] == cell.index

    def lines_of(self, token: int) -> range:
        """The lines on which a token stands; the last line for the end of the text."""
        if token >= len(self._first_cells):
            return range(len(self._lines) - 1, len(self._lines))
        first = last = self._first_cells[token]
        while last + 1 < len(self._cells) and self._cells[last + 1].start <= token:
            last += 1
        return range(self._line_of_cell(first), self._line_of_cell(last) + 1)

    def place_of(self, token: int) -> tuple[int, float, float]:
        """Line, x and width of a token where it begins; width 0 for the end of the text."""
        line = self.lines_of(token).start
        for cell in self.cells(line):
            if cell.start <= token < cell.stop:
                return (line, *cell.part_of(token))
        return (*self.end, 0.0)

    def token_at(self, line: int, x: float) -> int | None:
        """The token at a place; None outside all cells."""
        for cell in self.cells(line):
            if cell.x <= x < cell.x + cell.width:
                return cell.token_at(x)
        return None

    def nearest(self, line: int, x: float) -> int | None:
        """The token of a line that is closest to ``x``; None for a line without tokens."""
        found = None
        for cell in self.cells(line):
            found = cell.token_at(x)
            if x < cell.x + cell.width:
                break
        return found

    def _line_of_cell(self, cell: int) -> int:
        return max(0, bisect_right(self._lines, cell) - 1)
