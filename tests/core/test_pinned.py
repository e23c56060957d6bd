"""Comparing two distributions, against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from logitscope.distribution import Distribution
from logitscope.pinned import compare, log_probabilities
from logitscope.sampling import SamplerSettings, shape
from logitscope.units import bits


def test_two_coins() -> None:
    p, q = np.log(np.array([0.5, 0.5])), np.log(np.array([0.75, 0.25]))
    found = compare(p, q, 10)
    assert found.kl_forward == pytest.approx(0.5 * math.log(4 / 3), rel=1e-12)
    assert found.kl_backward == pytest.approx(0.75 * math.log(3) - math.log(2), rel=1e-12)
    assert found.movers.tolist() == [0, 1]
    np.testing.assert_allclose(found.before, [0.5, 0.5])
    np.testing.assert_allclose(found.after, [0.75, 0.25])


def test_distributions_without_a_common_token_are_one_bit_apart() -> None:
    with np.errstate(divide="ignore"):
        p, q = np.log(np.array([1.0, 0.0])), np.log(np.array([0.0, 1.0]))
    found = compare(p, q, 10)
    assert math.isinf(found.kl_forward)
    assert math.isinf(found.kl_backward)
    assert bits(found.jensen_shannon) == pytest.approx(1.0, rel=1e-12)


def test_what_did_not_move_is_not_listed() -> None:
    p = np.log(np.array([0.5, 0.25, 0.25]))
    q = np.log(np.array([0.25, 0.5, 0.25]))
    assert compare(p, q, 10).movers.tolist() == [0, 1]
    assert compare(p, p, 10).movers.tolist() == []
    assert compare(p, p, 10).kl_forward == 0.0


def test_either_distribution_of_a_step() -> None:
    logits = np.log(np.array([0.5, 0.25, 0.25], dtype=np.float32))
    distribution, shaped = Distribution.of(logits), shape(logits, SamplerSettings(top_k=2), ())
    raw = np.exp(log_probabilities(distribution, shaped, is_shaped=False))
    np.testing.assert_allclose(raw, [0.5, 0.25, 0.25], rtol=1e-6)
    kept = np.exp(log_probabilities(distribution, shaped, is_shaped=True))
    np.testing.assert_allclose(kept, [2 / 3, 1 / 3, 0.0], rtol=1e-6)


def test_sizes_must_agree() -> None:
    with pytest.raises(ValueError, match="one vocabulary"):
        compare(np.zeros(2), np.zeros(3), 1)
