"""What two sequences of ids share in order."""

from __future__ import annotations

from difflib import SequenceMatcher
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.integer]
Block = tuple[int, int, int]

MOST_PAIRS = 4_000_000
"""Product of the lengths up to which single tokens are matched: about a second. ``difflib`` takes
time in proportion to it where many tokens repeat."""


def matching_blocks(
    left: Ids, right: Ids, left_line_stops: Ids, right_line_stops: Ids
) -> list[Block]:
    """Blocks (left start, right start, length) of equal ids, in order, not overlapping.

    The equal beginning and end first; between them Python's ``difflib.SequenceMatcher`` (without
    its "junk" heuristic) on single ids, or, beyond ``MOST_PAIRS``, on whole lines; beyond that
    in lines too, nothing. ``*_line_stops``: ascending indices before which a line ends.
    """
    head = _shared(left, right)
    tail = _shared(left[head:][::-1], right[head:][::-1])
    middle = _middle(
        left[head : len(left) - tail],
        right[head : len(right) - tail],
        left_line_stops - head,
        right_line_stops - head,
    )
    found = [(0, 0, head), *((a + head, b + head, n) for a, b, n in middle)]
    found.append((len(left) - tail, len(right) - tail, tail))
    return [block for block in found if block[2]]


def _middle(left: Ids, right: Ids, left_stops: Ids, right_stops: Ids) -> list[Block]:
    if not len(left) or not len(right):
        return []
    if len(left) * len(right) <= MOST_PAIRS:
        matcher = SequenceMatcher(None, left.tolist(), right.tolist(), autojunk=False)
        return [(m.a, m.b, m.size) for m in matcher.get_matching_blocks() if m.size]
    lines, other = _cut(left, left_stops), _cut(right, right_stops)
    if len(lines) * len(other) > MOST_PAIRS:
        return []
    by_line = SequenceMatcher(
        None, [ids for _, ids in lines], [ids for _, ids in other], autojunk=False
    )
    return [
        (lines[m.a + k][0], other[m.b + k][0], len(lines[m.a + k][1]))
        for m in by_line.get_matching_blocks()
        for k in range(m.size)
    ]


def _cut(ids: Ids, stops: Ids) -> list[tuple[int, tuple[int, ...]]]:
    """Lines with their first index."""
    inner = stops[(stops > 0) & (stops < len(ids))]
    bounds = [0, *inner.tolist(), len(ids)]
    whole = ids.tolist()
    return [(a, tuple(whole[a:b])) for a, b in pairwise(bounds)]


def _shared(first: Ids, second: Ids) -> int:
    count = min(len(first), len(second))
    differs = first[:count] != second[:count]
    return int(differs.argmax()) if differs.any() else count
