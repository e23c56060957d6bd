"""Editing the joined text of a prompt without losing what its blocks are."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate

from logitscope.document import Block

Range = tuple[int, int]


def changed_range(old: str, new: str) -> tuple[int, int, int]:
    """``(start, old_stop, new_stop)``: ``new`` is ``old`` with ``old[start:old_stop]`` replaced by
    ``new[start:new_stop]``, the shortest such stretch."""
    limit = min(len(old), len(new))
    start = 0
    if old[:limit] == new[:limit]:
        start = limit
    while start < limit and old[start] == new[start]:
        start += 1
    behind = 0
    while behind < limit - start and old[-1 - behind] == new[-1 - behind]:
        behind += 1
    return start, len(old) - behind, len(new) - behind


def edited(blocks: tuple[Block, ...], text: str) -> tuple[Block, ...]:
    """The blocks after their joined text was edited to ``text``.

    A change falls into the block in which it begins (at a border: the one before it). Blocks of
    which nothing is left are dropped, but for that one.
    """
    if not blocks:
        return (Block(text),)
    old = "".join(block.text for block in blocks)
    start, old_stop, new_stop = changed_range(old, text)
    stops = list(accumulate(len(block.text) for block in blocks))
    home = next(index for index, stop in enumerate(stops) if start <= stop)
    kept: list[Block] = []
    for index, (block, stop) in enumerate(zip(blocks, stops, strict=True)):
        first = stop - len(block.text)
        before = old[first : max(first, min(stop, start))]
        behind = old[max(first, min(stop, old_stop)) : stop]
        middle = text[start:new_stop] if index == home else ""
        own = before + middle + behind
        if own or index == home or not block.text:
            kept.append(with_text(block, own))
    return tuple(kept)


def with_text(block: Block, text: str) -> Block:
    """The block with its text edited to ``text``; its sources stay on what they were on."""
    if text == block.text:
        return block
    sources = shifted(block.sources, *changed_range(block.text, text))
    return replace(block, text=text, sources=sources)


def shifted(
    ranges: tuple[Range, ...], start: int, old_stop: int, new_stop: int
) -> tuple[Range, ...]:
    """Disjoint, ascending ranges of a text after ``start … old_stop`` became ``start … new_stop``.

    A range that holds the whole change, or ends where it begins while the next one begins there
    too, grows or shrinks by it; a range it cuts into keeps what is left, and vanishes with nothing.
    """
    grown = new_stop - old_stop
    begins = {first for first, _ in ranges}
    kept: list[Range] = []
    for first, last in ranges:
        low, high = first, last
        is_seam = old_stop == start == last and last in begins
        if first > start or (first == start == old_stop):
            low = first + grown if first >= old_stop else new_stop
        if last > start or is_seam:
            high = last + grown if last >= old_stop else start
        if low < high:
            kept.append((low, high))
    return tuple(kept)
