"""Jumps go to the next landmark, round the end, and nowhere when there is none."""

from __future__ import annotations

import math

import pytest

from logitscope.navigation import Landmark, find
from logitscope.steps import Origin, StepRecord


def step(p: float = 0.5, choices: float = 2.0, origin: Origin = Origin.SAMPLED) -> StepRecord:
    return StepRecord(1, origin, math.log(p), 1, math.log(choices), None, None, (), (), 0.0)


STEPS = (step(), step(p=0.01), step(choices=50), step(origin=Origin.FORCED), step(p=0.001))


@pytest.mark.parametrize(
    ("landmark", "start", "direction", "expected"),
    [
        (Landmark.SURPRISING, -1, 1, 1),
        (Landmark.SURPRISING, 1, 1, 4),
        (Landmark.SURPRISING, 4, 1, 1),
        (Landmark.SURPRISING, 1, -1, 4),
        (Landmark.SURPRISING, len(STEPS), -1, 4),
        (Landmark.SURPRISING, -1, -1, 4),
        (Landmark.SURPRISING, len(STEPS), 1, 1),
        (Landmark.OPEN, 0, 1, 2),
        (Landmark.OPEN, 2, 1, 2),
        (Landmark.PLACED, 0, -1, 3),
    ],
)
def test_jump(landmark: Landmark, start: int, direction: int, expected: int) -> None:
    assert find(STEPS, landmark, start, direction) == expected


def test_nothing_to_jump_to() -> None:
    assert find((), Landmark.OPEN, -1) is None
    assert find((step(), step()), Landmark.PLACED, 0) is None
    assert find((step(p=0.01), step()), Landmark.SURPRISING, 2) == 0
