"""A long series as a curve on a few hundred pixels: extremes and averages of columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


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


def rolling_mean(series: Vector, width: int) -> Vector:
    """Mean of the known values among the ``width`` around each position; NaN where none is.

    (n,) to (n,); the window is cut at both ends. Infinite values count as unknown.
    """
    known = np.isfinite(series)
    sums = np.concatenate(([0.0], np.cumsum(np.where(known, series, 0.0))))
    counts = np.concatenate(([0], np.cumsum(known)))
    middle = np.arange(len(series))
    begin = np.maximum(middle - width // 2, 0)
    end = np.minimum(begin + width, len(series))
    held = counts[end] - counts[begin]
    with np.errstate(invalid="ignore"):
        return np.where(held > 0, (sums[end] - sums[begin]) / np.maximum(held, 1), np.nan)
