"""Measures and scales of the heatmap, against arithmetic done by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from logitscope.heat import (
    Measure,
    Scale,
    fitted_scale,
    fixed_scale,
    mark_weights,
    places,
    rank_bucket,
    values,
)

LOSS = np.array([np.nan, 0.0, math.log(2), 5.0, 12.0])
RANK = np.array([0, 1, 2, 300, 50_000], dtype=np.int32)
ENTROPY = np.array([np.nan, 0.5, math.log(2), 2.0, 6.0])


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        (Measure.LOSS, [math.nan, 0.0, 0.06931471805599453, 0.5, 1.0]),
        (Measure.PROBABILITY, [math.nan, 0.0, 0.5, 1 - math.exp(-5), 1 - math.exp(-12)]),
        (Measure.RANK, [math.nan, 0.0, 0.25, 0.75, 1.0]),
        (Measure.ENTROPY, [math.nan, 0.05, 0.06931471805599453, 0.2, 0.6]),
        (Measure.SURPRISE, [math.nan, 0.45, 0.5, 0.8, 1.0]),
    ],
)
def test_fixed_places(measure: Measure, expected: list[float]) -> None:
    numbers = values(measure, LOSS, RANK, ENTROPY)
    np.testing.assert_allclose(places(numbers, fixed_scale(measure)), expected, atol=1e-12)


def test_rank_buckets_end_at_1_10_100_1000() -> None:
    ranks = np.array([0, 1, 2, 10, 11, 100, 101, 1000, 1001, 262_144])
    assert rank_bucket(ranks).tolist() == [-1, 0, 1, 1, 2, 2, 3, 3, 4, 4]


def test_an_impossible_token_has_the_strongest_tint() -> None:
    loss, rank, entropy = np.array([math.inf]), np.array([9]), np.array([1.0])
    for measure in (Measure.LOSS, Measure.PROBABILITY, Measure.SURPRISE):
        numbers = values(measure, loss, rank, entropy)
        assert places(numbers, fixed_scale(measure)).tolist() == [1.0]


def test_fitted_scales_end_at_the_99th_percentile() -> None:
    numbers = np.concatenate(([np.nan], np.arange(101.0)))
    assert fitted_scale(Measure.LOSS, numbers) == Scale(0.0, 99.0)
    assert fitted_scale(Measure.SURPRISE, -numbers) == Scale(-99.0, 99.0)
    shares = np.arange(101.0) / 101.0
    assert fitted_scale(Measure.PROBABILITY, shares) == Scale(1.0, pytest.approx(1 / 101))
    assert fitted_scale(Measure.RANK, numbers) == fixed_scale(Measure.RANK)


def test_texts_without_a_spread_still_have_a_scale() -> None:
    for measure in Measure:
        for numbers in (np.array([np.nan]), np.zeros(3), np.ones(3)):
            scale = fitted_scale(measure, numbers)
            assert scale.low != scale.high
            assert np.isfinite(places(np.array([0.5]), scale)).all()


def test_marks_tell_strong_from_weak() -> None:
    place = np.array([np.nan, 0.0, 0.24, 0.25, 0.5, 0.75, 1.0])
    assert mark_weights(Measure.LOSS, place).tolist() == [0, 0, 0, 1, 2, 3, 3]
    two_sided = np.array([np.nan, 0.0, 0.3, 0.5, 0.7, 0.95])
    assert mark_weights(Measure.SURPRISE, two_sided).tolist() == [0, 3, 1, 0, 1, 3]
