"""The simplest language model: one row of logits for each symbol, trained by gradient descent.

A table of shape (V, V): row ``i`` holds the logits of the symbol behind symbol ``i``. Nothing
before the last symbol matters. The table starts at 0, where every symbol is equally likely and the
loss is ln V. Losses are means over the pairs of a text, in nats.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

MOST_SYMBOLS = 4096
"""A row and a column each: 4,096² logits take 128 MiB in training and 64 MiB in a file."""
_BLOCK_ENTRIES = 1 << 18
"""Logits worked on at once: 2 MiB of float64 stay within a processor's cache."""

Table = NDArray[np.float64]


class BigramError(Exception):
    """A text no table can be trained on; ``str()`` is one sentence: what, and what to do."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """How often each symbol was followed by each other one."""

    n_symbols: int
    left: NDArray[np.int64]
    """First symbol of every pair that occurs, each pair once and in ascending order."""
    right: NDArray[np.int64]
    """Its second symbol."""
    count: NDArray[np.float64]
    """How often it occurs."""

    @classmethod
    def of(cls, ids: Sequence[int] | NDArray[np.integer], n_symbols: int) -> Pairs:
        """Count the neighbours in ``ids``, all of them within ``range(n_symbols)``.

        Raises BigramError for fewer than two ids and for more than MOST_SYMBOLS symbols.
        """
        if n_symbols > MOST_SYMBOLS:
            raise BigramError(
                f"The text has {n_symbols:,} different symbols and the table would take "
                f"{n_symbols * n_symbols * 8 / 1e6:,.0f} MB: choose a text with at most "
                f"{MOST_SYMBOLS:,}."
            )
        if len(ids) < 2:
            raise BigramError("The text has no two neighbouring symbols: choose a longer one.")
        row = np.asarray(ids, dtype=np.int64)
        codes, count = np.unique(row[:-1] * n_symbols + row[1:], return_counts=True)
        left, right = np.divmod(codes, n_symbols)
        return cls(n_symbols, left, right, count.astype(np.float64))

    @cached_property
    def total(self) -> int:
        """Pairs in the text."""
        return int(self.count.sum())

    @cached_property
    def row_count(self) -> NDArray[np.float64]:
        """How often each symbol stands in front of another, shape (V,)."""
        counts = np.zeros(self.n_symbols)
        np.add.at(counts, self.left, self.count)
        return counts

    @cached_property
    def best_loss(self) -> float:
        """The closed-form optimum: what the relative frequencies of the text themselves cost.

        No table has a lower mean cross-entropy on this text; gradient descent comes near it.
        """
        return float(-(self.count * np.log(self.count / self.row_count[self.left])).sum()) / (
            self.total
        )

    @property
    def chance_loss(self) -> float:
        """ln V: the loss of a guess that holds every symbol equally likely."""
        return math.log(self.n_symbols)

    @cached_property
    def safe_rate(self) -> float:
        """The largest learning rate with which every step is sure to lower the loss by theory.

        The Hessian of row i is ``(count_i / n) (diag(p) - p pᵀ)``, whose eigenvalues are at most
        ``count_i / 2n``; the rate is one over the largest of them (Nesterov, *Lectures on Convex
        Optimization*, 2018, section 1.2.3). It looks large because the loss is a mean over all
        pairs, of which each row sees a part.
        """
        return 2.0 * self.total / float(self.row_count.max())


class Trainer:
    """Full-batch gradient descent on the mean cross-entropy, one step at a call."""

    def __init__(self, pairs: Pairs, rate: float) -> None:
        """Raises ValueError for a rate that is not positive and finite."""
        if not (math.isfinite(rate) and rate > 0):
            raise ValueError(f"The learning rate must be above 0, but is {rate}.")
        self._pairs = pairs
        self._rate = rate
        self.table: Table = np.zeros((pairs.n_symbols, pairs.n_symbols))
        """(V, V), float64: changed in place."""
        rows = np.flatnonzero(pairs.row_count)
        size = max(1, _BLOCK_ENTRIES // pairs.n_symbols)
        self._blocks = [rows[first : first + size] for first in range(0, len(rows), size)]

    def step(self) -> float:
        """Take one step; returns the loss before it.

        The gradient is exact: in row i it is ``(count_i softmax(row_i) - counts_i) / n``.
        """
        return self._pass(self._rate)

    def loss(self) -> float:
        """The loss as the table is now."""
        return self._pass(0.0)

    def _pass(self, rate: float) -> float:
        pairs, table = self._pairs, self.table
        loss = -float(pairs.count @ table[pairs.left, pairs.right])
        for rows in self._blocks:
            logits = table[rows]
            peak = logits.max(axis=1, keepdims=True)
            weights = np.exp(logits - peak)
            total = weights.sum(axis=1, keepdims=True)
            counts = pairs.row_count[rows]
            loss += float(counts @ (peak + np.log(total))[:, 0])
            if rate:
                weights *= (rate / pairs.total) * counts[:, np.newaxis] / total
                table[rows] = logits - weights
        if rate:
            table[pairs.left, pairs.right] += (rate / pairs.total) * pairs.count
        return loss / pairs.total
