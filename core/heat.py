"""What a heatmap of a text shows: one number a token, its place on a scale, and a second mark.

Places run from 0 (expected: the page colour) to 1 (the strongest tint). Where a measure has two
sides, 0.5 is the page colour. Unknown numbers are NaN, and their places too.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

RANK_LIMITS = (1, 10, 100, 1000)
"""Upper ends of the first four rank buckets; the fifth holds everything beyond."""
FIT_PERCENTILE = 99.0
"""A scale fitted to a text ends here: one odd token must not bleach all others."""
MARK_LIMITS = (0.25, 0.5, 0.75)
"""Strengths from which the second mark has weight 1, 2 and 3."""
LEAST_SPAN = 1e-3
"""Nats: a fitted scale is never narrower, where all tokens of a text are alike."""


class Measure(StrEnum):
    """What the colour stands for."""

    LOSS = "loss"
    """Negative log-likelihood of the token that stands there."""
    PROBABILITY = "probability"
    """Probability of that token; unlikely ones are tinted."""
    RANK = "rank"
    """Its rank, in buckets: 1, to 10, to 100, to 1000, beyond."""
    ENTROPY = "entropy"
    """How undecided the model was before it."""
    SURPRISE = "surprise"
    """Loss − entropy: how much less likely it was than a token drawn from the model is."""

    @property
    def is_two_sided(self) -> bool:
        """Whether values on both sides of 0 have a colour of their own."""
        return self is Measure.SURPRISE

    @property
    def unit(self) -> str:
        return {Measure.PROBABILITY: "", Measure.RANK: ""}.get(self, "nats")


@dataclass(frozen=True, slots=True)
class Scale:
    """The values at the two ends of the colours, in the measure's unit."""

    low: float
    high: float


_FIXED = {
    # e^-10 = 1 in 22,000: beyond that, "the model did not expect this" says it all.
    Measure.LOSS: Scale(0.0, 10.0),
    # The likely end first: it has the page colour.
    Measure.PROBABILITY: Scale(1.0, 0.0),
    Measure.RANK: Scale(0.0, float(len(RANK_LIMITS))),
    # The same as for loss, so that the two can be compared.
    Measure.ENTROPY: Scale(0.0, 10.0),
    Measure.SURPRISE: Scale(-5.0, 5.0),
}


def fixed_scale(measure: Measure) -> Scale:
    """The same for every text, so that texts compare."""
    return _FIXED[measure]


def fitted_scale(measure: Measure, values: Vector) -> Scale:
    """From the neutral end to the 99th percentile of these values; buckets are never fitted.

    The fixed scale where no value is known.
    """
    known = values[np.isfinite(values)]
    if len(known) == 0 or measure is Measure.RANK:
        return fixed_scale(measure)
    if measure is Measure.PROBABILITY:
        return Scale(1.0, min(float(np.percentile(known, 100.0 - FIT_PERCENTILE)), 1 - LEAST_SPAN))
    if measure.is_two_sided:
        end = max(float(np.percentile(np.abs(known), FIT_PERCENTILE)), LEAST_SPAN)
        return Scale(-end, end)
    return Scale(0.0, max(float(np.percentile(known, FIT_PERCENTILE)), LEAST_SPAN))


def rank_bucket(rank: NDArray[np.integer]) -> NDArray[np.int64]:
    """0 for rank 1, 1 up to 10, 2 up to 100, 3 up to 1000, 4 beyond; -1 for rank 0 (unknown)."""
    bucket: NDArray[np.int64] = np.searchsorted(RANK_LIMITS, rank, side="left")
    return np.where(np.asarray(rank) > 0, bucket, -1)


def values(measure: Measure, loss: Vector, rank: NDArray[np.integer], entropy: Vector) -> Vector:
    """The measure of n tokens, (n,); NaN where it is unknown.

    ``loss`` and ``entropy`` in nats with NaN = unknown, ``rank`` with 0 = unknown. For RANK the
    value is the bucket's number.
    """
    match measure:
        case Measure.LOSS:
            return np.array(loss, dtype=np.float64)
        case Measure.PROBABILITY:
            return np.exp(-np.asarray(loss, dtype=np.float64))
        case Measure.RANK:
            bucket = rank_bucket(rank)
            return np.where(bucket < 0, np.nan, bucket)
        case Measure.ENTROPY:
            return np.array(entropy, dtype=np.float64)
        case Measure.SURPRISE:
            # An impossible token: infinitely surprising, whatever was expected.
            return np.asarray(loss, dtype=np.float64) - entropy


def places(numbers: Vector, scale: Scale) -> Vector:
    """Where values lie on a scale, 0 to 1, cut off at its ends; NaN stays."""
    with np.errstate(invalid="ignore"):
        share = (numbers - scale.low) / (scale.high - scale.low)
    return np.clip(share, 0.0, 1.0)


def mark_weights(measure: Measure, place: Vector) -> NDArray[np.uint8]:
    """Weight of the mark that tells strong from weak without colour, 0 to 3; 0 for unknown."""
    strength = np.abs(2.0 * place - 1.0) if measure.is_two_sided else place
    weights = np.searchsorted(MARK_LIMITS, np.nan_to_num(strength, nan=0.0), side="right")
    return weights.astype(np.uint8)
