"""Probabilities, entropy and tails: textbook cases, exact arithmetic, and PyTorch in float64."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from logit_rows import rows

from logitscope.distribution import (
    Distribution,
    effective_choices,
    entropy,
    log_softmax,
    log_sum_exp,
    smallest_set,
    softmax,
)

TEXTBOOK = np.array([5.0, 2.0, 1.0, -2.0], dtype=np.float32)


@pytest.fixture(scope="module")
def torch() -> Any:
    return pytest.importorskip("torch", reason="the extra `torch` is not installed")


class TestTextbook:
    def test_percentages(self) -> None:
        assert [f"{p * 100:.1f}" for p in softmax(TEXTBOOK)] == ["93.5", "4.7", "1.7", "0.1"]

    def test_a_lead_of_2_is_e_squared(self) -> None:
        distribution = Distribution.of(np.array([3.0, 1.0], dtype=np.float32))
        assert distribution.odds_to_top([0, 1]).tolist() == [1.0, pytest.approx(math.e**2)]

    def test_three_moves(self) -> None:
        moves = Distribution.of(TEXTBOOK).softmax_of(1)
        assert (moves.logit, moves.largest) == (2.0, 5.0)
        assert moves.exponential == pytest.approx(math.exp(-3.0), rel=1e-15)
        total = math.fsum(math.exp(x) for x in (0.0, -3.0, -4.0, -7.0))
        assert moves.total == pytest.approx(total, rel=1e-15)
        assert moves.probability == pytest.approx(math.exp(-3.0) / total, rel=1e-15)

    def test_a_constant_changes_nothing(self) -> None:
        moved = TEXTBOOK + np.float32(64.0)
        np.testing.assert_array_equal(softmax(moved), softmax(TEXTBOOK))

    @pytest.mark.parametrize("temperature", [0.01, 0.5, 2.0, 100.0])
    def test_temperature_keeps_the_ranking(self, temperature: float) -> None:
        row = np.random.default_rng(1).standard_normal(1_000).astype(np.float32)
        heated = (row / np.float32(temperature)).astype(np.float32)
        np.testing.assert_array_equal(Distribution.of(heated).order, Distribution.of(row).order)

    def test_even_choice(self) -> None:
        row = np.full(262_144, -7.25, dtype=np.float32)
        distribution = Distribution.of(row)
        assert distribution.entropy == pytest.approx(18 * math.log(2.0), rel=1e-14)
        assert effective_choices(distribution.entropy) == pytest.approx(262_144)
        assert distribution.tail_mass(64) == pytest.approx(1 - 64 / 262_144, rel=1e-14)


class TestAgainstPyTorch:
    @given(row=rows())
    def test_log_softmax(self, torch: Any, row: np.ndarray) -> None:
        exact = torch.log_softmax(torch.from_numpy(row).double(), 0).numpy()
        np.testing.assert_allclose(log_softmax(row), exact, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(softmax(row), np.exp(exact), rtol=1e-12, atol=1e-300)

    @given(row=rows())
    def test_log_sum_exp(self, torch: Any, row: np.ndarray) -> None:
        exact = torch.logsumexp(torch.from_numpy(row).double(), 0).item()
        assert log_sum_exp(row) == pytest.approx(exact, rel=1e-14, abs=1e-14)

    @given(row=rows())
    def test_entropy(self, torch: Any, row: np.ndarray) -> None:
        exact = torch.special.entr(torch.softmax(torch.from_numpy(row).double(), 0)).sum().item()
        assert entropy(row) == pytest.approx(exact, rel=1e-12, abs=1e-12)

    @pytest.mark.parametrize("spread", [0.1, 3.0, 30.0])
    def test_long_row(self, torch: Any, spread: float) -> None:
        row = (np.random.default_rng(2).standard_normal(262_144) * spread).astype(np.float32)
        exact = torch.distributions.Categorical(logits=torch.from_numpy(row).double())
        distribution = Distribution.of(row)
        assert distribution.entropy == pytest.approx(exact.entropy().item(), rel=1e-12)
        expected = exact.logits.numpy()
        np.testing.assert_allclose(distribution.log_probabilities, expected, rtol=1e-13, atol=1e-12)
        ids = [0, 77, 262_143]
        np.testing.assert_allclose(distribution.log_probability(ids), expected[ids], rtol=1e-13)


class TestTail:
    @given(rows(), st.integers(0, 70))
    def test_head_and_tail_make_1(self, row: np.ndarray, k: int) -> None:
        head = Distribution.of(row).head(k)
        assert math.fsum(head.probabilities) + head.tail_mass == pytest.approx(1.0, abs=1e-12)
        assert len(head.ids) + head.tail_count == len(row)

    @pytest.mark.parametrize("size", [1_000, 262_144])
    @pytest.mark.parametrize("k", [1, 10, 999])
    def test_long_row(self, size: int, k: int) -> None:
        row = (np.random.default_rng(3).standard_normal(size) * 4).astype(np.float32)
        distribution = Distribution.of(row)
        head = distribution.head(k)
        assert math.fsum(head.probabilities) + head.tail_mass == pytest.approx(1.0, abs=1e-12)
        assert head.tail_mass == distribution.tail_mass(k)
        assert distribution.mass(distribution.order[k:]) == pytest.approx(head.tail_mass, rel=1e-12)

    def test_a_tail_far_below_rounding_is_not_lost(self) -> None:
        """1 - (1 - 3e-44) would be 0."""
        row = np.array([100.0, 0.0, 0.0], dtype=np.float32)
        assert Distribution.of(row).tail_mass(1) == pytest.approx(2 * math.exp(-100.0), rel=1e-14)

    def test_nearly_certain(self) -> None:
        """-log p of the likeliest is then the tail itself."""
        distribution = Distribution.of(np.array([50.0, 0.0], dtype=np.float32))
        assert -distribution.log_probability([0])[0] == pytest.approx(math.exp(-50.0), rel=1e-14)


class TestEdges:
    def test_one_token(self) -> None:
        distribution = Distribution.of(np.array([-123.5], dtype=np.float32))
        assert distribution.probabilities.tolist() == [1.0]
        assert (distribution.entropy, distribution.log_z) == (0.0, -123.5)
        assert distribution.head(10).tail_mass == 0.0

    def test_minus_infinity_is_exactly_0(self) -> None:
        row = np.array([0.0, -np.inf, 0.0], dtype=np.float32)
        distribution = Distribution.of(row)
        assert distribution.probabilities.tolist() == [0.5, 0.0, 0.5]
        assert distribution.log_probabilities[1] == -np.inf
        assert distribution.entropy == pytest.approx(math.log(2.0), rel=1e-15)
        assert distribution.odds_to_top([1]).tolist() == [np.inf]
        assert distribution.rank(1) == 3

    def test_huge_values(self) -> None:
        row = np.array([3e38, -3e38, 3e38], dtype=np.float32)
        assert softmax(row).tolist() == [0.5, 0.0, 0.5]
        assert log_sum_exp(row) == pytest.approx(float(row[0]), rel=1e-15)

    def test_bfloat16_like_and_float64_rows_are_taken_as_float32(self) -> None:
        np.testing.assert_array_equal(softmax(TEXTBOOK.astype(np.float64)), softmax(TEXTBOOK))
        np.testing.assert_array_equal(softmax(TEXTBOOK.astype(np.float16)), softmax(TEXTBOOK))

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_refused(self, bad: float) -> None:
        row = np.array([1.0, bad], dtype=np.float32)
        for function in (softmax, log_softmax, log_sum_exp, entropy):
            with pytest.raises(ValueError, match="has no distribution"):
                function(row)

    def test_ids_outside(self) -> None:
        distribution = Distribution.of(TEXTBOOK)
        for look_up in (distribution.probability, distribution.rank, distribution.softmax_of):
            for token_id in (-1, 4):
                with pytest.raises(IndexError, match="vocabulary of 4"):
                    look_up(token_id)


@given(rows())
def test_views_agree(row: np.ndarray) -> None:
    distribution = Distribution.of(row)
    order = distribution.order
    assert [distribution.rank(i) for i in order.tolist()] == list(range(1, len(row) + 1))
    assert distribution.ranks[order].tolist() == list(range(1, len(row) + 1))
    assert distribution.likeliest == order[0]
    assert distribution.top(5).tolist() == order[:5].tolist()
    np.testing.assert_allclose(
        distribution.cumulative, np.cumsum([distribution.probability(i) for i in order]), rtol=1e-13
    )


class TestSmallestSet:
    @given(st.lists(st.integers(1, 50), min_size=1, max_size=12), st.integers(0, 100))
    def test_against_fractions(self, weights: list[int], percent: int) -> None:
        """The fewest whose exact sum reaches the mass; not judged where rounding decides."""
        weights = sorted(weights, reverse=True)
        exact = [Fraction(weight, sum(weights)) for weight in weights]
        sums = [sum(exact[: n + 1], Fraction(0)) for n in range(len(exact))]
        mass = Fraction(percent, 100)
        if mass not in sums:
            expected = next(n + 1 for n, total in enumerate(sums) if total >= mass)
            assert smallest_set(np.array(exact, dtype=np.float64), percent / 100) == expected

    def test_the_crossing_token_belongs_to_it(self) -> None:
        halves = np.array([0.5, 0.25, 0.125, 0.125])
        assert [smallest_set(halves, mass) for mass in (0.0, 0.5, 0.51, 0.75, 0.76, 1.0)] == [
            1, 1, 2, 2, 3, 4,
        ]  # fmt: skip

    def test_rounding_below_1_takes_all(self) -> None:
        assert smallest_set(np.full(3, 0.333), 1.0) == 3

    @pytest.mark.parametrize("mass", [-0.1, 1.1, math.nan])
    def test_refused(self, mass: float) -> None:
        with pytest.raises(ValueError, match="between 0 and 1"):
            smallest_set(np.array([1.0]), mass)
