"""Comparing the distribution on show with one kept earlier, fast enough to follow a slider.

The divergences are those of ``logitscope.comparison``; here the probabilities are at hand next to
their logarithms, and the arrays are read in pieces that stay in the cache.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from logitscope.distribution import Distribution
from logitscope.exponentials import pieces
from logitscope.ranking import BLOCK, Ids
from logitscope.sampling import Shaped

Vector = NDArray[np.float64]

_LOWEST = -1e300
"""Stands for ln 0 in products with a probability of 0: -inf * 0 would be NaN."""


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One of the two distributions; float64, shape (V,)."""

    probabilities: Vector
    logarithms: Vector
    """Natural; -inf where a token is impossible, or was removed."""

    @classmethod
    def raw(cls, distribution: Distribution) -> Side:
        """Before the sampler chain."""
        return cls(distribution.probabilities, distribution.log_probabilities)

    @classmethod
    def shaped(cls, shaped: Shaped) -> Side:
        """Behind the sampler chain."""
        with np.errstate(divide="ignore"):
            return cls(shaped.by_id, np.log(shaped.by_id))


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """From ``p``, kept earlier, to ``q``, on show now; divergences in nats."""

    kl_forward: float
    """KL(p || q): the price of taking q for p; inf where q excludes what p does not."""
    kl_backward: float
    """KL(q || p)."""
    jensen_shannon: float
    """Mean of both divergences to the average; between 0 and ln 2."""
    movers: Ids
    """Ids whose probability differs most, largest difference first; none that stayed."""
    before: Vector
    """Probabilities of ``movers`` in p."""
    after: Vector
    """Probabilities of ``movers`` in q."""


def compare(p: Side, q: Side, count: int) -> Comparison:
    """Compare two distributions over one vocabulary; ValueError where the sizes differ."""
    if p.probabilities.shape != q.probabilities.shape:
        raise ValueError(
            "Two distributions of one vocabulary are needed, not "
            f"{len(p.probabilities)} and {len(q.probabilities)} tokens."
        )
    forward, backward, shared = _divergences(p, q)
    movers = _biggest(np.abs(q.probabilities - p.probabilities), count)
    return Comparison(
        kl_forward=forward,
        kl_backward=backward,
        jensen_shannon=shared,
        movers=movers,
        before=p.probabilities[movers],
        after=q.probabilities[movers],
    )


def _divergences(p: Side, q: Side) -> tuple[float, float, float]:
    """KL(p || q), KL(q || p) and Jensen-Shannon in one pass."""
    sums = np.zeros(3)
    for part in pieces(len(p.probabilities)):
        one, other = p.probabilities[part], q.probabilities[part]
        log_one = np.maximum(p.logarithms[part], _LOWEST)
        log_other = np.maximum(q.logarithms[part], _LOWEST)
        middle = np.maximum(np.log(np.maximum((one + other) / 2.0, 1e-320)), _LOWEST)
        sums[0] += np.dot(one, log_one - log_other)
        sums[1] += np.dot(other, log_other - log_one)
        sums[2] += (np.dot(one, log_one - middle) + np.dot(other, log_other - middle)) / 2.0
    forward = math.inf if _excludes(q, p) else max(0.0, float(sums[0]))
    backward = math.inf if _excludes(p, q) else max(0.0, float(sums[1]))
    return forward, backward, max(0.0, float(sums[2]))


def _excludes(one: Side, other: Side) -> bool:
    """Whether a token is impossible in the one and possible in the other."""
    return bool(np.any((one.logarithms == -np.inf) & (other.logarithms > -np.inf)))


def _biggest(change: Vector, count: int) -> Ids:
    """Ids of the largest changes above 0, largest first, ties by lower id.

    At least ``count`` entries reach the count-th largest block maximum: only those are sorted.
    """
    whole = len(change) // BLOCK
    least = 0.0
    if count < whole:
        maxima = change[: whole * BLOCK].reshape(whole, BLOCK).max(axis=1)
        least = float(np.partition(maxima, whole - count)[whole - count])
    found = np.flatnonzero((change >= least) & (change > 0.0))
    return found[np.lexsort((found, -change[found]))[:count]]
