"""Words of the sources: where they stand, and where a word of the answer occurs among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from logitscope.origin_types import OriginCase, Range
from logitscope.origin_words import UNSPACED, Unit, character_class, words
from logitscope.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Place:
    """A word of a source."""

    span: int
    tokens: Range
    """Of the prompt."""
    text: str


def comparable(text_key: str, text: str) -> str:
    """What makes two units the same: the key, or the bare text of punctuation."""
    return text_key or text.strip()


def span_units(vocabulary: Vocabulary, case: OriginCase, span: int) -> tuple[Unit, ...]:
    """The units of a source; their tokens count from the beginning of the prompt."""
    start, stop = case.sources[span]
    found = words(vocabulary, case.prompt_ids[start:stop])
    return tuple(Unit(start + u.start, start + u.stop, u.text, u.is_special) for u in found)


def places_of(
    vocabulary: Vocabulary, case: OriginCase, text: str, spans: Sequence[int] | None = None
) -> tuple[Place, ...]:
    """Where a word occurs in sources, in all if None: whole words, casefolded.

    In scripts without spaces it may also be a part of the neighbouring units that spell it.
    """
    wanted = words_key(text)
    if not wanted:
        return ()
    numbers = range(len(case.sources)) if spans is None else sorted(spans)
    return tuple(
        place
        for span in numbers
        for place in _occurrences(span, span_units(vocabulary, case, span), wanted)
    )


def words_key(text: str) -> str:
    """``comparable`` of a text."""
    return comparable(Unit(0, 0, text).key, text)


def _occurrences(span: int, units: Sequence[Unit], wanted: str) -> Iterator[Place]:
    if character_class(wanted[0]) not in UNSPACED:
        for unit in units:
            if comparable(unit.key, unit.text) == wanted:
                yield Place(span, (unit.start, unit.stop), unit.text)
        return
    text = "".join(unit.text for unit in units)
    ends = list(accumulate(len(unit.text) for unit in units))
    at = text.find(wanted)
    while at >= 0:
        covered = [
            unit
            for unit, end in zip(units, ends, strict=True)
            if end > at and end - len(unit.text) < at + len(wanted)
        ]
        spelled = "".join(unit.text for unit in covered)
        yield Place(span, (covered[0].start, covered[-1].stop), spelled)
        at = text.find(wanted, at + len(wanted))
