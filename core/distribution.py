"""From one row of logits to probabilities, ranks and entropy, over the whole vocabulary.

Rows are float32, shape (V,); -inf is a token of probability exactly 0 that adds nothing to the
entropy. NaN, +inf, an empty row and a row of nothing but -inf raise ValueError. Probabilities are
float64, logarithms natural (nats).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from logitscope.comparison import biggest_movers, jensen_shannon, kl
from logitscope.exponentials import exponents, masked_sum, weighted_surprise, weights_of
from logitscope.ranking import (
    Ids,
    Row,
    checked_row,
    order,
    order_among,
    rank_of,
    rank_within,
    refuse_id,
    top,
    top_among,
)
from logitscope.surprisal import RawNumbers, summarise

__all__ = [
    "Distribution",
    "Head",
    "RawNumbers",
    "Softmax",
    "biggest_movers",
    "effective_choices",
    "entropy",
    "jensen_shannon",
    "kl",
    "log_softmax",
    "log_sum_exp",
    "order",
    "rank_of",
    "smallest_set",
    "softmax",
    "summarise",
    "top",
]

Vector = NDArray[np.float64]


def log_sum_exp(logits: NDArray[np.floating]) -> float:
    """ln(sum(exp(logits))), without overflow."""
    return Distribution.of(logits).log_z


def log_softmax(logits: NDArray[np.floating]) -> Vector:
    """Log-probability of every id, float64, shape (V,); -inf where the logit is."""
    return Distribution.of(logits).log_probabilities


def softmax(logits: NDArray[np.floating]) -> Vector:
    """Probability of every id, float64, shape (V,)."""
    return Distribution.of(logits).probabilities


def entropy(logits: NDArray[np.floating]) -> float:
    """Entropy in nats."""
    return Distribution.of(logits).entropy


def effective_choices(entropy_nats: float) -> float:
    """exp(H): how many equally likely tokens would be as uncertain."""
    return math.exp(entropy_nats)


def smallest_set(probabilities_descending: NDArray[np.floating], mass: float) -> int:
    """How many of the likeliest tokens are needed to hold at least ``mass``.

    All of them if rounding, or the mass asked for, keeps the sum below. Raises ValueError for a
    mass outside [0, 1].
    """
    if not 0.0 <= mass <= 1.0:
        raise ValueError(f"The mass must be between 0 and 1, but is {mass}.")
    cumulative = np.cumsum(probabilities_descending, dtype=np.float64)
    return min(int(np.searchsorted(cumulative, mass)) + 1, len(cumulative))


@dataclass(frozen=True, slots=True, eq=False)
class Head:
    """The likeliest tokens and everything else: ``probabilities.sum() + tail_mass`` is 1."""

    ids: Ids
    probabilities: Vector
    tail_count: int
    tail_mass: float


@dataclass(frozen=True, slots=True)
class Softmax:
    """The three moves of softmax for one token: exponentiate, sum, divide.

    All logits are first lowered by the largest one, which changes no probability and keeps the
    exponentials from overflowing.
    """

    logit: float
    largest: float
    exponential: float
    """exp(logit - largest)."""
    total: float
    """Sum of the exponentials of the whole vocabulary."""
    probability: float


@dataclass(frozen=True, eq=False)
class Distribution:
    """Softmax over one row of raw logits; what is derived is computed when first asked for.

    Build it with ``Distribution.of``, which checks the row. The row is not copied: it must not
    change afterwards.
    """

    logits: Row

    @classmethod
    def of(cls, logits: NDArray[np.floating]) -> Distribution:
        """Check a row and wrap it. Raises ValueError (see ``ranking.checked_row``)."""
        return cls(checked_row(logits))

    def __len__(self) -> int:
        return len(self.logits)

    @cached_property
    def likeliest(self) -> int:
        """The id of rank 1."""
        return int(self.logits.argmax())

    @cached_property
    def peak(self) -> float:
        """The largest logit."""
        return float(self.logits[self.likeliest])

    @cached_property
    def weights(self) -> Vector:
        """exp(logits - peak): 1 for the likeliest; float64, shape (V,)."""
        return weights_of(self.logits, self.peak)

    @cached_property
    def _rest(self) -> float:
        """Sum of all weights but that of the likeliest, whose weight is exactly 1.

        Kept apart so that log1p() can tell a probability of 1 - 1e-20 from 1.
        """
        weights, peak = self.weights, self.likeliest
        return float(weights[:peak].sum() + weights[peak + 1 :].sum())

    @cached_property
    def log_z(self) -> float:
        """ln of the sum of exp(logits)."""
        return self.peak + math.log1p(self._rest)

    @cached_property
    def log_probabilities(self) -> Vector:
        """Natural logarithm of every id's probability; float64, shape (V,)."""
        log_probabilities = np.subtract(self.logits, np.float64(self.peak))
        log_probabilities -= math.log1p(self._rest)
        return log_probabilities

    @cached_property
    def probabilities(self) -> Vector:
        """Probability of every id; float64, shape (V,)."""
        return self.weights / (1.0 + self._rest)

    @cached_property
    def entropy(self) -> float:
        """Entropy in nats."""
        surprise = weighted_surprise(self.weights, self.logits, self.peak)
        return math.log1p(self._rest) + surprise / (1.0 + self._rest)

    @cached_property
    def order(self) -> Ids:
        """All ids, likeliest first, ties by lower id; int64, shape (V,)."""
        return order_among(self.logits, None)

    @cached_property
    def ranks(self) -> NDArray[np.int32]:
        """Rank of every id, 1 = likeliest; int32, shape (V,)."""
        ranks = np.empty(len(self), dtype=np.int32)
        ranks[self.order] = np.arange(1, len(self) + 1, dtype=np.int32)
        return ranks

    @cached_property
    def cumulative(self) -> Vector:
        """Mass of the r + 1 likeliest tokens, along ``order``; float64, shape (V,)."""
        return np.cumsum(self.probabilities[self.order])

    def probability(self, token_id: int) -> float:
        """Probability of one id. Raises IndexError outside the vocabulary."""
        refuse_id(token_id, len(self))
        return float(self.weights[token_id]) / (1.0 + self._rest)

    def log_probability(self, ids: Sequence[int] | Ids) -> Vector:
        """Log-probabilities of some ids, in nats; float64, as many as ids."""
        return self._lead(ids) - math.log1p(self._rest)

    def _lead(self, ids: Sequence[int] | Ids) -> Vector:
        """logits - peak of some ids: at most 0."""
        return exponents(self.logits[np.asarray(ids, dtype=np.int64)], self.peak, 1.0)

    def rank(self, token_id: int) -> int:
        """Rank of one id; 1 = likeliest. Raises IndexError outside the vocabulary."""
        refuse_id(token_id, len(self))
        return rank_within(self.logits, token_id)

    def top(self, k: int) -> Ids:
        """The ``min(k, V)`` likeliest ids, likeliest first."""
        if "order" in self.__dict__:
            return self.order[:k]
        return top_among(self.logits, min(k, len(self)))

    def head(self, k: int) -> Head:
        """The ``min(k, V)`` likeliest with their probabilities, and the rest in one sum."""
        ids = self.top(k)
        probabilities, tail_mass = self.split(ids)
        return Head(ids, probabilities, tail_count=len(self) - len(ids), tail_mass=tail_mass)

    def tail_mass(self, k: int) -> float:
        """Probability of everything but the k likeliest, added up directly."""
        return self.split(self.top(k))[1]

    def split(self, ids: Ids) -> tuple[Vector, float]:
        """Probabilities of ``ids``, and of all others together; the latter are added up directly,
        since one minus a head would lose a tail below 1e-16.
        """
        others = np.ones(len(self), dtype=np.bool_)
        others[ids] = False
        return self.probabilities_of(ids), self.mass_where(others)

    def probabilities_of(self, ids: Ids) -> Vector:
        """``probabilities[ids]``, without those of the whole vocabulary, which take a millisecond
        and 2 MB at 262,144 entries."""
        return self.weights[ids] / (1.0 + self._rest)

    def mass_where(self, mask: NDArray[np.bool_]) -> float:
        """Probability of what a mask, shape (V,), picks together."""
        return masked_sum(self.weights, mask) / (1.0 + self._rest)

    def mass(self, ids: Sequence[int] | Ids) -> float:
        """Probability of a set of distinct ids together."""
        return float(self.weights[np.asarray(ids, dtype=np.int64)].sum()) / (1.0 + self._rest)

    def odds_to_top(self, ids: Sequence[int] | Ids) -> Vector:
        """How many times likelier the likeliest token is: exp(its lead); >= 1, float64."""
        with np.errstate(over="ignore"):
            return np.exp(-self._lead(ids))

    def softmax_of(self, token_id: int) -> Softmax:
        """The three moves of softmax with this token's numbers."""
        refuse_id(token_id, len(self))
        return Softmax(
            logit=float(self.logits[token_id]),
            largest=self.peak,
            exponential=float(self.weights[token_id]),
            total=1.0 + self._rest,
            probability=self.probability(token_id),
        )
