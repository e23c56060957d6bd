"""Losses of a text as they come in: growable arrays, one entry a token.

A token takes 104 bytes: a million tokens 104 MB. Unknown numbers are NaN (rank 0, id -1): the
first token of a text has none, for nothing stands before it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from logitscope.steps import StepRecord
from logitscope.surprisal import TOP, LossSummary, TokenNumbers, summarise_loss

_LEAST_CAPACITY = 256
_PIECE = 1 << 15
_FIELDS: dict[str, tuple[type[np.generic], tuple[int, ...], float]] = {
    "log_probability": (np.float64, (), np.nan),
    "rank": (np.int32, (), 0),
    "entropy": (np.float64, (), np.nan),
    "logit": (np.float32, (), np.nan),
    "top_ids": (np.int32, (TOP,), -1),
    "top_log_probability": (np.float32, (TOP,), -np.inf),
}


class LossTable:
    """Numbers of the tokens of one text, by position."""

    def __init__(self) -> None:
        self._ids = np.empty(_LEAST_CAPACITY, dtype=np.int32)
        self._arrays = {
            name: np.full((_LEAST_CAPACITY, *shape), unknown, dtype=dtype)
            for name, (dtype, shape, unknown) in _FIELDS.items()
        }
        self._count = 0
        self._all_known_before = 1
        """Positions from 1 up to here are known: where scoring goes on."""

    @classmethod
    def of(cls, ids: Sequence[int]) -> LossTable:
        """A table of a text of which nothing is known; for a thread of its own.

        The interpreter lock is never held for long: a million ids in one call take 50 ms.
        """
        table = cls()
        table._reserve(len(ids))
        for begin in range(0, len(ids), _PIECE):
            table._ids[begin : begin + _PIECE] = ids[begin : begin + _PIECE]
        table._count = len(ids)
        return table

    def __len__(self) -> int:
        return self._count

    @property
    def ids(self) -> NDArray[np.int32]:
        """(n,)"""
        return self._ids[: self._count]

    @property
    def log_probability(self) -> NDArray[np.float64]:
        """(n,), nats; NaN = unknown."""
        return self._arrays["log_probability"][: self._count]

    @property
    def loss(self) -> NDArray[np.float64]:
        """(n,), nats: the negative log-likelihood; NaN = unknown."""
        negative: NDArray[np.float64] = -self.log_probability
        return negative

    @property
    def rank(self) -> NDArray[np.int32]:
        """(n,), 1 = likeliest; 0 = unknown."""
        return self._arrays["rank"][: self._count]

    @property
    def entropy(self) -> NDArray[np.float64]:
        """(n,), nats; NaN = unknown."""
        return self._arrays["entropy"][: self._count]

    @property
    def logit(self) -> NDArray[np.float32]:
        """(n,); NaN = unknown, also for tokens that were generated and not scored."""
        return self._arrays["logit"][: self._count]

    @property
    def top_ids(self) -> NDArray[np.int32]:
        """(n, 10), likeliest first; -1 = none."""
        return self._arrays["top_ids"][: self._count]

    @property
    def top_log_probability(self) -> NDArray[np.float32]:
        """(n, 10), nats; -inf = none."""
        return self._arrays["top_log_probability"][: self._count]

    @property
    def first_unknown(self) -> int:
        """The first position from 1 on without a loss; ``len(self)`` where all are known."""
        unknown = np.isnan(self.log_probability[self._all_known_before :])
        at = int(unknown.argmax()) if unknown.any() else len(unknown)
        self._all_known_before = min(self._all_known_before + at, max(self._count, 1))
        return self._all_known_before

    @property
    def known(self) -> int:
        """Positions with a loss."""
        return self._count - int(np.isnan(self.log_probability).sum())

    def follow(self, ids: Sequence[int]) -> int:
        """Take the text as it is now; numbers stay up to the first changed token.

        Returns that position: a token's numbers depend on all before it and on nothing behind.
        """
        new = np.asarray(ids, dtype=np.int32)
        shared = min(len(new), self._count)
        differs = self._ids[:shared] != new[:shared]
        first = int(differs.argmax()) if differs.any() else shared
        self._reserve(len(new))
        self._ids[: len(new)] = new
        for name, (_, _, unknown) in _FIELDS.items():
            self._arrays[name][first : max(len(new), self._count)] = unknown
        self._count = len(new)
        self._all_known_before = max(1, min(self._all_known_before, first))
        return first

    def forget(self) -> None:
        """Another model: nothing is known any more."""
        for name, (_, _, unknown) in _FIELDS.items():
            self._arrays[name][: self._count] = unknown
        self._all_known_before = 1

    def put(self, start: int, numbers: TokenNumbers) -> None:
        """Numbers of the tokens from ``start`` on. Raises ValueError beyond the end."""
        stop = start + len(numbers.rank)
        if stop > self._count:
            raise ValueError(f"Numbers up to {stop} do not fit a text of {self._count} tokens.")
        for name, array in self._arrays.items():
            array[start:stop] = getattr(numbers, name)

    def put_step(self, position: int, step: StepRecord) -> None:
        """Numbers of a token that came with its own row: no pass is needed for it."""
        width = min(len(step.top_ids), TOP)
        self._arrays["log_probability"][position] = step.log_probability
        self._arrays["rank"][position] = step.rank
        self._arrays["entropy"][position] = step.entropy
        self._arrays["top_ids"][position, :width] = step.top_ids[:width]
        self._arrays["top_log_probability"][position, :width] = step.top_log_probabilities[:width]

    def summary(
        self, start: int, stop: int, n_bytes: int | None, n_characters: int | None
    ) -> LossSummary:
        """Averages over the positions ``start <= p < stop``; see ``summarise_loss``."""
        part = slice(start, stop)
        return summarise_loss(self.loss[part], self.rank[part], n_bytes, n_characters)

    def _reserve(self, count: int) -> None:
        capacity = len(self._ids)
        if count <= capacity:
            return
        capacity = max(count, capacity * 3 // 2)
        ids = np.empty(capacity, dtype=np.int32)
        ids[: self._count] = self._ids[: self._count]
        self._ids = ids
        for name, (dtype, shape, unknown) in _FIELDS.items():
            grown = np.full((capacity, *shape), unknown, dtype=dtype)
            grown[: self._count] = self._arrays[name][: self._count]
            self._arrays[name] = grown
