"""Which token is the likeliest, the second, the k-th: exact, ties to the lower id.

Ranks depend on logits alone: softmax and temperature keep the order. Everything here works on
float32 rows, which lets value and id share one 64-bit sort key.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Row = NDArray[np.float32]

BLOCK = 512
"""Entries a block in the search for the top k. At 262,144 entries this gives 512 maxima, so that
both levels of the search are equally short."""

LONG_ROW = 1 << 15
"""From here on the top is found row by row in blocks, which a shorter row has too few of."""

MOST_SHARED = 8
"""Maxima for each of the k largest entries: with so many hardly two of them share one."""

_ID_BITS = np.uint64(0xFFFF_FFFF)
_LITTLE_ENDIAN = np.little_endian


def checked_row(logits: NDArray[np.floating]) -> Row:
    """The row as contiguous float32, shape (V,).

    Raises ValueError for an empty or nested array, for NaN or +inf, and where every entry is -inf
    (no token would be possible). -inf elsewhere is a token of probability exactly 0.
    """
    row = np.ascontiguousarray(logits, dtype=np.float32)
    if row.ndim != 1 or row.size == 0:
        raise ValueError(f"A row of logits must have shape (V,) with V >= 1, not {row.shape}.")
    refuse_peak(float(row.max()))
    return row


class NoDistribution(ValueError):
    """A row of logits that gives no token a probability."""


def refuse_peak(peak: float) -> None:
    """Raise NoDistribution unless ``peak``, the maximum of a row, is finite.

    NumPy's maximum hands NaN on, hence the maximum alone tells all three faults.
    """
    if math.isnan(peak):
        raise NoDistribution("The row of logits holds NaN, so it has no distribution.")
    if peak == np.inf:
        raise NoDistribution("The row of logits holds +inf, so it has no distribution.")
    if peak == -np.inf:
        raise NoDistribution("Every logit of the row is -inf, so no token is possible.")


def sort_keys(values: Row, ids: NDArray[np.integer]) -> NDArray[np.uint64]:
    """One uint64 a token; ascending keys are descending values, equal values by ascending id.

    The upper half is the float's bit pattern turned into a descending unsigned number, the lower
    half the id. ``values`` must not hold NaN. -0.0 equals 0.0.
    """
    keys = np.empty((len(values), 2), dtype=np.uint32)
    low, high = (0, 1) if _LITTLE_ENDIAN else (1, 0)
    keys[:, high] = _falling_bits(values)
    keys[:, low] = ids
    return keys.reshape(-1).view(np.uint64)


def _falling_bits(values: Row) -> NDArray[np.uint32]:
    """The bit pattern of each float, turned so that it falls as the value rises."""
    bits = (values + np.float32(0.0)).view(np.int32)
    # A negative float's bits already do; a positive one's must be flipped.
    flip = ~(bits >> np.int32(31)) & np.int32(0x7FFF_FFFF)
    return (bits ^ flip).view(np.uint32)


def _ids_of(keys: NDArray[np.uint64]) -> Ids:
    return (keys & _ID_BITS).astype(np.int64)


def order(logits: NDArray[np.floating]) -> Ids:
    """All ids, likeliest first, ties by lower id; int64, shape (V,)."""
    return order_among(checked_row(logits), None)


def order_among(values: Row, ids: Ids | None) -> Ids:
    """``ids`` (None: positions) by descending value, ties by lower id. No check of the values."""
    names = np.arange(len(values), dtype=np.uint32) if ids is None else ids
    keys = sort_keys(values, names)
    keys.sort()
    return _ids_of(keys)


def top(logits: NDArray[np.floating], k: int) -> Ids:
    """The ``min(k, V)`` likeliest ids, likeliest first, ties by lower id; int64.

    Equal to ``order(logits)[:k]``. Raises ValueError for k < 0 and for what ``checked_row``
    refuses.
    """
    if k < 0:
        raise ValueError(f"The number of tokens must not be negative, but is {k}.")
    return top_among(checked_row(logits), k)


def top_among(row: Row, k: int) -> Ids:
    """``top`` without the checks; positions within ``row``."""
    size = len(row)
    if k == 0:
        return np.empty(0, dtype=np.int64)
    if k * 4 > size:
        return order_among(row, None)[:k]
    if k * 4 > size // BLOCK:
        least = np.partition(row, size - k)[size - k]
        found = np.flatnonzero(row >= least)
    else:
        found = _reachable(row, k)
    return order_among(row[found], found)[:k]


def _reachable(row: Row, k: int) -> Ids:
    """Positions that can belong to the top k: few, ascending, and all of the top k among them.

    At least k entries reach the k-th largest block maximum, so the top k lie among the entries
    that do, and those only in blocks whose maximum does.
    """
    whole = len(row) // BLOCK
    blocks = row[: whole * BLOCK].reshape(whole, BLOCK)
    maxima = blocks.max(axis=1)
    least = np.partition(maxima, whole - k)[whole - k]
    hot = np.flatnonzero(maxima >= least)
    block, column = np.nonzero(blocks[hot] >= least)
    rest = whole * BLOCK + np.flatnonzero(row[whole * BLOCK :] >= least)
    return np.concatenate([hot[block] * BLOCK + column, rest])


def top_of_rows(block: NDArray[np.float32], k: int) -> Ids:
    """``top_among`` for each row of a block, shape (n, V), V >= k >= 1; int64, (n, k).

    Rows that are long enough are searched one by one, shorter ones together: 256 rows of 1,008
    take 0.19 ms instead of 0.32 by a partition of all entries.
    """
    lines, size = block.shape
    if size >= LONG_ROW:
        return np.stack([top_among(row, k) for row in block])
    places = np.flatnonzero(block >= _reached_by(block, k)[:, None])
    line, column = np.divmod(places, size)
    column_bits = np.uint64(size.bit_length())
    keys = line.astype(np.uint64) << (np.uint64(32) + column_bits)
    keys |= _falling_bits(block.reshape(-1)[places]).astype(np.uint64) << column_bits
    keys |= column.astype(np.uint64)
    keys.sort()
    first = np.searchsorted(places, np.arange(lines) * size)
    best = keys[first[:, None] + np.arange(k)] & ((np.uint64(1) << column_bits) - np.uint64(1))
    columns: Ids = best.astype(np.int64)
    return columns


def _reached_by(block: NDArray[np.float32], k: int) -> Row:
    """For each row a value that at least k of its entries reach, and few more.

    It is the k-th largest of maxima over entries that are far apart: each stands for an entry.
    """
    maxima = block
    while (half := maxima.shape[1] // 2) >= MOST_SHARED * k:
        rest = maxima[:, 2 * half :]
        maxima = np.maximum(maxima[:, :half], maxima[:, half : 2 * half])
        if rest.size:
            maxima[:, -1:] = np.maximum(maxima[:, -1:], rest)
    place = maxima.shape[1] - k
    return np.partition(maxima, place, axis=1)[:, place]


def rank_of(logits: NDArray[np.floating], token_id: int) -> int:
    """Place of an id in ``order(logits)``; 1 = likeliest. Raises IndexError outside the row."""
    row = checked_row(logits)
    refuse_id(token_id, len(row))
    return rank_within(row, token_id)


def refuse_id(token_id: int, size: int) -> None:
    """Raise IndexError unless the id is one of ``range(size)``."""
    if not 0 <= token_id < size:
        raise IndexError(f"Id {token_id} is outside the vocabulary of {size} tokens.")


def rank_within(row: Row, token_id: int) -> int:
    """``rank_of`` without the checks."""
    value = row[token_id]
    before = np.count_nonzero(row[:token_id] >= value)
    behind = np.count_nonzero(row[token_id + 1 :] > value)
    return int(before + behind) + 1
