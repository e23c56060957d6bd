"""Sums of attributions over words and paragraphs."""

from __future__ import annotations

import numpy as np
import pytest

from logitscope.attribution_units import TokenAttribution, sum_ranges


def test_sums_of_ranges() -> None:
    values = np.array([1.0, -2.0, 4.0, 8.0])
    ranges = [(0, 4), (1, 3), (2, 2), (3, 4), (0, 1)]
    assert sum_ranges(values, ranges).tolist() == [11.0, 2.0, 0.0, 8.0, 1.0]


def test_a_partition_keeps_the_sum() -> None:
    values = np.random.default_rng(0).normal(size=100)
    parts = sum_ranges(values, [(i, i + 10) for i in range(0, 100, 10)])
    assert parts.sum() == pytest.approx(values.sum(), abs=1e-12)


def test_float32_is_summed_in_float64() -> None:
    values = np.full(1 << 20, 0.1, dtype=np.float32)
    exact = float(np.float32(0.1)) * (1 << 20)
    assert sum_ranges(values, [(0, 1 << 20)])[0] == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("outside", [(-1, 2), (2, 1), (0, 5)])
def test_a_range_outside_is_refused(outside: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="no range"):
        sum_ranges(np.zeros(4), [outside])


def test_incompleteness_is_relative_to_the_difference() -> None:
    values = np.array([1.0, 0.9])
    assert TokenAttribution(values, -1.0).incompleteness is None
    assert TokenAttribution(values, -1.0, -3.0).incompleteness == pytest.approx(0.05)
