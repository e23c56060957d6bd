"""How far two distributions over the same vocabulary are apart; log-probabilities in, nats out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


def _checked(log_p: Vector, log_q: Vector) -> tuple[Vector, Vector]:
    p, q = np.asarray(log_p, dtype=np.float64), np.asarray(log_q, dtype=np.float64)
    if p.shape != q.shape or p.ndim != 1:
        raise ValueError(
            f"Two distributions of one vocabulary are needed, not shapes {p.shape} and {q.shape}."
        )
    return p, q


def _mean_log_ratio(log_p: Vector, log_q: Vector) -> float:
    possible = log_p > -np.inf
    own = log_p[possible]
    return float(np.dot(np.exp(own), own - log_q[possible]))


def kl(log_p: Vector, log_q: Vector) -> float:
    """Kullback-Leibler divergence KL(p || q) >= 0; inf where q excludes what p does not."""
    return max(_mean_log_ratio(*_checked(log_p, log_q)), 0.0)


def jensen_shannon(log_p: Vector, log_q: Vector) -> float:
    """Jensen-Shannon divergence: mean KL to the average of both; between 0 and ln 2."""
    p, q = _checked(log_p, log_q)
    middle = np.logaddexp(p, q) - np.log(2.0)
    return max((_mean_log_ratio(p, middle) + _mean_log_ratio(q, middle)) / 2.0, 0.0)


def biggest_movers(log_p: Vector, log_q: Vector, count: int) -> NDArray[np.int64]:
    """Ids whose probability differs most, largest |q - p| first, ties by lower id; int64."""
    p, q = _checked(log_p, log_q)
    change = np.abs(np.exp(q) - np.exp(p))
    count = min(count, len(change))
    if count <= 0:
        return np.empty(0, dtype=np.int64)
    least = np.partition(change, len(change) - count)[len(change) - count]
    found = np.flatnonzero(change >= least)
    return found[np.lexsort((found, -change[found]))[:count]]
