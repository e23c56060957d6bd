"""Columns and rolling means of a series, against loops over their definition."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from logitscope.envelope import BLOCK, OVERLAP, BlockedSeries, envelope, rolling_mean

SERIES = st.lists(st.one_of(st.just(math.nan), st.floats(-100, 100)), max_size=60)


@given(SERIES, st.integers(1, 20), st.data())
def test_columns_hold_the_extremes(series: list[float], columns: int, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(series)))
    stop = data.draw(st.integers(start, len(series)))
    made = envelope(np.array(series), start, stop, columns)
    known = [v for v in series[start:stop] if not math.isnan(v)]
    assert len(made.x) == min(columns, stop - start)
    assert sorted(made.x.tolist()) == made.x.tolist()
    if known:
        assert np.nanmin(made.low) == min(known)
        assert np.nanmax(made.high) == max(known)
    else:
        assert np.isnan(made.low).all() and np.isnan(made.high).all()


def test_few_values_are_their_own_columns() -> None:
    made = envelope(np.array([9.0, 1.0, np.nan, 4.0]), 1, 4, 100)
    assert made.x.tolist() == [1.0, 2.0, 3.0]
    np.testing.assert_array_equal(made.low, [1.0, np.nan, 4.0])
    np.testing.assert_array_equal(made.high, made.low)
    np.testing.assert_array_equal(made.mean, made.low)


def test_means_of_columns() -> None:
    made = envelope(np.array([1.0, 3.0, np.nan, 5.0, np.nan, np.inf]), 0, 6, 3)
    np.testing.assert_array_equal(made.mean, [2.0, 5.0, np.nan])
    np.testing.assert_array_equal(made.high, [3.0, 5.0, np.inf])


@given(SERIES, st.integers(1, 15))
def test_rolling_mean(series: list[float], width: int) -> None:
    means = rolling_mean(np.array(series), width)
    for i, mean in enumerate(means):
        begin = max(0, i - width // 2)
        known = [v for v in series[begin : begin + width] if not math.isnan(v)]
        if known:
            assert math.isclose(mean, sum(known) / len(known), rel_tol=1e-9, abs_tol=1e-9)
        else:
            assert math.isnan(mean)


@given(st.integers(0, 2000), st.integers(1, 6), st.data())
def test_blocks_give_the_same_extremes(n: int, columns: int, data: st.DataObject) -> None:
    """Changed in places, grown and cut: a wide view still shows every extreme."""
    generator = np.random.default_rng(n)
    series = BlockedSeries(sign=-1.0)
    values = generator.normal(size=n)
    series.update(values, 0, n)
    start = data.draw(st.integers(0, n))
    stop = data.draw(st.integers(start, n))
    values[start:stop] = np.nan
    values[start:stop:3] = 7.0
    longer = np.concatenate((values, generator.normal(size=300)))
    series.update(longer, start, stop)
    series.update(longer, n, n + 300)
    made = series.envelope(0, len(longer), columns)
    assert len(made.x) == min(columns, len(longer))
    assert np.nanmin(made.low) == -np.nanmax(longer)
    assert np.nanmax(made.high) == -np.nanmin(longer)
    assert made.x.min() >= 0 and made.x.max() < len(longer)


def test_a_close_view_shows_the_values() -> None:
    series = BlockedSeries()
    values = np.arange(1000.0)
    series.update(values, 0, 1000)
    made = series.envelope(300, 310, 50)
    assert made.x.tolist() == made.low.tolist() == made.mean.tolist() == list(range(300, 310))


def test_block_means_of_even_blocks() -> None:
    series = BlockedSeries()
    values = np.repeat([1.0, 3.0, 5.0, 7.0], 256)
    series.update(values, 0, len(values))
    assert series.envelope(0, 1024, 2).mean.tolist() == [2.0, 6.0]


def mean_around(values: np.ndarray, middle: int, width: int) -> float:
    begin = max(0, middle - width // 2)
    known = values[begin : begin + width]
    return float(np.nanmean(known)) if np.isfinite(known).any() else math.nan


@given(st.integers(1, 3000), st.integers(1, 60), st.integers(1, 40), st.data())
def test_rolling_means_at_columns(n: int, columns: int, width: int, data: st.DataObject) -> None:
    """What is drawn reaches beyond what is in view, and over neighbouring columns."""
    values = np.random.default_rng(n).normal(size=n)
    values[: n // 3 : 2] = np.nan
    series = BlockedSeries(sign=-1.0)
    series.update(values, 0, n)
    start = data.draw(st.integers(0, n - 1))
    stop = data.draw(st.integers(start + 1, min(n, start + columns * BLOCK)))
    made = series.envelope(start, stop, columns)
    means = series.rolling_mean(made, width)
    step = (made.x[-1] - made.x[0]) / max(len(made.x) - 1, 1)
    assert len(means) == len(made.x)
    if step >= BLOCK:
        return
    for x, own, mean in zip(made.x, made.mean, means, strict=True):
        expected = -mean_around(values, int(x), math.ceil(max(width, OVERLAP * step)))
        np.testing.assert_allclose(mean, math.nan if math.isnan(own) else expected, atol=1e-9)


def test_rolling_means_of_wide_columns_are_read_from_blocks() -> None:
    """A million values would be read for each frame."""
    count = 64 * BLOCK
    values = np.random.default_rng(1).normal(size=count)
    series = BlockedSeries()
    series.update(values, 0, count)
    made = series.envelope(0, count, 32)
    blocks = values.reshape(-1, BLOCK).mean(axis=1)
    series._values = np.broadcast_to(np.nan, count)
    expected = [mean_around(blocks, int(x) // BLOCK, 2 * OVERLAP) for x in made.x]
    np.testing.assert_allclose(series.rolling_mean(made, 32), expected)


def test_no_columns_have_no_rolling_means() -> None:
    series = BlockedSeries()
    assert len(series.rolling_mean(series.envelope(0, 0, 32), 32)) == 0
