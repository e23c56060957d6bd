"""Intervals and counts of draws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from logit_rows import rows

from logitscope.draw_view import frequencies, intervals
from logitscope.sampling import SamplerSettings, Tally, draw, draw_many, shape

HALVES = np.log(np.array([0.5, 0.25, 0.125, 0.125], dtype=np.float32))


@given(rows(largest=20.0), st.integers(1, 80))
def test_intervals_lie_side_by_side_from_zero_on(logits: np.ndarray, count: int) -> None:
    shaped = shape(logits, SamplerSettings(temperature=0.8, top_p=0.95), ())
    found = intervals(shaped, count)
    assert found.lows[0] == 0.0
    np.testing.assert_array_equal(found.lows[1:], found.highs[:-1])
    assert len(found.ids) + found.rest_count == shaped.kept
    if found.rest_count == 0:
        assert found.highs[-1] == 1.0
    for token_id, low, high in zip(found.ids, found.lows, found.highs, strict=True):
        assert shaped.interval_of(int(token_id)) == (low, high)


def test_narrow_intervals_can_be_left_out() -> None:
    found = intervals(shape(HALVES, SamplerSettings(), ()), 4, least=0.2)
    assert found.ids.tolist() == [0, 1]
    assert found.rest_count == 2
    assert intervals(shape(HALVES, SamplerSettings(), ()), 4, least=0.9).ids.tolist() == []


def test_every_draw_falls_into_the_interval_shown() -> None:
    shaped = shape(HALVES, SamplerSettings(), ())
    found = intervals(shaped, 4)
    for attempt in range(100):
        choice = draw(shaped, 1, 5, attempt)
        assert choice.draw is not None
        place = found.ids.tolist().index(choice.token_id)
        assert found.lows[place] <= choice.draw.u < found.highs[place]


def test_counts_are_compared_with_the_binomial_expectation() -> None:
    shaped = shape(HALVES, SamplerSettings(), ())
    tally = Tally(np.array([0, 3]), np.array([70, 30]), np.array([0.5, 0.125]))
    listed = frequencies(shaped, tally, 2)
    assert [entry.token_id for entry in listed] == [0, 1, None]
    assert [entry.observed for entry in listed] == [70, 0, 30]
    assert [entry.expected for entry in listed] == pytest.approx([50.0, 25.0, 25.0])
    assert [entry.deviation for entry in listed] == pytest.approx([5.0, 18.75**0.5, 18.75**0.5])


def test_all_tokens_listed_leave_no_others() -> None:
    shaped = shape(HALVES, SamplerSettings(top_k=2), ())
    listed = frequencies(shaped, draw_many(shaped, 0, 0, 500), 12)
    assert [entry.token_id for entry in listed] == [0, 1]
    assert sum(entry.observed for entry in listed) == 500
