"""What is drawn of a table of losses: tints, two series for the curve, paragraphs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from logitscope.envelope import BlockedSeries
from logitscope.gui.panels import loss_words
from logitscope.gui.panels.loss_heat import Heat
from logitscope.gui.widgets.loss_tooltip import loss_tooltip
from logitscope.losses import LossTable
from logitscope.text_units import TextUnits
from logitscope.vocabulary import Vocabulary


class Drawn:
    """Kept up with a table; each method does one part, so that they can be done in turns."""

    def __init__(self) -> None:
        self.heat = Heat()
        self.loss, self.entropy = BlockedSeries(sign=-1.0), BlockedSeries()
        self.paragraphs: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.vocabulary: Vocabulary | None = None
        """What the ids are read with; None while it is another model's."""
        self._units: tuple[Vocabulary, TextUnits] | None = None
        self._has_paragraphs = True

    @property
    def units(self) -> TextUnits | None:
        """Of the vocabulary; made when first asked for, which takes 10 ms at 262,144 entries."""
        if self.vocabulary is None:
            return None
        if self._units is None or self._units[0] is not self.vocabulary:
            self._units = self.vocabulary, TextUnits(self.vocabulary)
        return self._units[1]

    def set_text(self, vocabulary: Vocabulary | None) -> None:
        """The ids are other ones."""
        self.vocabulary = vocabulary
        self._has_paragraphs = False

    def update_loss(self, table: LossTable, dirty: range) -> None:
        self.loss.update(table.log_probability, dirty.start, dirty.stop)

    def update_entropy(self, table: LossTable, dirty: range) -> None:
        self.entropy.update(table.entropy, dirty.start, dirty.stop)

    def update_paragraphs(self, table: LossTable) -> None:
        if self._has_paragraphs:
            return
        self._has_paragraphs = True
        units = self.units if len(table) > 1 else None
        self.paragraphs = (
            np.zeros(0, dtype=np.int64) if units is None else units.paragraph_starts(table.ids)
        )

    def tooltip_of(self, table: LossTable, position: int) -> str:
        if self.vocabulary is None or position >= len(table):
            return ""
        return loss_tooltip(self.vocabulary, table, position)

    def number_of(self, table: LossTable, position: int) -> str:
        """What stands below a token."""
        if position >= len(table):
            return ""
        value = self.heat.values(table, slice(position, position + 1))[0]
        return loss_words.below(self.heat.measure, float(value), int(table.rank[position]))
