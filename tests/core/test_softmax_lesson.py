"""The lesson's numbers against exact arithmetic and torch."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from logit_rows import rows

from logitscope.distribution import Distribution
from logitscope.sampling import SamplerSettings, shape
from logitscope.softmax_lesson import at_temperature, lead, moves, shaped_rank

TEXTBOOK = np.array([5.0, 2.0, 1.0, -2.0], dtype=np.float32)


def test_the_three_moves_of_the_textbook_row() -> None:
    found = moves(Distribution.of(TEXTBOOK), 1)
    total = math.fsum(math.exp(x) for x in (0.0, -3.0, -4.0, -7.0))
    assert (found.logit, found.largest) == (2.0, 5.0)
    assert found.exponential == pytest.approx(math.exp(-3.0), rel=1e-15)
    assert found.total == pytest.approx(total, rel=1e-15)
    assert round(100 * found.probability, 1) == 4.7


@given(rows(largest=20.0, impossible=False), st.floats(-1e4, 1e4))
def test_adding_a_constant_changes_no_probability(logits: np.ndarray, added: float) -> None:
    distribution = Distribution.of(logits)
    for token_id in (0, len(logits) - 1):
        found = moves(distribution, token_id, added)
        assert found.probability == pytest.approx(distribution.probability(token_id), rel=1e-9)
        assert found.logit == float(logits[token_id]) + added


def test_a_lead_of_two_is_e_squared() -> None:
    found = lead(Distribution.of(np.array([3.0, 1.0], dtype=np.float32)), 1)
    assert found.logits == 2.0
    assert found.factor == pytest.approx(math.e**2, rel=1e-15)


@given(rows(largest=20.0, impossible=False))
def test_temperature_never_changes_the_ranking(logits: np.ndarray) -> None:
    distribution = Distribution.of(logits)
    for token_id in range(0, len(logits), 7):
        for temperature in (0.1, 0.7, 1.0, 5.0):
            found = at_temperature(distribution, token_id, temperature)
            assert found.rank == distribution.rank(token_id)


def test_probabilities_at_temperatures_are_torch_s() -> None:
    torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")
    for temperature in (0.5, 2.0):
        entry = at_temperature(Distribution.of(TEXTBOOK), 2, temperature)
        row = torch.tensor(TEXTBOOK, dtype=torch.float64) / temperature
        assert entry.probability == pytest.approx(float(torch.softmax(row, 0)[2]), rel=1e-12)


def test_an_impossible_token_has_the_last_rank_and_probability_zero() -> None:
    logits = np.array([-np.inf, 0.0, 1.0], dtype=np.float32)
    found = at_temperature(Distribution.of(logits), 0, 0.5)
    assert (found.rank, found.probability) == (3, 0.0)
    assert moves(Distribution.of(logits), 0, 3.0).probability == 0.0


def test_rank_behind_the_chain() -> None:
    logits = np.array([2.0, 3.0, 1.0, 2.0], dtype=np.float32)
    shaped = shape(logits, SamplerSettings(top_k=3), ())
    assert [shaped_rank(shaped, i) for i in range(4)] == [2, 1, None, 3]
    penalised = shape(logits, SamplerSettings(presence_penalty=5.0), (1,))
    assert [shaped_rank(penalised, i) for i in range(4)] == [1, 4, 3, 2]


def test_rank_of_a_kept_token_whose_probability_underflows() -> None:
    logits = np.array([0.0, -np.inf, 1000.0, 0.0], dtype=np.float32)
    shaped = shape(logits, SamplerSettings(), ())
    assert [shaped_rank(shaped, i) for i in range(4)] == [2, None, 1, 3]


def test_long_rows_are_counted_over_all_their_pieces() -> None:
    logits = np.tile(np.array([1.0, 3.0, 2.0], dtype=np.float32), 20_000)
    found = at_temperature(Distribution.of(logits), 59_999, 2.0)
    assert found.rank == 40_000
    total = 20_000 * math.fsum(math.exp(x / 2) for x in (1.0, 3.0, 2.0))
    assert found.probability == pytest.approx(math.exp(1.0) / total, rel=1e-12)
    assert moves(Distribution.of(logits), 0).total == pytest.approx(
        20_000 * math.fsum(math.exp(x - 3.0) for x in (1.0, 3.0, 2.0)), rel=1e-12
    )
