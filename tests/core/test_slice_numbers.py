"""Numbers from slices of the vocabulary, against PyTorch in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logitscope.slice_numbers import MOST_KEPT, SliceReader, Targets, TooManyTies, combined
from logitscope.surprisal import TokenNumbers


def matrix(count: int, size: int, spread: float, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((count, size)) * spread).astype(np.float32)


def read(
    rows: np.ndarray, ids: np.ndarray, size: int, reach: float = 1e-3, readers: int = 2
) -> TokenNumbers:
    """The numbers with the vocabulary in slices of ``size``, dealt out to readers in turn."""
    own = rows[np.arange(len(rows)), ids]
    targets = Targets(ids, own - np.float32(reach), own + np.float32(reach))
    made = [SliceReader(targets) for _ in range(readers)]
    for turn, first in enumerate(range(0, rows.shape[1], size)):
        made[turn % readers].read(first, rows[:, first : first + size].T.copy())
    return combined([reader for reader in made if reader.slices])


def check(found: TokenNumbers, rows: np.ndarray, ids: np.ndarray) -> None:
    torch: Any = pytest.importorskip("torch", reason="the extra `torch` is not installed")
    count = len(rows)
    exact = torch.log_softmax(torch.from_numpy(rows).double(), 1)
    entropy = torch.special.entr(exact.exp()).sum(dim=1).numpy()
    logs = exact.numpy()
    loss = -logs[np.arange(count), ids]
    np.testing.assert_allclose(-found.log_probability, loss, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.entropy, entropy, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(found.logit, rows[np.arange(count), ids])
    order = np.argsort(-rows.astype(np.float64), axis=1, kind="stable")
    assert found.rank.tolist() == (np.argmax(order == ids[:, None], axis=1) + 1).tolist()
    np.testing.assert_array_equal(found.top_ids, order[:, :10])
    top = np.take_along_axis(logs, order[:, :10], axis=1)
    np.testing.assert_allclose(found.top_log_probability, top, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("spread", [0.01, 1.0, 3.0, 20.0])
@pytest.mark.parametrize(
    ("count", "size", "part"), [(2, 262_144, 2048), (9, 50_257, 2048), (40, 700, 512), (5, 90, 31)]
)
def test_any_slices(count: int, size: int, part: int, spread: float) -> None:
    rows = matrix(count, size, spread)
    ids = np.random.default_rng(1).integers(0, size, count)
    ids[0] = rows[0].argmax()
    check(read(rows, ids, part), rows, ids)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 8), st.integers(10, 3000), st.integers(20, 900), st.integers(0, 2**32 - 1))
def test_ties_go_to_the_lower_id(count: int, size: int, part: int, seed: int) -> None:
    rows = np.round(matrix(count, size, 2.0, seed))
    ids = np.random.default_rng(seed).integers(0, size, count)
    check(read(rows, ids, part), rows, ids)


def test_near_certainty_keeps_its_relative_precision() -> None:
    rows = np.full((3, 4096), -40.0, dtype=np.float32)
    likeliest = np.array([0, 3000, 4095])
    rows[np.arange(3), likeliest] = 0.0
    found = read(rows, likeliest, 512)
    expected = -np.log1p(4095 * np.exp(-40.0))
    np.testing.assert_allclose(found.log_probability, expected, rtol=1e-6)
    np.testing.assert_allclose(found.entropy, 4095 * np.exp(-40.0) * 41.0, rtol=1e-5)


def test_impossible_tokens_add_nothing() -> None:
    rows = matrix(4, 5000, 2.0)
    rows[1:3, ::2] = -np.inf
    rows[2, 512:2048] = -np.inf
    ids = np.array([7, 9, 11, 13])
    check(read(rows, ids, 512), rows, ids)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_rows_end_before_one_that_is_no_distribution(value: float) -> None:
    rows = matrix(5, 4000, 2.0)
    rows[3, 2500] = value
    ids = np.arange(5)
    check(read(rows, ids, 512), rows[:3], ids[:3])
    rows[0, 0] = value
    assert len(read(rows, ids, 512).rank) == 0


def test_a_target_may_lie_anywhere_within_its_bounds() -> None:
    rows = matrix(6, 3000, 1.0)
    ids = np.random.default_rng(2).integers(0, 3000, 6)
    for reach in (0.0, 0.1, 10.0):
        check(read(rows, ids, 512, reach), rows, ids)


def test_a_target_outside_of_its_bounds_is_told() -> None:
    rows = matrix(2, 600, 1.0)
    bounds = np.full(2, 50.0, dtype=np.float32)
    reader = SliceReader(Targets(np.array([1, 2]), bounds, bounds + 1))
    reader.read(0, rows.T.copy())
    with pytest.raises(ArithmeticError, match="outside of the bounds"):
        combined([reader])


def test_equal_entries_without_end_are_not_kept() -> None:
    count = MOST_KEPT // 2048 + 1
    rows = np.zeros((2048, count), dtype=np.float32)
    own = np.zeros(count, dtype=np.float32)
    reader = SliceReader(Targets(np.zeros(count, dtype=np.int64), own, own))
    with pytest.raises(TooManyTies):
        reader.read(0, rows)
