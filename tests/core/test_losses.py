"""The loss table keeps what is still true and nothing else."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logitscope.losses import LossTable
from logitscope.placed import placed_step
from logitscope.steps import Origin
from logitscope.surprisal import TokenNumbers, token_numbers

VOCABULARY = 12


def rows(ids: list[int]) -> np.ndarray:
    """A row a position; it depends on all ids before it."""
    made = []
    for p in range(len(ids)):
        seed = sum((i + 1) * 31**k for k, i in enumerate(ids[:p])) % 2**31
        made.append(np.random.default_rng(seed).normal(size=VOCABULARY))
    return np.array(made, dtype=np.float32).reshape(len(ids), VOCABULARY)


def numbers(ids: list[int], start: int, stop: int) -> TokenNumbers:
    return token_numbers(rows(ids)[start:stop], np.array(ids[start:stop], dtype=np.int64))


def fill(table: LossTable, ids: list[int]) -> None:
    start = table.first_unknown
    if start < len(ids):
        table.put(start, numbers(ids, start, len(ids)))


ids_lists = st.lists(st.integers(0, VOCABULARY - 1), max_size=40)


@given(ids_lists, ids_lists, st.integers(0, 40))
def test_numbers_after_an_edit_are_those_of_a_fresh_scan(
    one: list[int], other: list[int], shared: int
) -> None:
    edited = one[:shared] + other
    table = LossTable()
    table.follow(one)
    fill(table, one)
    table.follow(edited)
    first_changed = next(
        (i for i, (a, b) in enumerate(zip(one, edited, strict=False)) if a != b),
        min(len(one), len(edited)),
    )
    assert table.first_unknown == min(max(1, first_changed), max(1, len(edited)))
    fill(table, edited)
    fresh = LossTable()
    fresh.follow(edited)
    fill(fresh, edited)
    np.testing.assert_array_equal(table.loss, fresh.loss)
    np.testing.assert_array_equal(table.rank, fresh.rank)
    np.testing.assert_array_equal(table.top_ids, fresh.top_ids)
    assert table.known == max(0, len(edited) - 1)
    assert len(edited) == 0 or math.isnan(table.loss[0])


def test_a_generated_token_brings_its_own_numbers() -> None:
    ids = [3, 1, 4, 1, 5]
    table = LossTable()
    table.follow(ids)
    for p in range(1, 5):
        table.put_step(p, placed_step(rows(ids)[p], ids[p], Origin.SAMPLED))
    assert table.first_unknown == 5
    expected = numbers(ids, 1, 5)
    np.testing.assert_allclose(table.log_probability[1:], expected.log_probability, atol=1e-9)
    np.testing.assert_array_equal(table.top_ids[1:], expected.top_ids)


def test_it_grows_without_losing_and_forgets_on_another_model() -> None:
    ids = [i % VOCABULARY for i in range(2000)]
    table = LossTable()
    for count in (10, 300, 2000):
        table.follow(ids[:count])
    table.put(1, TokenNumbers(*(np.ones((1999, *s), dtype=t) for t, s in (
        (np.float64, ()), (np.int32, ()), (np.float64, ()), (np.float32, ()),
        (np.int32, (10,)), (np.float32, (10,))))))  # fmt: skip
    table.follow([*ids, 1])
    assert table.first_unknown == 2000
    table.forget()
    assert table.first_unknown == 1
    assert table.known == 0


def test_halves_quarters_and_eighths_give_ln_4_and_4() -> None:
    table = LossTable()
    table.follow([0, 0, 0, 0])
    three = TokenNumbers(
        np.log([1 / 2, 1 / 4, 1 / 8]), np.array([1, 2, 11], dtype=np.int32), np.zeros(3),
        np.zeros(3, dtype=np.float32), np.zeros((3, 10), dtype=np.int32),
        np.zeros((3, 10), dtype=np.float32),
    )  # fmt: skip
    table.put(1, three)
    summary = table.summary(0, 4, n_bytes=6, n_characters=3)
    assert summary.mean_loss == pytest.approx(math.log(4))
    assert summary.perplexity == pytest.approx(4)
    assert summary.bits_per_byte == pytest.approx(1)
    assert (summary.tokens, summary.unknown) == (3, 1)
    assert summary.within_rank_10 == pytest.approx(2 / 3)


def test_numbers_beyond_the_text_are_refused() -> None:
    table = LossTable()
    table.follow([1, 2])
    with pytest.raises(ValueError, match="do not fit"):
        table.put(1, numbers([1, 2, 3], 1, 3))
