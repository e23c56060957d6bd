"""Where to look next: positions of a path that stand out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import StrEnum

from logitscope.diagnosis import FLAT_CHOICES, LONG_SHOT
from logitscope.steps import Origin, StepRecord


class Landmark(StrEnum):
    """What one can jump to."""

    SURPRISING = "surprising"
    """A token below the raw probability that the diagnosis calls a long shot."""
    OPEN = "open"
    """A step at which as many choices were open as the diagnosis calls flat."""
    PLACED = "placed"
    """A token that a person forced or inserted."""


_TESTS: dict[Landmark, Callable[[StepRecord], bool]] = {
    Landmark.SURPRISING: lambda step: step.log_probability < math.log(LONG_SHOT),
    Landmark.OPEN: lambda step: step.entropy >= math.log(FLAT_CHOICES),
    Landmark.PLACED: lambda step: step.origin in {Origin.FORCED, Origin.INSERTED},
}


def find(
    steps: Sequence[StepRecord], landmark: Landmark, start: int, direction: int = 1
) -> int | None:
    """Index of the next such step after ``start`` (direction -1: before), going round once.

    A ``start`` outside begins at the near end. None where no step is of the kind.
    """
    count = len(steps)
    test = _TESTS[landmark]
    if not 0 <= start < count:
        start = -1 if direction > 0 else count
    for away in range(1, count + 1):
        index = (start + direction * away) % count
        if test(steps[index]):
            return index
    return None
