"""One step as a table: the likeliest tokens, any others asked for, and the rest as one row.

The rows and the rest together are the whole vocabulary, before and after the sampler chain: both
columns of probabilities add up to 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from logitscope.chain import HEADS
from logitscope.distribution import Distribution, smallest_set
from logitscope.ranking import Ids
from logitscope.sampling import KEPT, NEVER_POSSIBLE, STAGE_CODES, Shaped, Stage

Vector = NDArray[np.float64]

_STAGES = {code: stage for stage, code in STAGE_CODES.items()}


@dataclass(frozen=True, slots=True)
class Rest:
    """Every token without a row of its own."""

    count: int
    raw: float
    """Probability of all of them before the sampler chain, added up directly."""
    shaped: float
    """Probability of all of them behind the sampler chain."""
    removed_count: int
    removed_raw: float
    """What part of ``raw`` belongs to tokens that cannot be drawn."""


@dataclass(frozen=True, slots=True, eq=False)
class StepTable:
    """``ids`` are the ``head_count`` likeliest of the raw distribution, likeliest first, and then
    the other ids asked for; the arrays have one entry a row.
    """

    ids: Ids
    head_count: int
    ranks: Ids
    logits: NDArray[np.float32]
    raw: Vector
    shaped: Vector
    """0 where a stage removed the token."""
    removed_by: NDArray[np.uint8]
    """Codes of ``Shaped.removed_by``."""
    rest: Rest


@dataclass(frozen=True, slots=True, eq=False)
class RawRows:
    """What of a table does not depend on the sampler: to be kept while its settings change."""

    distribution: Distribution
    ids: Ids
    head_count: int
    ranks: Ids
    raw: Vector
    rest_raw: float


def raw_rows(distribution: Distribution, count: int, others: Sequence[int] = ()) -> RawRows:
    """The ``min(count, V)`` likeliest tokens and ``others`` as rows, all else as the rest.

    Raises IndexError for an id outside the vocabulary.
    """
    head = distribution.top(count)
    in_head = set(head.tolist())
    extra = [other for other in dict.fromkeys(others) if other not in in_head]
    ids = np.concatenate([head, np.array(extra, dtype=np.int64)])
    extra_ranks = [distribution.rank(other) for other in extra]
    ranks = np.concatenate([np.arange(1, len(head) + 1), np.array(extra_ranks, dtype=np.int64)])
    raw, rest = distribution.split(ids)
    return RawRows(distribution, ids, len(head), ranks, raw, rest)


def tabulate(rows: RawRows, shaped: Shaped) -> StepTable:
    """The table of a step; ``shaped`` must come from the same row of logits."""
    distribution, ids = rows.distribution, rows.ids
    kept, rest_kept = shaped.split(ids)
    removed_count, removed_raw = _removed_outside(distribution, shaped, ids)
    count = len(distribution) - len(ids)
    return StepTable(
        ids=ids,
        head_count=rows.head_count,
        ranks=rows.ranks,
        logits=distribution.logits[ids],
        raw=rows.raw,
        shaped=kept,
        removed_by=_codes(shaped, ids),
        rest=Rest(count, rows.rest_raw, rest_kept, removed_count, removed_raw),
    )


def _codes(shaped: Shaped, ids: Ids) -> NDArray[np.uint8]:
    if shaped.kept == shaped.n_vocab:
        return np.full(len(ids), KEPT, dtype=np.uint8)
    return shaped.removed_by[ids]


def _removed_outside(distribution: Distribution, shaped: Shaped, ids: Ids) -> tuple[int, float]:
    if shaped.kept == shaped.n_vocab:
        return 0, 0.0
    gone = shaped.removed_by != KEPT
    gone[ids] = False
    # No dot product: OpenBLAS would wake its threads, which then spin for 10 ms on another core.
    return int(np.count_nonzero(gone)), distribution.mass_where(gone)


def stage_of(code: int) -> Stage | None:
    """The stage behind a code of ``Shaped.removed_by``; None for a token that was kept, or that
    was impossible from the start.
    """
    return _STAGES.get(code)


def was_impossible(code: int) -> bool:
    """Whether the code means a raw logit of -inf."""
    return code == NEVER_POSSIBLE


def tokens_holding(distribution: Distribution, mass: float) -> int:
    """How many of the likeliest tokens hold at least ``mass``; as ``smallest_set`` of the whole
    ranking, but without sorting it where a few thousand tokens suffice.
    """
    for size in (*HEADS, len(distribution)):
        head = distribution.probabilities_of(distribution.top(size))
        count = smallest_set(head, mass)
        if count < len(head):
            break
    return count


def by_rank(distribution: Distribution, ids: Ids) -> Ids:
    """The ids, likeliest first; int64."""
    return ids[np.argsort(distribution.ranks[ids])]
