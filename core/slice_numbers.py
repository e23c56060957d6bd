"""Numbers of tokens from slices of the vocabulary, so that whole rows of logits need never exist.

A head of 262,144 entries writes 1 MB a token, and everything that is then done with the row waits
for memory. Here a slice of some thousand entries is used up while it lies in the cache. The numbers
are those of ``surprisal.token_numbers``; what it says of precision holds here, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from logitscope.surprisal import TOP, TokenNumbers

Matrix = NDArray[np.float32]
Vector = NDArray[np.float32]

BLOCK = 64
"""Entries whose maximum is looked at in place of them, in the search for the likeliest."""

_ADDED = 128
"""Entries added up in one float32, or counted in one byte; slices are filled up to a multiple."""

_ONES = np.ones((1, _ADDED), dtype=np.float32)

_PADDING = np.float32(-3e38)
"""Fills up a slice: below any logit, and finite, since 0 * -inf is NaN."""

_LOWEST = np.float32(-200.0)
"""exp() of anything below -104 is 0 in float32; clipping here turns -inf * 0 into 0."""


MOST_KEPT = 1 << 20
"""Single entries, of 20 bytes each, that a reader keeps: some hundred a row in real models."""


class TooManyTies(ArithmeticError):
    """So many entries are equal, or nearly so, that whole rows have to be looked at."""


Exponential = Callable[[Matrix, Matrix], object]


def _numpy_exp(values: Matrix, result: Matrix) -> None:
    np.exp(values, out=result)


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """The tokens that stand there, and where their logits are known to lie."""

    ids: NDArray[np.int64]
    """(n,)."""
    least: Vector
    """(n,): no target's logit is lower, in whatever order its products are summed."""
    most: Vector
    """(n,): none is higher."""


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """Single entries of n rows; each (m,)."""

    row: NDArray[np.int64]
    token_id: NDArray[np.int64]
    logit: Vector


@dataclass(frozen=True, slots=True, eq=False)
class _Slice:
    """What is kept of one slice; (n,) each."""

    first: int
    peak: NDArray[np.float32]
    rest: NDArray[np.float64]
    """Sum of exp(x), x = logit - peak, but for the peak's own 1."""
    surprise: NDArray[np.float64]
    """Sum of -x * exp(x)."""
    above: NDArray[np.int64]
    """Entries above ``Targets.most``."""


class SliceReader:
    """Reads slices of n rows one after the other; several readers may share the slices of a
    vocabulary, each in a thread of its own (NumPy gives the interpreter lock up)."""

    def __init__(
        self, targets: Targets, top: int = TOP, exponential: Exponential = _numpy_exp
    ) -> None:
        """``exponential(values, result)`` puts exp(values) into ``result``, to 1e-7."""
        self.targets = targets
        self._exponential = exponential
        self.top = top
        self.slices: list[_Slice] = []
        self.near: list[_Found] = []
        """Entries that may be a row's target, tie with it, or lie on either side of it."""
        self.leading: list[_Found] = []
        """Entries that may be among a row's likeliest."""
        self.maxima = np.full((top, len(targets.ids)), -np.inf, dtype=np.float32)
        """The greatest maxima of blocks until now."""
        self._kept = 0
        self._buffer = np.empty((0, len(targets.ids)), dtype=np.float32)

    def read(self, first: int, logits: Matrix) -> None:
        """Take what is needed of ``logits``, float32 (size, n): ids ``first <= i < first + size``.

        ``logits`` is used up: it holds something else behind the call. Temporaries take about
        twice as much. Raises TooManyTies.
        """
        whole = _padded(logits)
        blocks = whole.reshape(-1, BLOCK, whole.shape[1])
        maxima = blocks.max(axis=1)
        peak = maxima.max(axis=0)
        # NaN and infinity are looked for once, in the peaks, when all is put together.
        with np.errstate(all="ignore"):
            may_lead = np.flatnonzero(peak >= self.maxima.max(axis=0))
            first_peak = _places(blocks, maxima[:, may_lead].argmax(axis=0), may_lead)
            above = whole > self.targets.most
            self._keep_near(first, whole, (whole >= self.targets.least) ^ above)
            self._keep_leading(first, blocks, maxima)
            rest, surprise = self._sums(whole, peak, (first_peak, may_lead))
        self.slices.append(_Slice(first, peak, rest, surprise, _counts(above)))

    def _sums(
        self, whole: Matrix, peak: Vector, leading: tuple[NDArray[np.int64], NDArray[np.int64]]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Sums of exp(x), but for the peak's 1, and of -x * exp(x); x = entry - peak.

        ``leading``: places and rows of peaks that may be those of whole rows. They are left out
        beforehand, so that what is left of the sum keeps its precision, however small; elsewhere 1
        is taken off.
        """
        own = np.ones(len(peak))
        own[leading[1]] = 0.0
        weights = self._lent(len(whole))
        # A slice that is -inf throughout must not give -inf - -inf.
        shifted = np.subtract(whole, np.maximum(peak, _PADDING), out=whole)
        for _ in range(2):
            self._exponential(shifted, weights)
            weights[leading] = 0.0
            rest = _column_sums(weights) - own
            np.multiply(weights, shifted, out=weights)
            surprise = -_column_sums(weights)
            if not np.isnan(surprise).any():
                break
            # An entry of -inf has made 0 * -inf.
            np.maximum(shifted, _LOWEST, out=shifted)
        return rest, surprise

    def _lent(self, size: int) -> Matrix:
        """A matrix like a slice, filled with anything."""
        if len(self._buffer) < size:
            self._buffer = np.empty((size, self._buffer.shape[1]), dtype=np.float32)
        return self._buffer[:size]

    def _keep_near(self, first: int, whole: Matrix, is_near: NDArray[np.bool_]) -> None:
        found = np.flatnonzero(is_near)
        self._count(len(found))
        place, row = np.divmod(found, whole.shape[1])
        self.near.append(_Found(row, first + place, whole.reshape(-1)[found]))

    def _keep_leading(self, first: int, blocks: Matrix, maxima: Matrix) -> None:
        """The top entries lie in the blocks with the top maxima, and reach the last of those."""
        rows = np.flatnonzero(maxima.max(axis=0) >= self.maxima.min(axis=0))
        maxima = maxima[:, rows]
        known = np.concatenate([self.maxima[:, rows], maxima])
        best = np.partition(known, len(known) - self.top, axis=0)[-self.top :]
        self.maxima[:, rows] = best
        least = best.min(axis=0)
        block, column = np.nonzero(maxima >= least)
        entries = blocks[block, :, rows[column]]
        hot, place = np.nonzero(entries >= least[column, None])
        self._count(len(place))
        ids = first + block[hot] * BLOCK + place
        self.leading.append(_Found(rows[column[hot]], ids, entries[hot, place]))

    def _count(self, entries: int) -> None:
        self._kept += entries
        if self._kept > MOST_KEPT:
            raise TooManyTies


def combined(readers: Sequence[SliceReader]) -> TokenNumbers:
    """The numbers of the rows whose slices, all of them, the readers have read.

    Rows from the first one on that has no distribution (NaN, +inf, all -inf) are left out. Raises
    ValueError for fewer entries than are to be named, ArithmeticError for a target outside of its
    bounds.
    """
    targets, top = readers[0].targets, readers[0].top
    slices = sorted((each for r in readers for each in r.slices), key=lambda each: each.first)
    peaks = np.stack([each.peak for each in slices])
    is_sound = np.isfinite(peaks.max(axis=0))
    count = len(is_sound) if is_sound.all() else int(is_sound.argmin())
    peak, rest, surprise = _joined(slices, peaks[:, :count], count)
    log_total = np.log1p(rest)
    near = _gathered([each for r in readers for each in r.near], np.full(count, -np.inf))
    above = np.sum([each.above for each in slices], axis=0)
    own, rank = _placed(targets.ids[:count], near, above[:count])
    least = np.partition(np.concatenate([r.maxima for r in readers]), -top, axis=0)[-top, :count]
    ids, logits = _likeliest(_gathered([each for r in readers for each in r.leading], least), top)
    return TokenNumbers(
        log_probability=own.astype(np.float64) - peak - log_total,
        rank=rank.astype(np.int32),
        entropy=log_total + surprise / (1.0 + rest),
        logit=own,
        top_ids=ids.astype(np.int32),
        top_log_probability=(logits - peak[:, None] - log_total[:, None]).astype(np.float32),
    )


def _padded(logits: Matrix) -> Matrix:
    lacking = -len(logits) % _ADDED
    if not lacking:
        return logits
    return np.pad(logits, ((0, lacking), (0, 0)), constant_values=_PADDING)


def _places(blocks: Matrix, block: NDArray[np.int64], row: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where in the slice the greatest entry of a row's block stands, the first of equals."""
    places: NDArray[np.int64] = block * BLOCK + blocks[block, :, row].argmax(axis=1)
    return places


def _column_sums(matrix: Matrix) -> NDArray[np.float64]:
    parts = matrix.reshape(-1, _ADDED, matrix.shape[1])
    sums: NDArray[np.float64] = np.matmul(_ONES, parts).sum(axis=(0, 1), dtype=np.float64)
    return sums


def _counts(is_counted: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many are true in each column."""
    parts = is_counted.view(np.uint8).reshape(-1, _ADDED, is_counted.shape[1])
    counts: NDArray[np.int64] = parts.sum(axis=1, dtype=np.uint8).sum(axis=0, dtype=np.int64)
    return counts


def _joined(
    slices: Sequence[_Slice], peaks: Matrix, count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Peak, rest and surprise of whole rows, (n,) each."""
    rests = np.stack([each.rest[:count] for each in slices])
    surprises = np.stack([each.surprise[:count] for each in slices])
    peak = peaks.max(axis=0).astype(np.float64)
    lead = np.maximum(peaks - peak, np.float64(_LOWEST))
    weight = np.exp(lead)
    surprise = (weight * (surprises - lead * (1.0 + rests))).sum(axis=0)
    # The slice with the peak gives its rest alone, all others their whole sum.
    parts = weight * (1.0 + rests)
    best, column = peaks.argmax(axis=0), np.arange(count)
    parts[best, column] = rests[best, column]
    return peak, parts.sum(axis=0), surprise


def _gathered(found: Sequence[_Found], least: NDArray[np.floating]) -> _Found:
    """All entries of the first rows that reach ``least``, (n,): by row, then likeliest first, ties
    by lower id."""
    row, token_id, logit = (
        np.concatenate([getattr(each, name) for each in found])
        for name in ("row", "token_id", "logit")
    )
    kept = np.flatnonzero(row < len(least))
    kept = kept[logit[kept] >= least[row[kept]]]
    order = kept[np.lexsort((token_id[kept], -logit[kept], row[kept]))]
    return _Found(row[order], token_id[order], logit[order])


def _placed(
    ids: NDArray[np.int64], near: _Found, above: NDArray[np.int64]
) -> tuple[Vector, NDArray[np.int64]]:
    """Logit and rank of the targets: those above are counted, those near lie in order."""
    place = np.flatnonzero(near.token_id == ids[near.row])
    if not np.array_equal(near.row[place], np.arange(len(ids))):
        raise ArithmeticError("The logit of a token lies outside of the bounds that were given.")
    first = np.searchsorted(near.row, np.arange(len(ids)))
    return near.logit[place], above + (place - first) + 1


def _likeliest(leading: _Found, top: int) -> tuple[NDArray[np.int64], Matrix]:
    """Ids and logits of the top of each row, (n, top)."""
    rows = int(leading.row[-1]) + 1 if len(leading.row) else 0
    places = np.searchsorted(leading.row, np.arange(rows))[:, None] + np.arange(top)
    return leading.token_id[places], leading.logit[places]
