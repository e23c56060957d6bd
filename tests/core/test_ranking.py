"""Ranks are exact, ties go to the lower id, and a row without a distribution is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from logit_rows import rows

from logitscope import chain
from logitscope.ranking import LONG_ROW, order, rank_of, top, top_among, top_of_rows
from logitscope.sampling import SamplerSettings, shape_ranking


def sorted_ids(row: np.ndarray) -> list[int]:
    return sorted(range(len(row)), key=lambda token_id: (-float(row[token_id]), token_id))


@given(rows())
def test_order_is_a_stable_descending_sort(row: np.ndarray) -> None:
    assert order(row).tolist() == sorted_ids(row)


@given(rows(), st.integers(0, 70))
def test_top_is_the_head_of_the_order(row: np.ndarray, k: int) -> None:
    assert top(row, k).tolist() == sorted_ids(row)[:k]


@given(rows(), st.data())
def test_rank_is_the_place_in_the_order(row: np.ndarray, data: st.DataObject) -> None:
    token_id = data.draw(st.integers(0, len(row) - 1))
    assert rank_of(row, token_id) == sorted_ids(row).index(token_id) + 1


@pytest.mark.parametrize("size", [511, 512, 513, 5_000, 65_536, 65_537, 262_144])
@pytest.mark.parametrize("kind", ["distinct", "tied", "equal", "impossible", "rising", "falling"])
def test_long_rows(size: int, kind: str) -> None:
    """Every way to find the top (blocks, partition, full sort) against a stable sort."""
    rng = np.random.default_rng(size)
    row = (rng.standard_normal(size) * 3).astype(np.float32)
    if kind == "tied":
        row = np.round(row)
    elif kind == "equal":
        row[:] = 1.5
    elif kind == "impossible":
        row[rng.random(size) < 0.9999] = -np.inf
        row[-1] = 0.0
    elif kind in {"rising", "falling"}:
        row = np.sort(row)[:: 1 if kind == "rising" else -1]
    expected = np.argsort(-row.astype(np.float64), kind="stable")
    np.testing.assert_array_equal(order(row), expected)
    for k in (1, 10, 40, 128, 129, 500, 4_096, size):
        np.testing.assert_array_equal(top(row, k), expected[:k])
    for place in (0, 1, size // 2, size - 1):
        assert rank_of(row, int(expected[place])) == place + 1


def test_zeros_of_both_signs_tie() -> None:
    assert order(np.array([-0.0, 0.0, -0.0], dtype=np.float32)).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("row", "word"),
    [
        ([1.0, np.nan, 2.0], "NaN"),
        ([1.0, np.inf], r"\+inf"),
        ([-np.inf, -np.inf], "no token is possible"),
        ([], "shape"),
        ([[1.0]], "shape"),
    ],
)
def test_rows_without_a_distribution(row: list[float], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        top(np.array(row, dtype=np.float32), 1)


@pytest.mark.parametrize("place", [0, 300, 511, 512, 5_119])
def test_nan_is_found_anywhere(place: int) -> None:
    row = np.zeros(5_120, dtype=np.float32)
    row[place] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        order(row)


def test_arguments_out_of_range() -> None:
    row = np.zeros(3, dtype=np.float32)
    with pytest.raises(ValueError, match="negative"):
        top(row, -1)
    for token_id in (-1, 3):
        with pytest.raises(IndexError, match="vocabulary of 3"):
            rank_of(row, token_id)


@pytest.mark.parametrize("size", [1, 7, 160, 161, 1008, 1009, 5000, LONG_ROW + 3])
@pytest.mark.parametrize("levels", [0, 1, 3, 40])
def test_the_top_of_each_row_is_a_stable_sort_of_it(size: int, levels: int) -> None:
    """``levels`` values, 0 for any: few of them make many ties, a third of the rest is -inf."""
    rng = np.random.default_rng(size + levels)
    block = rng.standard_normal((9, size)).astype(np.float32)
    if levels:
        block = np.floor(block * levels / 3).astype(np.float32)
        block[:, 1::3] = -np.inf
    k = min(10, size)
    expected = np.argsort(-block, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(top_of_rows(block, k), expected)


def test_the_top_of_rows_may_be_all_of_them() -> None:
    block = np.array([[0.0, -0.0, 2.0], [-np.inf, 1.0, -np.inf]], dtype=np.float32)
    np.testing.assert_array_equal(top_of_rows(block, 3), [[2, 0, 1], [1, 0, 2]])


def test_a_draw_far_behind_sorts_the_vocabulary_once_for_all_temperatures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sorted_sizes: list[int] = []

    def noted(row: np.ndarray, k: int) -> np.ndarray:
        sorted_sizes.append(k)
        return top_among(row, k)

    monkeypatch.setattr(chain, "top_among", noted)
    ranking = chain.Ranking(
        (np.random.default_rng(5).standard_normal(262_144) * 0.5).astype(np.float32)
    )
    for temperature in (1.2, 1.3, 1.4):
        shaped = shape_ranking(ranking, SamplerSettings(temperature), [])
        assert shaped.place_of(0.99) > chain.HEADS[-1]
    assert sorted_sizes.count(len(ranking.values)) == 1
