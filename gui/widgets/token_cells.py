"""What single tokens look like: runs of text with their widths, cut where a line may end.

Nothing here knows of Qt: widths come from a ``Measure``.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from logitscope.display import Part, PartKind
from logitscope.graphemes import clusters

TAB_COLUMNS = 4
LONGEST_RUN = 24
"""Visible characters of one cell; longer tokens are cut so that they can wrap."""
EMPTY = Part(PartKind.BYTES, "‹›")
"""A token without bytes still needs a place to be seen and clicked."""


class Measure(Protocol):
    """Widths in device-independent pixels."""

    column: float
    """Width of one narrow character; no cell is narrower."""
    id_column: float
    """Width of a figure of the ids below the tokens."""

    def width(self, text: str, kind: PartKind) -> float: ...


@dataclass(frozen=True, slots=True)
class Run:
    """Text of one kind, drawn ``x`` pixels from the left edge of its cell."""

    text: str
    kind: PartKind
    x: float


@dataclass(frozen=True, slots=True)
class Look:
    """One cell: runs side by side. A line may end before a cell that is not glued to the last."""

    runs: tuple[Run, ...]
    text_width: float
    width: float
    ends_line: bool
    is_glued_left: bool
    is_glued_right: bool

    def at_least(self, width: float) -> Look:
        """The same, not narrower than ``width``."""
        return self if self.width >= width else replace(self, width=width)


def looks_of(parts: Iterable[Part], measure: Measure, marks: bool) -> tuple[Look, ...]:
    """The cells of a stretch of tokens, at least one."""
    cells: list[Look] = []
    line: list[Part] = []
    for part in _cut(parts):
        line.append(part)
        if part.kind is PartKind.BREAK or _columns(line) >= LONGEST_RUN:
            cells.append(_look(line, measure, marks))
            line = []
    if line or not cells:
        cells.append(_look(line or [EMPTY], measure, marks))
    return tuple(cells)


def _cut(parts: Iterable[Part]) -> Iterator[Part]:
    """Cut long text between visible characters."""
    for part in parts:
        if part.kind is not PartKind.TEXT or len(part.mark) <= LONGEST_RUN:
            yield part
            continue
        piece = ""
        for cluster in clusters(part.mark):
            piece += cluster
            if len(piece) >= LONGEST_RUN:
                yield Part(PartKind.TEXT, piece, piece)
                piece = ""
        if piece:
            yield Part(PartKind.TEXT, piece, piece)


def _columns(line: list[Part]) -> int:
    return sum(len(part.mark) for part in line)


def _look(line: list[Part], measure: Measure, marks: bool) -> Look:
    runs: list[Run] = []
    x = 0.0
    for part in line:
        text = part.shown(marks)
        if part.source == "\t":
            text = (text if marks else "").ljust(TAB_COLUMNS)
        if text:
            runs.append(Run(text, part.kind, x))
            x += measure.width(text, part.kind)
    first, last = line[0], line[-1]
    return Look(
        runs=tuple(runs),
        text_width=x,
        width=max(x, measure.column),
        ends_line=last.kind is PartKind.BREAK,
        is_glued_left=first.kind is PartKind.TEXT and _is_word(first.source[:1]),
        is_glued_right=last.kind is PartKind.TEXT and _is_word(last.source[-1:]),
    )


def _is_word(character: str) -> bool:
    """Whether a break beside this character would tear a word (not so in wide scripts)."""
    if not character or unicodedata.east_asian_width(character) in "WF":
        return False
    return unicodedata.category(character)[0] in "LMN" or character in ".,;:!?'’\")]}%"
