"""From marked characters of a prompt to the tokens the model received for them.

The tokens' bytes are searched for the text of each block in turn, so that it does not matter what
a chat template puts around them; the names of special tokens count as bytes, as the template
writes them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from logitscope.document import Block
from logitscope.sources import spans_of
from logitscope.vocabulary import Vocabulary

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class PlacedSpan:
    """A span of a block and its tokens in the prompt, at least one."""

    block: int
    start: int
    """Characters ``start <= i < stop`` of the block's text."""
    stop: int
    tokens: Range


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the blocks lie among the prompt's tokens."""

    spans: tuple[PlacedSpan, ...]
    blocks: tuple[Range | None, ...]
    """Tokens of each block; None where the template wrote its text in another way."""

    @property
    def is_complete(self) -> bool:
        return all(tokens is not None for tokens in self.blocks)

    @property
    def blocks_found(self) -> tuple[Range, ...]:
        """Tokens of the blocks that were found."""
        return tuple(tokens for tokens in self.blocks if tokens is not None)

    def spans_in(self, block: int) -> tuple[Range, ...]:
        """Tokens of the spans of a block."""
        return tuple(span.tokens for span in self.spans if span.block == block)


def place_spans(
    blocks: Sequence[Block], prompt_ids: Sequence[int], vocabulary: Vocabulary
) -> Placement:
    """Find the blocks and their spans among the ids.

    A token belongs to the span that holds most of its bytes, the earlier one of two that hold the
    same; it stays outside where most of it does. A span without a token of its own is left out.
    """
    pieces = [vocabulary.bytes_of(token_id) for token_id in prompt_ids]
    stream = b"".join(pieces)
    stops = list(accumulate(map(len, pieces)))
    spans: list[PlacedSpan] = []
    places: list[Range | None] = []
    cursor = 0
    for index, block in enumerate(blocks):
        found = _find(stream, block.text, cursor)
        if found is None:
            places.append(None)
            continue
        begin, skipped, text = found
        cursor = begin + len(text)
        places.append(_tokens_of((begin, cursor), stops))
        for start, stop in spans_of(block):
            first = begin + _bytes_before(block.text, start) - skipped
            last = begin + _bytes_before(block.text, stop) - skipped
            tokens = _tokens_of((max(first, begin), min(last, cursor)), stops)
            # The first token stays in the frame: a model needs one to read.
            tokens = (max(tokens[0], spans[-1].tokens[1] if spans else 1), tokens[1])
            if tokens[0] < tokens[1]:
                spans.append(PlacedSpan(index, start, stop, tokens))
    return Placement(tuple(spans), tuple(places))


def _find(stream: bytes, text: str, cursor: int) -> tuple[int, int, bytes] | None:
    """(where it begins, bytes of ``text`` left out in front, what was found): templates trim."""
    whole = _encoded(text)
    trimmed = _encoded(text.strip())
    for wanted in (whole, trimmed):
        begin = stream.find(wanted, cursor)
        if begin >= 0:
            return begin, whole.find(wanted), wanted
    return None


def _encoded(text: str) -> bytes:
    """As the tokenizers get it: halves of surrogate pairs become U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _bytes_before(text: str, position: int) -> int:
    return len(_encoded(text[:position]))


def _tokens_of(span: Range, stops: Sequence[int]) -> Range:
    """Tokens of which at least half of the bytes lie in the span; ties at its end are left out."""
    first, last = bisect_right(stops, span[0]), bisect_left(stops, span[1]) + 1
    last = min(last, len(stops))

    def inside(token: int) -> int:
        start = stops[token - 1] if token else 0
        return 2 * (min(stops[token], span[1]) - max(start, span[0])) - (stops[token] - start)

    while first < last and inside(first) < 0:
        first += 1
    while first < last and inside(last - 1) < 0:
        last -= 1
    return (first, last)
