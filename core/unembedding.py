"""A logit as what it is: the dot product of a hidden state with one row of a table."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Unembedding:
    """Where the logit of one token comes from.

    ``logit = cap(scale · (dot + bias))``, where ``cap(x) = c · tanh(x / c)`` for a soft cap ``c``
    (Gemma 2, arXiv:2408.00118, section 2) and ``cap(x) = x`` without one.
    """

    token_id: int
    width: int
    """Length of both vectors."""
    hidden_norm: float
    """Euclidean norm of the final hidden state, after the final normalization."""
    row_norm: float
    """Euclidean norm of the token's row of the unembedding table."""
    dot: float
    bias: float | None
    """The head's own addend for this token; None where the head has none."""
    scale: float
    """What all logits are multiplied by behind the head: 1 in most families."""
    soft_cap: float | None
    tied: bool
    """The table is the embedding table itself."""
    model_logit: float
    """The token's logit in the row that the model gave."""

    @property
    def cosine(self) -> float:
        """Of the angle between the two vectors; 0 where one of them is 0."""
        norms = self.hidden_norm * self.row_norm
        return min(1.0, max(-1.0, self.dot / norms)) if norms > 0 else 0.0

    @property
    def angle(self) -> float:
        """Between the two vectors, degrees from 0 to 180."""
        return math.degrees(math.acos(self.cosine))

    @property
    def scaled(self) -> float:
        """Before the soft cap."""
        return self.scale * (self.dot + (self.bias or 0.0))

    @property
    def logit(self) -> float:
        """What the parts add up to."""
        return soft_capped(self.scaled, self.soft_cap)


def soft_capped(value: float, cap: float | None) -> float:
    """``cap · tanh(value / cap)``; the value itself without a cap."""
    return value if cap is None else cap * math.tanh(value / cap)


def measure(hidden: NDArray[np.floating], row: NDArray[np.floating]) -> tuple[float, float, float]:
    """Norm of either vector, shape (d,), and their dot product, summed in float64."""
    state, weights = hidden.astype(np.float64), row.astype(np.float64)
    return float(np.linalg.norm(state)), float(np.linalg.norm(weights)), float(state @ weights)
