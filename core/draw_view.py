"""The draw as a picture: intervals of u side by side, and counts of many draws."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from logitscope.ranking import Ids
from logitscope.sampling import Shaped, Tally

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """The widest intervals in their order on [0, 1): token ``ids[i]`` is drawn by
    ``lows[i] <= u < highs[i]``.
    """

    ids: Ids
    lows: Vector
    highs: Vector
    rest_count: int
    """Tokens that can be drawn but are too unlikely to be among ``ids``."""


def intervals(shaped: Shaped, count: int, least: float = 0.0) -> Intervals:
    """The ``count`` likeliest tokens that can be drawn, and are at least ``least`` likely."""
    ids, probabilities = shaped.head(count)
    shown = int(np.count_nonzero(probabilities >= least))
    highs = shaped.ends(count)[:shown]
    lows = np.concatenate([[0.0], highs[:-1]])[:shown]
    return Intervals(ids[:shown], lows, highs, shaped.kept - shown)


@dataclass(frozen=True, slots=True)
class Frequency:
    """How often a token (or all others together) came in ``n`` draws."""

    token_id: int | None
    """None: every other token."""
    observed: int
    expected: float
    """n p."""
    deviation: float
    """Standard deviation of the binomial count, sqrt(n p (1 - p))."""


def frequencies(shaped: Shaped, tally: Tally, count: int) -> tuple[Frequency, ...]:
    """The ``count`` likeliest tokens and, unless they are all, the others as one.

    Tokens that never came are listed with 0: that they can be drawn is part of the picture.
    """
    draws = int(tally.counts.sum())
    seen = dict(zip(tally.ids.tolist(), tally.counts.tolist(), strict=True))
    ids, probabilities = shaped.head(count)
    listed = [
        _frequency(token_id, seen.get(token_id, 0), draws, probability)
        for token_id, probability in zip(ids.tolist(), probabilities.tolist(), strict=True)
    ]
    if shaped.kept > len(ids):
        others = draws - sum(entry.observed for entry in listed)
        rest = max(0.0, 1.0 - float(shaped.ends(count)[-1]))
        listed.append(_frequency(None, others, draws, rest))
    return tuple(listed)


def _frequency(token_id: int | None, observed: int, draws: int, p: float) -> Frequency:
    return Frequency(token_id, observed, draws * p, math.sqrt(max(0.0, draws * p * (1.0 - p))))
