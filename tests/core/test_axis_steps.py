"""Numbers beside an axis: round, within the axis, and apart from each other."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logitscope.axis_steps import round_steps


@pytest.mark.parametrize(
    ("top", "lines", "steps"),
    [
        (10.0, 12.0, (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)),
        (10.0, 6.0, (0, 2, 4, 6, 8, 10)),
        (10.0, 2.5, (0, 5, 10)),
        (10.0, 2.0, (0, 10)),
        (23.0, 2.0, (0, 20)),
        (10.0, 1.0, (0,)),
    ],
)
def test_as_many_round_numbers_as_fit(top: float, lines: float, steps: tuple[float, ...]) -> None:
    assert round_steps(top, lines) == steps


@given(st.floats(0.01, 1e6), st.floats(0.0, 200.0))
def test_numbers_never_touch_and_stay_on_the_axis(top: float, lines: float) -> None:
    steps = round_steps(top, lines)
    assert steps[0] == 0
    assert steps[-1] <= top
    line = top / max(lines, 1.0)
    assert all(high - low >= line for low, high in itertools.pairwise(steps))
