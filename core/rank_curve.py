"""Probability over rank for the whole vocabulary, at as many points as can be seen.

On a logarithmic axis of ranks, neighbouring ranks of a large vocabulary fall on one pixel; ranks
spaced evenly in the logarithm are all that is drawn. Every value is that of one token, never an
average.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from logitscope.distribution import Distribution
from logitscope.ranking import Ids
from logitscope.sampling import NEVER_POSSIBLE, STAGE_CODES, Shaped, Stage

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a stage cut: the first and last raw rank that survived it."""

    stage: Stage
    first_rank: int
    last_rank: int


@dataclass(frozen=True, slots=True, eq=False)
class RankCurve:
    """Probabilities of the tokens at ``ranks`` of the raw distribution."""

    ranks: Ids
    raw: Vector
    shaped: Vector
    """0 where the token was removed."""
    cuts: tuple[Cut, ...]


def spaced_ranks(size: int, points: int) -> Ids:
    """At most ``points`` ranks from 1 to ``size``, evenly spaced in the logarithm; int64."""
    ranks = np.geomspace(1.0, size, min(points, size))
    return np.unique(np.rint(ranks).astype(np.int64))


def rank_curve(distribution: Distribution, shaped: Shaped, points: int) -> RankCurve:
    """The curve at spaced ranks and, exactly, at both sides of every cut."""
    size = len(distribution)
    cuts = cuts_of(distribution, shaped)
    edges = [rank for cut in cuts for rank in _around(cut, size)]
    ranks = np.union1d(spaced_ranks(size, points), np.array(edges, dtype=np.int64))
    ids = distribution.order[ranks - 1]
    return RankCurve(ranks, distribution.probabilities[ids], shaped.by_id[ids], cuts)


def cuts_of(distribution: Distribution, shaped: Shaped) -> tuple[Cut, ...]:
    """One cut for every stage that removed something, in the order of the chain."""
    reports = [report for report in shaped.reports if report.kept_after < report.kept_before]
    if not reports:
        return ()
    codes = shaped.removed_by[distribution.order]
    alive = codes != NEVER_POSSIBLE
    cuts = []
    for report in reports:
        alive &= codes != STAGE_CODES[report.stage]
        survivors = np.flatnonzero(alive)
        cuts.append(Cut(report.stage, int(survivors[0]) + 1, int(survivors[-1]) + 1))
    return tuple(cuts)


def _around(cut: Cut, size: int) -> list[int]:
    wanted = (cut.first_rank - 1, cut.first_rank, cut.last_rank, cut.last_rank + 1)
    return [rank for rank in wanted if 1 <= rank <= size]
