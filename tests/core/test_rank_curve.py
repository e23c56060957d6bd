"""The rank curve against the sorted row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from logit_rows import rows

from logitscope.distribution import Distribution
from logitscope.rank_curve import Cut, cuts_of, rank_curve, spaced_ranks
from logitscope.sampling import SamplerSettings, Stage, shape


@given(st.integers(1, 300_000), st.integers(1, 600))
def test_ranks_ascend_from_the_first_to_the_last(size: int, points: int) -> None:
    ranks = spaced_ranks(size, points)
    assert ranks[0] == 1
    assert ranks[-1] == (size if points > 1 or size == 1 else 1)
    assert (np.diff(ranks) > 0).all()
    assert len(ranks) <= points


@given(rows(largest=20.0, impossible=False), st.integers(2, 30))
def test_values_are_those_of_the_tokens_at_these_ranks(logits: np.ndarray, points: int) -> None:
    settings = SamplerSettings(top_k=5, top_p=0.9, typical_p=0.8)
    distribution, shaped = Distribution.of(logits), shape(logits, settings, ())
    curve = rank_curve(distribution, shaped, points)
    order = sorted(range(len(logits)), key=lambda i: (-logits[i], i))
    ids = [order[rank - 1] for rank in curve.ranks]
    np.testing.assert_array_equal(curve.raw, distribution.probabilities[ids])
    np.testing.assert_array_equal(curve.shaped, shaped.by_id[ids])
    for cut in curve.cuts:
        assert {cut.first_rank, cut.last_rank} <= set(curve.ranks.tolist())


def test_cuts_stand_behind_the_last_token_that_was_kept() -> None:
    logits = -np.arange(10, dtype=np.float32)
    shaped = shape(logits, SamplerSettings(top_k=7, min_p=0.1), ())
    # e^-2 = 0.135 >= 0.1 > e^-3: three tokens pass min-p.
    assert cuts_of(Distribution.of(logits), shaped) == (
        Cut(Stage.TOP_K, 1, 7),
        Cut(Stage.MIN_P, 1, 3),
    )


def test_typical_may_cut_on_both_sides() -> None:
    # Nine equal tokens are typical, the likeliest one is not (Meister et al. 2023, figure 1).
    logits = np.log(np.array([0.19] + [0.09] * 9, dtype=np.float32))
    shaped = shape(logits, SamplerSettings(typical_p=0.5), ())
    (cut,) = cuts_of(Distribution.of(logits), shaped)
    assert cut.first_rank == 2
    assert cut.last_rank == 1 + int(np.ceil(0.5 / 0.09))


def test_nothing_is_cut_without_stages() -> None:
    logits = np.zeros(4, dtype=np.float32)
    assert cuts_of(Distribution.of(logits), shape(logits, SamplerSettings(), ())) == ()


@pytest.mark.parametrize("size", [1, 2])
def test_the_smallest_vocabularies(size: int) -> None:
    logits = np.zeros(size, dtype=np.float32)
    curve = rank_curve(Distribution.of(logits), shape(logits, SamplerSettings(), ()), 100)
    assert curve.ranks.tolist() == list(range(1, size + 1))
    assert curve.raw.tolist() == [1 / size] * size
