"""What a bars view draws: rows of finished numbers, and the axis they are drawn on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum


class Scale(StrEnum):
    """The horizontal axis of the bars."""

    LINEAR = "linear"
    """Probability from 0 to 1."""
    LOG = "log"
    """Probability from 1e-8 to 1, a decade a step."""
    LOGIT = "logit"
    """The raw logits themselves."""


LOG_DECADES = 8


@dataclass(frozen=True, slots=True)
class Bar:
    """One token."""

    token_id: int
    text: str
    """Ready to show: whitespace and control characters visible."""
    rank: int
    logit: float
    raw: float
    """Probability before the sampler chain."""
    shaped: float
    """Probability behind the sampler chain; 0 where a stage removed the token."""
    removed_by: str = ""
    """Name of the stage that removed it, "" where it is kept."""
    note: str = ""
    """A few words that mark the row ("rank 7 · sampled"); "" for an unmarked one."""
    is_extra: bool = False
    """Not one of the likeliest: shown because it is marked."""


@dataclass(frozen=True, slots=True)
class Tail:
    """Every token without a bar of its own."""

    label: str
    count: int
    raw: float
    shaped: float
    note: str = ""
    """What is to say of the tail in a few words: how much of it was removed."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A fixed range and where its lines stand."""

    scale: Scale
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]

    def fraction(self, value: float) -> float:
        """Place of a value on the axis, 0 left, 1 right; values beyond are put on the edge."""
        place = math.log10(value) if self.scale is Scale.LOG and value > 0 else value
        if self.scale is Scale.LOG and value <= 0:
            return 0.0
        if math.isinf(place):
            return 0.0 if place < 0 else 1.0
        return min(1.0, max(0.0, (place - self.low) / (self.high - self.low)))

    def tick_fraction(self, place: float) -> float:
        """Place of a tick, which is given in the axis' own unit (decades on a log axis)."""
        return (place - self.low) / (self.high - self.low)


LINEAR_AXIS = Axis(
    Scale.LINEAR,
    0.0,
    1.0,
    ((0.0, "0"), (0.25, ".25"), (0.5, ".5"), (0.75, ".75"), (1.0, "1")),
)
LOG_AXIS = Axis(
    Scale.LOG,
    -float(LOG_DECADES),
    0.0,
    ((-8.0, "1e-8"), (-6.0, "1e-6"), (-4.0, "1e-4"), (-2.0, ".01"), (0.0, "1")),
)
LOGIT_STEP = 10.0


def logit_axis(low: float, high: float) -> Axis:
    """An axis for logits whose ends are multiples of 10, so that it rarely moves."""
    floor = math.floor(low / LOGIT_STEP) * LOGIT_STEP
    ceiling = math.ceil(high / LOGIT_STEP) * LOGIT_STEP
    if ceiling <= floor:
        ceiling = floor + LOGIT_STEP
    middle = (floor + ceiling) / 2
    ticks = tuple((place, f"{place:g}".replace("-", "−")) for place in (floor, middle, ceiling))
    return Axis(Scale.LOGIT, floor, ceiling, ticks)


def axis_for(scale: Scale, bars: tuple[Bar, ...]) -> Axis:
    """The axis of a scale; only that of the logits depends on what is drawn."""
    if scale is Scale.LINEAR:
        return LINEAR_AXIS
    if scale is Scale.LOG:
        return LOG_AXIS
    finite = [bar.logit for bar in bars if math.isfinite(bar.logit)]
    return logit_axis(min(finite, default=0.0), max(finite, default=1.0))
