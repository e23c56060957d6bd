"""Divergences against PyTorch and definitions; the biggest movers against a plain sort."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from logitscope.comparison import biggest_movers, jensen_shannon, kl
from logitscope.distribution import log_softmax

PAIRS = st.integers(1, 30).flatmap(
    lambda size: st.tuples(
        hnp.arrays(np.float32, size, elements=st.floats(-30, 30, width=32)),
        hnp.arrays(np.float32, size, elements=st.floats(-30, 30, width=32)),
    )
)


@pytest.fixture(scope="module")
def torch() -> Any:
    return pytest.importorskip("torch", reason="the extra `torch` is not installed")


@given(pair=PAIRS)
def test_kl_equals_pytorch(torch: Any, pair: tuple[np.ndarray, np.ndarray]) -> None:
    p, q = (torch.distributions.Categorical(logits=torch.from_numpy(x).double()) for x in pair)
    exact = torch.distributions.kl_divergence(p, q).item()
    assert kl(log_softmax(pair[0]), log_softmax(pair[1])) == pytest.approx(exact, abs=1e-12)


@given(pair=PAIRS)
def test_jensen_shannon_is_the_mean_kl_to_the_middle(
    torch: Any, pair: tuple[np.ndarray, np.ndarray]
) -> None:
    p, q = (torch.softmax(torch.from_numpy(x).double(), 0) for x in pair)
    middle = (p + q) / 2
    exact = (torch.special.xlogy(p, p / middle) + torch.special.xlogy(q, q / middle)).sum() / 2
    ours = jensen_shannon(log_softmax(pair[0]), log_softmax(pair[1]))
    assert ours == pytest.approx(exact.item(), abs=1e-12)
    assert 0.0 <= ours <= math.log(2.0) + 1e-15


def test_worked_example() -> None:
    """KL((1/2, 1/2) || (1/4, 3/4)) = ln 2 - ln 3 / 2."""
    p, q = np.log([0.5, 0.5]), np.log([0.25, 0.75])
    assert kl(p, q) == pytest.approx(math.log(2.0) - math.log(3.0) / 2, rel=1e-14)
    assert kl(p, p) == jensen_shannon(q, q) == 0.0


def test_excluded_tokens() -> None:
    p, q = np.array([0.0, -np.inf]), np.array([-np.inf, 0.0])
    assert kl(p, q) == math.inf
    assert jensen_shannon(p, q) == pytest.approx(math.log(2.0), rel=1e-15)
    both = np.array([0.0, -np.inf])
    assert kl(p, both) == 0.0


@given(pair=PAIRS, count=st.integers(0, 40))
def test_biggest_movers(pair: tuple[np.ndarray, np.ndarray], count: int) -> None:
    log_p, log_q = (log_softmax(x) for x in pair)
    change = np.abs(np.exp(log_q) - np.exp(log_p))
    expected = sorted(range(len(change)), key=lambda i: (-change[i], i))[:count]
    assert biggest_movers(log_p, log_q, count).tolist() == expected


def test_different_vocabularies_are_refused() -> None:
    for compare in (kl, jensen_shannon):
        with pytest.raises(ValueError, match="one vocabulary"):
            compare(np.zeros(2), np.zeros(3))
