"""Which stretches of a prompt are sources, and marking them: all on frozen blocks.

A source is a list of spans, ranges of characters of one block, mostly a sentence each: what the
origin analysis takes away one at a time. Spans that touch make one source of several sentences.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import accumulate

from logitscope.document import Block
from logitscope.origin_sentences import paragraphs, sentences

Range = tuple[int, int]
Blocks = tuple[Block, ...]

LONG_PASTE = 200
"""Characters from which a text that is pasted into a message counts as a document."""
SOURCE_ROLES = ("system",)
"""Messages of these roles are sources from the start."""


@dataclass(frozen=True, slots=True)
class Place:
    """A selection in the prompt: characters ``start <= i < stop`` of a block; empty: a cursor."""

    block: int
    start: int
    stop: int


# -- reading ------------------------------------------------------------------------------------


def spans_of(block: Block) -> tuple[Range, ...]:
    """The spans of a block; those of a block that is a source as a whole are its sentences."""
    return sentences(block.text) if block.is_source else block.sources


def has_sources(blocks: Blocks) -> bool:
    return any(spans_of(block) for block in blocks)


def places_in(blocks: Blocks, start: int, stop: int) -> tuple[Place, ...]:
    """A range of the joined text, block by block; a cursor lies in the first block it touches."""
    found: list[Place] = []
    for index, last in enumerate(accumulate(len(block.text) for block in blocks)):
        first = last - len(blocks[index].text)
        low, high = max(start, first), min(stop, last)
        if low < high or (start == stop and first <= start <= last and not found):
            found.append(Place(index, low - first, high - first))
    return tuple(found)


def joined_spans(blocks: Blocks) -> tuple[Range, ...]:
    """All spans as ranges of the joined text."""
    found: list[Range] = []
    first = 0
    for block in blocks:
        found.extend((first + start, first + stop) for start, stop in spans_of(block))
        first += len(block.text)
    return tuple(found)


# -- choosing -----------------------------------------------------------------------------------


def paragraph_at(text: str, start: int, stop: int) -> Range:
    """The paragraphs that a range touches, without the blank around them; (start, start) where
    there is none."""
    return _union(paragraphs(text), start, stop)


def sentence_at(text: str, start: int, stop: int) -> Range:
    """The sentences that a range touches, as ``paragraph_at``."""
    return _union(sentences(text), start, stop)


def _union(ranges: tuple[Range, ...], start: int, stop: int) -> Range:
    met = [r for r in ranges if r[0] <= max(start, stop - 1) and r[1] >= start]
    if len(met) > 1 and met[0][1] == start:
        # Ends where the range begins: the next one is meant.
        met = met[1:]
    return (met[0][0], met[-1][1]) if met else (start, start)


# -- changing -----------------------------------------------------------------------------------


def mark(blocks: Blocks, place: Place) -> Blocks:
    """Make a range a source, split into its sentences; what was marked of it is split anew."""
    text = blocks[place.block].text[place.start : place.stop]
    added = tuple((place.start + a, place.start + b) for a, b in sentences(text))
    return _with_spans(blocks, place.block, _without(blocks, place) + added)


def unmark(blocks: Blocks, place: Place) -> Blocks:
    """Take a range out of the sources; a cursor takes out the span it is in."""
    if place.start == place.stop:
        met = _span_at(blocks, place)
        if met is None:
            return blocks
        place = replace(place, start=met[0], stop=met[1])
    return _with_spans(blocks, place.block, _without(blocks, place))


def mark_block(blocks: Blocks, index: int, is_source: bool) -> Blocks:
    """Make all of a block a source, also what will be written in it; or nothing of it."""
    changed = replace(blocks[index], is_source=is_source, sources=())
    return (*blocks[:index], changed, *blocks[index + 1 :])


def split(blocks: Blocks, place: Place) -> Blocks:
    """Cut the span at a cursor into two there; nothing changes at a border."""
    met = _span_at(blocks, place)
    if met is None or not met[0] < place.start < met[1]:
        return blocks
    kept = tuple(span for span in spans_of(blocks[place.block]) if span != met)
    pieces = ((met[0], place.start), (place.start, met[1]))
    return _with_spans(blocks, place.block, kept + pieces)


def merge(blocks: Blocks, place: Place) -> Blocks:
    """Join the spans that a range touches; a cursor joins its span with the next one."""
    spans = spans_of(blocks[place.block])
    met = [s for s in spans if s[0] <= max(place.start, place.stop - 1) and s[1] > place.start]
    if place.start == place.stop and met:
        met = list(spans[spans.index(met[0]) :][:2])
    if len(met) < 2:
        return blocks
    kept = tuple(span for span in spans if span not in met)
    return _with_spans(blocks, place.block, (*kept, (met[0][0], met[-1][1])))


def with_defaults(blocks: Blocks) -> Blocks:
    """A chat in which nothing is marked, with its system message as a source."""
    if has_sources(blocks):
        return blocks
    return tuple(
        replace(block, is_source=True) if block.role in SOURCE_ROLES else block for block in blocks
    )


def is_document(pasted: str) -> bool:
    """Whether a pasted text is material to read: long, or of several lines."""
    return len(pasted) >= LONG_PASTE or "\n" in pasted.strip()


def _span_at(blocks: Blocks, place: Place) -> Range | None:
    """The span a cursor is in; at its end counts where no other begins there."""
    spans = spans_of(blocks[place.block])
    inside = (s for s in spans if s[0] <= place.start < s[1])
    return next(inside, next((s for s in spans if s[1] == place.start), None))


def _without(blocks: Blocks, place: Place) -> tuple[Range, ...]:
    """The spans of a block less a range of it."""
    return tuple(
        piece
        for first, last in spans_of(blocks[place.block])
        for piece in ((first, min(last, place.start)), (max(first, place.stop), last))
        if piece[0] < piece[1]
    )


def _with_spans(blocks: Blocks, index: int, spans: tuple[Range, ...]) -> Blocks:
    changed = replace(blocks[index], is_source=False, sources=tuple(sorted(spans)))
    return (*blocks[:index], changed, *blocks[index + 1 :])


def spans_in_order(blocks: Blocks) -> Iterator[tuple[int, Range]]:
    """(block, span) of every span, first to last."""
    for index, block in enumerate(blocks):
        for span in spans_of(block):
            yield index, span
