"""Codes and weights of a heatmap, kept up with a table of losses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from logitscope import heat
from logitscope.gui.widgets.heat_view import UNKNOWN
from logitscope.heat import Measure, Scale
from logitscope.losses import LossTable

_STEPS = 255
STRONG = 2
"""Weight from which a token counts as surprising."""


class Heat:
    """What a measure on a scale makes of a table; recomputes only what changed."""

    def __init__(self) -> None:
        self.measure = Measure.LOSS
        self.is_fitted = False
        self.scale = heat.fixed_scale(self.measure)
        self.codes: NDArray[np.int16] = np.zeros(0, dtype=np.int16)
        self.weights: NDArray[np.uint8] = np.zeros(0, dtype=np.uint8)

    def set_look(self, measure: Measure, *, is_fitted: bool) -> None:
        """Another measure or scale: then ``update`` the whole text."""
        self.measure, self.is_fitted = measure, is_fitted

    def update(self, table: LossTable, start: int, stop: int) -> None:
        """Take over positions ``start <= p < stop``, and the length."""
        count = len(table)
        self._resize(count)
        scale = self._scale_of(table)
        if scale != self.scale:
            self.scale = scale
            start, stop = 0, count
        part = slice(start, min(stop, count))
        if np.isnan(table.log_probability[part]).all():
            # A long text that has just been opened: nothing to compute for a million tokens.
            self.codes[part], self.weights[part] = UNKNOWN, 0
            return
        place = heat.places(self.values(table, part), scale)
        codes = np.where(np.isnan(place), UNKNOWN, np.round(place * _STEPS))
        self.codes[part] = codes.astype(np.int16)
        self.weights[part] = heat.mark_weights(self.measure, place)

    def values(self, table: LossTable, part: slice) -> NDArray[np.float64]:
        """The measure of some positions, in its unit."""
        loss = -table.log_probability[part]
        return heat.values(self.measure, loss, table.rank[part], table.entropy[part])

    def find_strong(self, position: int, direction: int) -> int | None:
        """The next or previous position that stands out; the strongest weight there is, if weak."""
        strongest = int(self.weights.max()) if len(self.weights) else 0
        if strongest == 0:
            return None
        found = np.flatnonzero(self.weights >= min(STRONG, strongest))
        if direction > 0:
            at = int(np.searchsorted(found, position, side="right"))
            return int(found[at]) if at < len(found) else None
        at = int(np.searchsorted(found, position, side="left"))
        return int(found[at - 1]) if at > 0 else None

    def _scale_of(self, table: LossTable) -> Scale:
        if not self.is_fitted:
            return heat.fixed_scale(self.measure)
        return heat.fitted_scale(self.measure, self.values(table, slice(0, len(table))))

    def _resize(self, count: int) -> None:
        if count == len(self.codes):
            return
        kept = min(count, len(self.codes))
        codes = np.full(count, UNKNOWN, dtype=np.int16)
        weights = np.zeros(count, dtype=np.uint8)
        codes[:kept], weights[:kept] = self.codes[:kept], self.weights[:kept]
        self.codes, self.weights = codes, weights
