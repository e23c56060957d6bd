"""Comparing the distribution on show with one kept earlier."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from logitscope.comparison import biggest_movers, jensen_shannon, kl
from logitscope.distribution import Distribution
from logitscope.ranking import Ids
from logitscope.sampling import Shaped

Vector = NDArray[np.float64]


def shaped_log_probabilities(shaped: Shaped) -> Vector:
    """Natural logarithm of what each id is drawn with; -inf where it was removed; (V,)."""
    with np.errstate(divide="ignore"):
        return np.log(shaped.by_id)


def log_probabilities(distribution: Distribution, shaped: Shaped, *, is_shaped: bool) -> Vector:
    """Of one of the two distributions of a step; float64, shape (V,)."""
    return shaped_log_probabilities(shaped) if is_shaped else distribution.log_probabilities


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """From ``p``, kept earlier, to ``q``, on show now; divergences in nats."""

    kl_forward: float
    """KL(p || q): the price of taking q for p."""
    kl_backward: float
    """KL(q || p)."""
    jensen_shannon: float
    movers: Ids
    """Ids whose probability differs most, largest difference first; none that stayed."""
    before: Vector
    """Probabilities of ``movers`` in p."""
    after: Vector
    """Probabilities of ``movers`` in q."""


def compare(log_p: Vector, log_q: Vector, count: int) -> Comparison:
    """Compare two distributions over one vocabulary; ValueError where the sizes differ."""
    found = biggest_movers(log_p, log_q, count)
    movers = found[log_p[found] != log_q[found]]
    return Comparison(
        kl_forward=kl(log_p, log_q),
        kl_backward=kl(log_q, log_p),
        jensen_shannon=jensen_shannon(log_p, log_q),
        movers=movers,
        before=np.exp(log_p[movers]),
        after=np.exp(log_q[movers]),
    )
