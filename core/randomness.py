"""Random numbers that belong to a place: the same (seed, position, attempt) gives the same u.

Counter-based (Philox4x64-10; Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as
1, 2, 3", SC11): there is no state to carry, so a run can be repeated from any step and a branch
does not disturb its sibling.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_MASK = (1 << 64) - 1
_ROUNDS = 10
_MULTIPLIERS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
_WEYL = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
_STEP = 2.0**-53
"""Distance of neighbouring u: 53 bits are what a float64 in [0, 1) can hold evenly spaced."""


def philox4x64(counter: tuple[int, int, int, int], key: tuple[int, int]) -> tuple[int, ...]:
    """One block of Philox4x64-10: four 64-bit words from a counter and a key of such words."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(_ROUNDS):
        even = _MULTIPLIERS[0] * c0
        odd = _MULTIPLIERS[1] * c2
        c0, c1, c2, c3 = (odd >> 64) ^ c1 ^ k0, odd & _MASK, (even >> 64) ^ c3 ^ k1, even & _MASK
        k0, k1 = (k0 + _WEYL[0]) & _MASK, (k1 + _WEYL[1]) & _MASK
    return c0, c1, c2, c3


def uniform(seed: int, position: int, attempt: int = 0) -> float:
    """A float64 in [0, 1), one of the 2^53 multiples of 2^-53.

    ``seed`` and ``position`` are the key (each modulo 2^64, so negative ones are fine);
    ``attempt`` >= 0 is the counter: 0 for the run itself, 1, 2, … for "draw again".
    """
    if attempt < 0:
        raise ValueError(f"The attempt must not be negative, but is {attempt}.")
    block = philox4x64((attempt & _MASK, attempt >> 64, 0, 0), (seed & _MASK, position & _MASK))
    return (block[0] >> 11) * _STEP


def uniforms(seed: int, position: int, count: int, first: int = 0) -> NDArray[np.float64]:
    """``uniform`` of the attempts ``first, first + 1, …``; float64, shape (count,)."""
    if first < 0 or count < 0:
        raise ValueError(f"Attempts from {first}, {count} of them: neither may be negative.")
    key = np.array([seed & _MASK, position & _MASK], dtype=np.uint64)
    # NumPy's generator counts up before it makes a block, hence it starts one below.
    generator = np.random.Philox(counter=(first - 1) % (1 << 256), key=key)
    words = generator.random_raw(4 * count)[::4]
    return (words >> np.uint64(11)).astype(np.float64) * _STEP
