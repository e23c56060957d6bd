"""Rows of logits the window holds: a few, by the ids they follow."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from logitscope import sampling
from logitscope.chain import Ranking
from logitscope.distribution import Distribution
from logitscope.sampling import SamplerSettings, Shaped

KEPT_ROWS = 8
"""At 262,144 entries a float32 row takes 1 MB and what is derived from it up to 7 MB more."""


@dataclass(frozen=True, slots=True, eq=False)
class ShownRow:
    """The distribution of the token at ``position``, computed from ``ids`` (all before it)."""

    ids: tuple[int, ...]
    distribution: Distribution

    @property
    def position(self) -> int:
        return len(self.ids)


class RowShelf:
    """The last rows used; the oldest is dropped. One of them is the current one."""

    def __init__(self) -> None:
        self._rows: OrderedDict[tuple[int, ...], ShownRow] = OrderedDict()
        self._shaped: tuple[ShownRow, SamplerSettings, Shaped] | None = None
        self._ranking: tuple[ShownRow, Ranking] | None = None
        """Of the current row, kept while its settings change."""
        self.current: ShownRow | None = None

    def put(self, ids: tuple[int, ...], logits: NDArray[np.float32]) -> ShownRow:
        row = ShownRow(ids, Distribution(logits))
        self._rows[ids] = row
        self._rows.move_to_end(ids)
        while len(self._rows) > KEPT_ROWS:
            self._rows.popitem(last=False)
        return row

    def get(self, ids: tuple[int, ...]) -> ShownRow | None:
        row = self._rows.get(ids)
        if row is not None:
            self._rows.move_to_end(ids)
        return row

    def shaped(self, settings: SamplerSettings) -> Shaped | None:
        """What the sampler chain makes of the current row; computed once for both."""
        row = self.current
        if row is None:
            return None
        if self._shaped is None or self._shaped[0] is not row or self._shaped[1] != settings:
            if self._ranking is None or self._ranking[0] is not row:
                shown = row.distribution
                ranking = Ranking(shown.logits, weigh=lambda: shown.weights)
                self._ranking = (row, ranking)
            made = sampling.shape_ranking(self._ranking[1], settings, row.ids)
            self._shaped = (row, settings, made)
        return self._shaped[2]

    def clear(self) -> None:
        self._rows.clear()
        self._shaped = self._ranking = None
