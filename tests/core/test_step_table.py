"""The table of a step against numpy on the sorted row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from logit_rows import rows

from logitscope.distribution import Distribution, smallest_set
from logitscope.sampling import KEPT, SamplerSettings, Stage, shape
from logitscope.step_table import (
    by_rank,
    raw_rows,
    stage_of,
    tabulate,
    tokens_holding,
    was_impossible,
)

SETTINGS = st.sampled_from(
    [
        SamplerSettings(),
        SamplerSettings(temperature=0.5, top_k=3),
        SamplerSettings(top_p=0.8, min_p=0.05),
        SamplerSettings(typical_p=0.7),
        SamplerSettings(temperature=0.0),
    ]
)


def ranking(logits: np.ndarray) -> list[int]:
    return sorted(range(len(logits)), key=lambda i: (-logits[i], i))


@given(rows(largest=20.0), SETTINGS, st.integers(1, 70), st.data())
def test_rows_and_rest_are_the_whole_vocabulary(
    logits: np.ndarray, settings: SamplerSettings, count: int, data: st.DataObject
) -> None:
    other = data.draw(st.integers(0, len(logits) - 1))
    distribution, shaped = Distribution.of(logits), shape(logits, settings, ())
    table = tabulate(raw_rows(distribution, count, (other, other)), shaped)
    order = ranking(logits)
    head = order[:count]
    assert table.ids.tolist() == head + ([] if other in head else [other])
    assert table.head_count == len(head)
    assert table.ranks.tolist() == [order.index(i) + 1 for i in table.ids]
    assert table.rest.count == len(logits) - len(table.ids)
    assert table.raw.sum() + table.rest.raw == pytest.approx(1.0, abs=1e-12)
    assert table.shaped.sum() + table.rest.shaped == pytest.approx(1.0, abs=1e-12)
    assert (table.shaped[table.removed_by != KEPT] == 0).all()
    kept_rows = int((table.removed_by == KEPT).sum())
    assert table.rest.count - table.rest.removed_count == shaped.kept - kept_rows


def test_a_tail_too_small_for_one_minus_the_head_is_still_there() -> None:
    logits = np.array([60.0, 0.0, 0.0], dtype=np.float32)
    table = tabulate(raw_rows(Distribution.of(logits), 1), shape(logits, SamplerSettings(), ()))
    assert table.rest.raw == pytest.approx(2 * np.exp(-60.0), rel=1e-12)
    assert 1.0 - table.raw.sum() == 0.0


def test_what_was_removed_of_the_rest() -> None:
    logits = np.log(np.array([0.4, 0.3, 0.2, 0.1], dtype=np.float32))
    shaped = shape(logits, SamplerSettings(top_k=3), ())
    rest = tabulate(raw_rows(Distribution.of(logits), 2), shaped).rest
    assert (rest.count, rest.removed_count) == (2, 1)
    assert rest.removed_raw == pytest.approx(0.1, rel=1e-6)
    assert rest.shaped == pytest.approx(0.2 / 0.9, rel=1e-6)


def test_codes_name_their_stage() -> None:
    logits = np.array([2.0, 1.0, -np.inf], dtype=np.float32)
    shaped = shape(logits, SamplerSettings(top_k=1), ())
    codes = tabulate(raw_rows(Distribution.of(logits), 3), shaped).removed_by.tolist()
    assert [stage_of(code) for code in codes] == [None, Stage.TOP_K, None]
    assert [was_impossible(code) for code in codes] == [False, False, True]


def test_an_id_outside_the_vocabulary_is_refused() -> None:
    with pytest.raises(IndexError):
        raw_rows(Distribution.of(np.zeros(3, dtype=np.float32)), 1, (3,))


@pytest.mark.parametrize("size", [1, 5, 300, 5000, 20_000])
@pytest.mark.parametrize("mass", [0.0, 0.5, 0.9, 0.999999])
def test_tokens_holding_needs_no_whole_sort_to_be_exact(size: int, mass: float) -> None:
    logits = np.random.default_rng(size).normal(0, 1, size).astype(np.float32)
    distribution = Distribution.of(logits)
    expected = smallest_set(np.sort(distribution.probabilities)[::-1], mass)
    assert tokens_holding(distribution, mass) == expected


def test_ids_by_rank() -> None:
    distribution = Distribution.of(np.array([0.0, 2.0, 1.0, 2.0], dtype=np.float32))
    assert by_rank(distribution, np.array([0, 3, 1])).tolist() == [1, 3, 0]
