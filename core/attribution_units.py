"""Attributions of a token to the tokens before it, and their sums over words and paragraphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray


class GradientMethod(StrEnum):
    """How a gradient becomes an attribution; both are second opinions, not evidence."""

    GRADIENT_X_INPUT = "gradient_x_input"
    """Gradient times embedding (Shrikumar et al. 2016, arXiv:1605.01713)."""
    INTEGRATED_GRADIENTS = "integrated_gradients"
    """Gradients along the straight path from a baseline without information (Sundararajan et al.
    2017, arXiv:1703.01365)."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenAttribution:
    """What each token of a prompt adds to the log-probability of one token behind it."""

    values: NDArray[np.float64]
    """(n,), nats, signed."""
    log_probability: float
    """Of the token behind the prompt, nats."""
    baseline_log_probability: float | None = None
    """The same at the baseline, where the method has one."""

    @property
    def incompleteness(self) -> float | None:
        """How far the values' sum is from what the baseline lacks, as a part of it: the error of
        integrating in steps. None without a baseline."""
        if self.baseline_log_probability is None:
            return None
        difference = self.log_probability - self.baseline_log_probability
        return abs(float(self.values.sum()) - difference) / max(abs(difference), 1e-12)


def sum_ranges(
    values: NDArray[np.floating], ranges: Sequence[tuple[int, int]]
) -> NDArray[np.float64]:
    """Sums over token ranges ``(start, stop)``: words, sentences, paragraphs; (len(ranges),).

    Raises ValueError for a range outside of the values.
    """
    for start, stop in ranges:
        if not 0 <= start <= stop <= len(values):
            raise ValueError(f"{start} to {stop} is no range of {len(values)} tokens")
    sums = [float(np.sum(values[start:stop], dtype=np.float64)) for start, stop in ranges]
    return np.array(sums, dtype=np.float64)
