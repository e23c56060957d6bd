"""Exploring continuations by probability: beam search over the raw distribution.

At each depth the ``width`` likeliest sequences are kept, by the sum of their raw log-probabilities
(the search of Graves 2012 and Sutskever et al. 2014, without length normalisation: all kept
sequences of a depth have the same length). An ended sequence stays where it ended.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from logitscope.distribution import Distribution
from logitscope.placed import placed_step
from logitscope.steps import Origin, StepRecord

MAX_EVALUATIONS = 4096
"""Width times depth at most: at 15 ms a decode, a minute of a small model's time."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """A sequence behind the starting point, and the node at which it ends."""

    ids: tuple[int, ...]
    log_probability: float
    node: int


@dataclass(frozen=True, slots=True)
class _Candidate:
    """One more token behind a kept sequence."""

    before: _Kept
    step: StepRecord
    log_probability: float
    """Of the whole sequence."""


class Beam:
    """Asks for one row after the other: ``wanted`` names the ids, ``take`` brings the row.

    ``put`` appends a kept step behind a node and returns the new node; it is called depth by
    depth, likeliest first.
    """

    def __init__(
        self,
        width: int,
        depth: int,
        start: int,
        end_ids: frozenset[int],
        put: Callable[[int, StepRecord], int],
    ) -> None:
        if min(width, depth) < 1 or width * depth > MAX_EVALUATIONS:
            raise ValueError(
                f"A tree of {width} × {depth} is outside 1 to {MAX_EVALUATIONS:,} evaluations."
            )
        self._width = width
        self._depth = depth
        self._end_ids = end_ids
        self._put = put
        self._front = [_Kept((), 0.0, start)]
        self._at = 0
        self._next: list[_Candidate] = []
        self.done = 0
        self.total = 1 + width * (depth - 1)

    @property
    def wanted(self) -> tuple[int, ...] | None:
        """Ids behind the starting point whose row is needed now; None when all is done."""
        if self._depth == 0 or self._at >= len(self._front):
            return None
        return self._front[self._at].ids

    def take(self, logits: NDArray[np.float32]) -> None:
        """The row behind ``wanted``, shape (V,)."""
        here = self._front[self._at]
        distribution = Distribution(logits)
        best = distribution.top(min(self._width, len(logits)))
        for token_id, log_p in zip(best, distribution.log_probability(best), strict=True):
            step = placed_step(logits, int(token_id), Origin.EXPLORED)
            self._next.append(_Candidate(here, step, here.log_probability + float(log_p)))
        self.done += 1
        self._at += 1
        if self._at >= len(self._front):
            self._descend()

    def _descend(self) -> None:
        self._next.sort(key=lambda candidate: -candidate.log_probability)
        kept = []
        for candidate in self._next[: self._width]:
            node = self._put(candidate.before.node, candidate.step)
            token_id = candidate.step.token_id
            if token_id not in self._end_ids:
                ids = (*candidate.before.ids, token_id)
                kept.append(_Kept(ids, candidate.log_probability, node))
        self._front, self._next, self._at = kept, [], 0
        self._depth -= 1
