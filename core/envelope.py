"""A long series as a curve on a few hundred pixels: extremes and averages of columns."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

BLOCK = 256
"""Values summed up in one block; a view of more than this a column reads blocks only."""
OVERLAP = 16
"""Columns a rolling mean reaches over at least: neighbours that shared less would be jagged."""


@dataclass(frozen=True, slots=True, eq=False)
class Envelope:
    """Columns of a series; NaN where a column holds no known value."""

    x: Vector
    """(c,), the middle of each column, in positions."""
    low: Vector
    high: Vector
    mean: Vector
    """Of the finite values."""


def envelope(series: Vector, start: int, stop: int, columns: int) -> Envelope:
    """Least, largest and mean value of at most ``columns`` columns of ``series[start:stop]``.

    NaN is left out. Where a column holds one value, both are that value.
    """
    part = series[start:stop]
    count = min(max(columns, 1), len(part))
    if count == 0:
        nothing = np.zeros(0)
        return Envelope(nothing, nothing, nothing, nothing)
    edges = np.arange(count + 1, dtype=np.int64) * len(part) // count
    begins = edges[:-1]
    # fmin and fmax pass over NaN.
    low, high = np.fmin.reduceat(part, begins), np.fmax.reduceat(part, begins)
    known = np.isfinite(part)
    held = np.add.reduceat(known, begins, dtype=np.int64)
    sums = np.add.reduceat(np.where(known, part, 0.0), begins)
    mean = np.where(held > 0, sums / np.maximum(held, 1), np.nan)
    return Envelope(start + (begins + edges[1:] - 1) / 2.0, low, high, mean)


def rolling_mean(series: Vector, width: int, at: NDArray[np.int64] | None = None) -> Vector:
    """Mean of the known values among the ``width`` around each position; NaN where none is.

    (n,) to (n,), or to (k,) for the k positions ``at``; the window is cut at both ends. Infinite
    values count as unknown.
    """
    known = np.isfinite(series)
    sums = np.concatenate(([0.0], np.cumsum(np.where(known, series, 0.0))))
    counts = np.concatenate(([0], np.cumsum(known)))
    middle = np.arange(len(series)) if at is None else at
    begin = np.maximum(middle - width // 2, 0)
    end = np.minimum(begin + width, len(series))
    held = counts[end] - counts[begin]
    with np.errstate(invalid="ignore"):
        return np.where(held > 0, (sums[end] - sums[begin]) / np.maximum(held, 1), np.nan)


class BlockedSeries:
    """A series that grows and changes in places, of which any stretch is drawn fast.

    Holds a reference to the values and 32 bytes a block.
    """

    def __init__(self, sign: float = 1.0) -> None:
        """``sign``: what the values are multiplied by when they are read."""
        self._sign = sign
        self._values: Vector = np.zeros(0)
        self._blocks = Envelope(*(np.zeros(0) for _ in range(4)))

    def __len__(self) -> int:
        return len(self._values)

    def update(self, values: Vector, start: int, stop: int) -> None:
        """Take these values, of which only ``start <= p < stop`` and the length are new."""
        count = -(-len(values) // BLOCK)
        if count != len(self._blocks.x):
            self._blocks = _resized(self._blocks, count)
        self._values = values
        first, last = start // BLOCK, min(-(-stop // BLOCK), count)
        if first >= last:
            return
        begin, end = first * BLOCK, min(last * BLOCK, len(values))
        # Whole blocks lie in front; the last of the text may be shorter.
        whole = envelope(self._read(begin, end // BLOCK * BLOCK), 0, end, (end - begin) // BLOCK)
        parts = [whole] if len(whole.x) else []
        if end % BLOCK:
            parts.append(envelope(self._read(end // BLOCK * BLOCK, end), 0, end, 1))
        for name in ("low", "high", "mean"):
            made = np.concatenate([getattr(part, name) for part in parts])
            getattr(self._blocks, name)[first:last] = made

    def envelope(self, start: int, stop: int, columns: int) -> Envelope:
        """As ``envelope``; of wide stretches the columns are whole blocks, so that they reach up
        to a block beyond, and a mean weighs blocks alike."""
        if stop - start < columns * BLOCK:
            made = envelope(self._read(start, stop), 0, stop - start, columns)
            return Envelope(made.x + start, made.low, made.high, made.mean)
        first, last = start // BLOCK, -(-stop // BLOCK)
        low = envelope(self._blocks.low, first, last, columns)
        high = envelope(self._blocks.high, first, last, columns)
        mean = envelope(self._blocks.mean, first, last, columns)
        x = (low.x + 0.5) * BLOCK - 0.5
        return Envelope(np.minimum(x, len(self) - 1), low.low, high.high, mean.mean)

    def rolling_mean(self, columns: Envelope, width: int) -> Vector:
        """At the middles of these columns of ``envelope``: over ``width`` positions, or over
        ``OVERLAP`` columns where that is more. NaN where the column itself holds no known value.
        """
        middles = columns.x
        if len(middles) == 0:
            return np.zeros(0)
        step = float(middles[-1] - middles[0]) / max(len(middles) - 1, 1)
        size = BLOCK if step >= BLOCK else 1
        reach = math.ceil(max(width, OVERLAP * step) / size)
        at = middles.astype(np.int64) // size
        begin, end = max(0, int(at[0]) - reach), int(at[-1]) + reach
        near = self._read(begin, end) if size == 1 else self._blocks.mean[begin:end]
        mean = rolling_mean(near, reach, at - begin)
        # Where nothing is known there is no mean, though a neighbour may be known.
        return np.where(np.isnan(columns.mean), np.nan, mean)

    def _read(self, start: int, stop: int) -> Vector:
        return self._sign * self._values[start:stop]


def _resized(blocks: Envelope, count: int) -> Envelope:
    kept = min(count, len(blocks.x))
    made = Envelope(*(np.full(count, np.nan) for _ in range(4)))
    for name in ("low", "high", "mean"):
        getattr(made, name)[:kept] = getattr(blocks, name)[:kept]
    return made
