"""The random numbers are Philox4x64-10, belong to their place, and are uniform."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logitscope.randomness import philox4x64, uniform, uniforms

WORD = st.integers(0, 2**64 - 1)
FULL = 2**64 - 1


@pytest.mark.parametrize(
    ("counter", "key", "block"),
    [
        (
            (0, 0, 0, 0),
            (0, 0),
            (0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B),
        ),
        (
            (FULL, FULL, FULL, FULL),
            (FULL, FULL),
            (0x87B092C3013FE90B, 0x438C3C67BE8D0224, 0x9CC7D7C69CD777B6, 0xA09CAEBF594F0BA0),
        ),
        (
            (0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89),
            (0x452821E638D01377, 0xBE5466CF34E90C6C),
            (0xA528F45403E61D95, 0x38C72DBD566E9788, 0xA5A1610E72FD18B5, 0x57BD43B5E52B7FE6),
        ),
    ],
)
def test_known_answers(counter: tuple, key: tuple, block: tuple) -> None:
    """The known-answer vectors that the authors ship with Random123 (``kat_vectors``)."""
    assert philox4x64(counter, key) == block


@given(st.tuples(WORD, WORD, WORD, WORD), st.tuples(WORD, WORD))
def test_equals_numpy(counter: tuple[int, ...], key: tuple[int, int]) -> None:
    number = sum(word << (64 * place) for place, word in enumerate(counter))
    generator = np.random.Philox(counter=(number - 1) % 2**256, key=np.array(key, dtype=np.uint64))
    assert list(philox4x64(counter, key)) == generator.random_raw(4).tolist()


@given(st.integers(-(2**63), 2**64 - 1), st.integers(0, 10**7), st.integers(0, 10**6))
def test_many_are_the_single_ones(seed: int, position: int, first: int) -> None:
    many = uniforms(seed, position, 5, first)
    assert many.tolist() == [uniform(seed, position, first + step) for step in range(5)]


@given(st.integers(), st.integers(0, 2**40), st.integers(0, 2**70))
def test_lies_on_the_grid_below_1(seed: int, position: int, attempt: int) -> None:
    u = uniform(seed, position, attempt)
    assert 0.0 <= u < 1.0
    assert float(u * 2**53).is_integer()


def test_neighbours_differ() -> None:
    places = [(seed, position, attempt) for seed in range(20) for position in range(20)
              for attempt in range(5)]  # fmt: skip
    assert len({uniform(*place) for place in places}) == len(places)


@pytest.mark.parametrize("axis", ["seed", "position", "attempt"])
def test_uniform_along_every_axis(axis: str) -> None:
    """Chi-square over 100 bins: 99 degrees of freedom exceed 148.2 with probability 0.001."""
    count = 20_000
    if axis == "seed":
        u = np.array([uniform(step, 3) for step in range(count)])
    elif axis == "position":
        u = np.array([uniform(3, step) for step in range(count)])
    else:
        u = uniforms(3, 3, count)
    observed = np.bincount((u * 100).astype(int), minlength=100)
    assert float(((observed - count / 100) ** 2 / (count / 100)).sum()) < 148.2
    assert abs(np.corrcoef(u[:-1], u[1:])[0, 1]) < 4 / np.sqrt(count)


def test_negative_attempts_are_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        uniform(1, 2, -1)
    with pytest.raises(ValueError, match="negative"):
        uniforms(1, 2, 3, -1)
    with pytest.raises(ValueError, match="negative"):
        uniforms(1, 2, -3)
