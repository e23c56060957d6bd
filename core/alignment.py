"""Two tokenizations side by side: byte ranges that both share, and the loss of each in them.

The same text cut by two tokenizers is split where both have a boundary: the smallest ranges whose
losses can be compared. Of two texts, the tokens that both share in order are compared; the rest
stands alone. Special tokens bring no bytes to the text: they belong to no range, and what they cost
is summed apart, so that the ranges and the rest always add up to the loss of the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from logitscope.matching import matching_blocks
from logitscope.units import bits
from logitscope.vocabulary import TokenKind, Vocabulary

Vector = NDArray[np.float64]
Integers = NDArray[np.int64]

NO_RANGE = -1
"""Range of a token that brings no bytes."""


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """The tokens of a text and the bytes they bring."""

    ids: NDArray[np.int32]
    """(n,)"""
    sizes: Integers
    """(n,) bytes of the text; 0 for special tokens."""
    text: bytes

    @property
    def ends(self) -> Integers:
        """(n,) bytes of the text up to and with each token."""
        return np.cumsum(self.sizes, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Pairing:
    """Ranges in the order of the text; each has bytes on the left, on the right, or on both.

    The left bytes of all ranges end to end are the left text, and so are the right ones.
    """

    left_range: Integers
    """(n left tokens,) the range of each; -1 for a token without bytes."""
    right_range: Integers
    left_start: Integers
    """(ranges,) first byte in the left text."""
    right_start: Integers
    left_bytes: Integers
    """(ranges,) 0: the range is on the right alone."""
    right_bytes: Integers

    def __len__(self) -> int:
        return len(self.left_bytes)

    @property
    def is_paired(self) -> NDArray[np.bool_]:
        """(ranges,) both sides have these bytes."""
        return (self.left_bytes > 0) & (self.right_bytes > 0)


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """Losses of the ranges in nats, (ranges,); NaN = unknown, or not on this side."""

    left: Vector
    right: Vector
    nats: Vector
    """left − right: below 0 the left expected the text better."""
    per_byte: Vector
    left_outside: float
    """Known loss of the tokens without bytes."""
    right_outside: float


@dataclass(frozen=True, slots=True)
class Totals:
    """Over the paired ranges whose losses are known on both sides. NaN where there are none."""

    n_bytes: int
    unknown_bytes: int
    """Bytes of paired ranges with an unknown loss."""
    alone: int
    """Bytes of both sides that have no partner."""
    left_bits_per_byte: float
    right_bits_per_byte: float
    difference: float
    """left − right, bits per byte."""
    left_better: float
    """Share of the bytes in ranges that the left expected better; ties are on neither side."""
    right_better: float


def tokens_of(vocabulary: Vocabulary, ids: Sequence[int] | NDArray[np.integer]) -> Tokens:
    """Sizes and text of ids. A tokenizer's own space in front of the text is no part of it.

    Raises IndexError for an id outside the vocabulary.
    """
    known = np.asarray(ids, dtype=np.int32)
    special = (TokenKind.CONTROL, TokenKind.UNUSED)
    sizes = np.diff(vocabulary.offsets)[known].astype(np.int64)
    sizes[np.isin(vocabulary.kinds[known], special)] = 0
    text = vocabulary.text_bytes(known.tolist())
    if vocabulary.adds_space and text.startswith(b" "):
        sizes[int((sizes > 0).argmax())] -= 1
        text = text[1:]
    return Tokens(known, sizes, text)


def pair_by_bytes(left: Tokens, right: Tokens) -> Pairing:
    """Split the same text where both tokenizations have a boundary.

    Where the texts differ after all (bytes that are no text reach no second tokenizer), what
    they share at the beginning and at the end is paired, and the middle stands alone.
    """
    head = _shared(left.text, right.text)
    ends, other = left.ends, right.ends
    common = np.intersect1d(ends, other)
    common = common[(common > 0) & (common <= head)]
    if left.text == right.text:
        return _pairing(left, right, common, common)
    l_size, r_size = len(left.text), len(right.text)
    begin = int(common[-1]) if len(common) else 0
    tail = _shared(left.text[begin:][::-1], right.text[begin:][::-1])
    from_end = np.intersect1d(l_size - ends, r_size - other)
    from_end = np.union1d(from_end[from_end <= tail], [0]).astype(np.int64)[::-1]
    l_tail, r_tail = l_size - from_end, r_size - from_end
    # The middle: first what is on the left alone, then what is on the right.
    return _pairing(
        left,
        right,
        np.concatenate((common, l_tail[:1], l_tail)),
        np.concatenate((common, np.array([begin]), r_tail)),
    )


def pair_by_ids(left: Tokens, right: Tokens) -> Pairing:
    """Pair the tokens that two texts of one vocabulary share in order.

    See ``matching_blocks`` for how they are found; what stands between them is one range on
    each side.
    """
    l_ends, r_ends = left.ends, right.ends
    blocks = matching_blocks(left.ids, right.ids, _line_stops(left), _line_stops(right))
    l_parts: list[Integers] = []
    r_parts: list[Integers] = []
    r_at = 0
    for l_token, r_token, count in (*blocks, (len(left.ids), len(right.ids), 0)):
        l_begin = int(l_ends[l_token - 1]) if l_token else 0
        r_begin = int(r_ends[r_token - 1]) if r_token else 0
        l_parts += [np.array([l_begin, l_begin]), l_ends[l_token : l_token + count]]
        r_parts += [np.array([r_at, r_begin]), r_ends[r_token : r_token + count]]
        r_at = int(r_parts[-1][-1]) if count else r_begin
    return _pairing(left, right, np.concatenate(l_parts), np.concatenate(r_parts))


def differences(pairing: Pairing, left_loss: Vector, right_loss: Vector) -> Differences:
    """Losses of the ranges. The arguments are nats of the tokens, NaN = unknown.

    Raises ValueError where they are not as many as the tokens.
    """
    left, left_outside = _sums(pairing.left_range, left_loss, pairing.left_bytes)
    right, right_outside = _sums(pairing.right_range, right_loss, pairing.right_bytes)
    with np.errstate(invalid="ignore", divide="ignore"):
        nats = left - right
        per_byte = nats / pairing.left_bytes
    return Differences(left, right, nats, per_byte, left_outside, right_outside)


def totals(pairing: Pairing, found: Differences) -> Totals:
    """Averages of the ranges that can be compared."""
    known = ~np.isnan(found.nats)
    weights = pairing.left_bytes[known]
    n_bytes, paired = int(weights.sum()), pairing.is_paired
    alone = pairing.left_bytes[~paired].sum() + pairing.right_bytes[~paired].sum()
    nats = found.nats[known]
    return Totals(
        n_bytes=n_bytes,
        unknown_bytes=int(pairing.left_bytes[paired & ~known].sum()),
        alone=int(alone),
        left_bits_per_byte=bits(_mean(found.left[known].sum(), n_bytes)),
        right_bits_per_byte=bits(_mean(found.right[known].sum(), n_bytes)),
        difference=bits(_mean(nats.sum(), n_bytes)),
        left_better=_mean(weights[nats < 0].sum(), n_bytes),
        right_better=_mean(weights[nats > 0].sum(), n_bytes),
    )


def largest(values: Vector, count: int) -> Integers:
    """Places of the values farthest from 0, farthest first, ties in order; NaN is none."""
    known = np.flatnonzero(~np.isnan(values))
    size = np.abs(values[known])
    if len(known) > count > 0:
        least = np.partition(size, len(size) - count)[len(size) - count]
        known = known[size >= least]
        size = np.abs(values[known])
    order = np.argsort(-size, kind="stable")[: max(count, 0)]
    return known[order].astype(np.int64)


def spread(pairing_range: Integers, values: Vector) -> Vector:
    """Values of the ranges at their tokens, (n,); NaN for tokens without bytes."""
    if len(values) == 0:
        return np.full(len(pairing_range), np.nan)
    found: Vector = np.where(pairing_range == NO_RANGE, np.nan, values[pairing_range])
    return found


# -- inside -------------------------------------------------------------------------------------


def _pairing(left: Tokens, right: Tokens, left_end: Integers, right_end: Integers) -> Pairing:
    """Ranges by their ends on both sides; those that hold nothing are left out."""
    l_bytes = np.diff(left_end, prepend=0)
    r_bytes = np.diff(right_end, prepend=0)
    kept = (l_bytes > 0) | (r_bytes > 0)
    left_end, right_end = left_end[kept], right_end[kept]
    l_bytes, r_bytes = l_bytes[kept].astype(np.int64), r_bytes[kept].astype(np.int64)
    return Pairing(
        _range_of(left, left_end),
        _range_of(right, right_end),
        left_end - l_bytes,
        right_end - r_bytes,
        l_bytes,
        r_bytes,
    )


def _range_of(tokens: Tokens, range_ends: Integers) -> Integers:
    found = np.searchsorted(range_ends, tokens.ends, side="left")
    return np.where(tokens.sizes > 0, found, NO_RANGE).astype(np.int64)


def _sums(of: Integers, loss: Vector, n_bytes: Integers) -> tuple[Vector, float]:
    if len(loss) != len(of):
        raise ValueError(f"{len(loss)} losses do not fit {len(of)} tokens.")
    inside = of != NO_RANGE
    sums = np.bincount(of[inside], weights=loss[inside], minlength=len(n_bytes)).astype(np.float64)
    sums[n_bytes == 0] = np.nan
    return sums, float(np.nansum(loss[~inside]))


def _shared(first: bytes, second: bytes) -> int:
    """How many bytes at the beginning are the same."""
    count = min(len(first), len(second))
    a = np.frombuffer(first, dtype=np.uint8, count=count)
    differs = a != np.frombuffer(second, dtype=np.uint8, count=count)
    return int(differs.argmax()) if differs.any() else count


def _line_stops(tokens: Tokens) -> Integers:
    """Indices behind the tokens that end a line."""
    breaks = np.cumsum(np.frombuffer(tokens.text, dtype=np.uint8) == ord("\n"), dtype=np.int64)
    seen = np.concatenate((np.zeros(1, np.int64), breaks))[tokens.ends]
    return (np.flatnonzero(np.diff(seen, prepend=0) > 0) + 1).astype(np.int64)


def _mean(total: float, count: int) -> float:
    return float(total) / count if count else float("nan")
