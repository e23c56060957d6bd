"""Comparing two distributions, against closed forms and ``logitscope.comparison``."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from logit_rows import rows

from logitscope.comparison import jensen_shannon, kl
from logitscope.distribution import Distribution
from logitscope.pinned import Side, compare
from logitscope.sampling import SamplerSettings, shape
from logitscope.units import bits


def side(*probabilities: float) -> Side:
    p = np.array(probabilities)
    with np.errstate(divide="ignore"):
        return Side(p, np.log(p))


def test_two_coins() -> None:
    found = compare(side(0.5, 0.5), side(0.75, 0.25), 10)
    assert found.kl_forward == pytest.approx(0.5 * math.log(4 / 3), rel=1e-12)
    assert found.kl_backward == pytest.approx(0.75 * math.log(3) - math.log(2), rel=1e-12)
    assert found.movers.tolist() == [0, 1]
    np.testing.assert_allclose(found.before, [0.5, 0.5])
    np.testing.assert_allclose(found.after, [0.75, 0.25])


def test_distributions_without_a_common_token_are_one_bit_apart() -> None:
    found = compare(side(1.0, 0.0), side(0.0, 1.0), 10)
    assert math.isinf(found.kl_forward)
    assert math.isinf(found.kl_backward)
    assert bits(found.jensen_shannon) == pytest.approx(1.0, rel=1e-12)


def test_only_the_direction_that_meets_an_excluded_token_is_infinite() -> None:
    found = compare(side(0.5, 0.5), side(1.0, 0.0), 10)
    assert math.isinf(found.kl_forward)
    assert found.kl_backward == pytest.approx(math.log(2), rel=1e-12)


def test_what_did_not_move_is_not_listed() -> None:
    p, q = side(0.5, 0.25, 0.25), side(0.25, 0.5, 0.25)
    assert compare(p, q, 10).movers.tolist() == [0, 1]
    assert compare(p, q, 1).movers.tolist() == [0]
    assert compare(p, p, 10).movers.tolist() == []
    assert compare(p, p, 10).kl_forward == 0.0


@settings(deadline=None)
@given(rows(largest=20.0, impossible=False), st.floats(0.2, 4.0), st.integers(1, 5))
def test_the_divergences_are_those_of_the_comparison(
    logits: np.ndarray, temperature: float, top_k: int
) -> None:
    shaped = shape(logits, SamplerSettings(temperature=temperature, top_k=top_k), ())
    p, q = Side.raw(Distribution.of(logits)), Side.shaped(shaped)
    found = compare(p, q, 5)
    assert found.kl_forward == pytest.approx(kl(p.logarithms, q.logarithms), abs=1e-12)
    assert found.kl_backward == pytest.approx(kl(q.logarithms, p.logarithms), abs=1e-12)
    assert found.jensen_shannon == pytest.approx(
        jensen_shannon(p.logarithms, q.logarithms), abs=1e-12
    )


@pytest.mark.parametrize("count", [1, 7, 50])
def test_the_biggest_movers_of_a_long_row(count: int) -> None:
    random = np.random.default_rng(0)
    p, q = (random.dirichlet(np.full(50_000, 0.1)) for _ in range(2))
    found = compare(side(*p), side(*q), count)
    expected = np.argsort(-np.abs(q - p), kind="stable")[:count]
    assert found.movers.tolist() == expected.tolist()


def test_either_distribution_of_a_step() -> None:
    logits = np.log(np.array([0.5, 0.25, 0.25], dtype=np.float32))
    raw = Side.raw(Distribution.of(logits))
    np.testing.assert_allclose(raw.probabilities, [0.5, 0.25, 0.25], rtol=1e-6)
    kept = Side.shaped(shape(logits, SamplerSettings(top_k=2), ()))
    np.testing.assert_allclose(kept.probabilities, [2 / 3, 1 / 3, 0.0], rtol=1e-6)
    np.testing.assert_allclose(np.exp(kept.logarithms), kept.probabilities, rtol=1e-12)


def test_sizes_must_agree() -> None:
    with pytest.raises(ValueError, match="one vocabulary"):
        compare(side(1.0), side(0.5, 0.5), 1)
