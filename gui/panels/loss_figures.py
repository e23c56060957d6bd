"""The line between controls and heatmap: averages on the left, the legend on the right."""

from __future__ import annotations

import numpy as np
from PySide6.QtWidgets import QWidget

from logitscope.gui import theme
from logitscope.gui.panels import loss_words
from logitscope.gui.panels.loss_heat import Heat
from logitscope.gui.widgets.flow_row import FlowRow
from logitscope.gui.widgets.heat_legend import HeatLegend
from logitscope.gui.widgets.parts_label import PartsLabel
from logitscope.gui.widgets.plain import set_tip
from logitscope.heat import Measure
from logitscope.losses import LossTable
from logitscope.text_units import TextUnits

LEAST_SUMMARY = 15 * theme.GRID
"""The mean loss with its unit, and an ellipsis."""


class Figures(FlowRow):
    """Knows no session: it is told what to show. In a narrow panel the legend stands below."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.summary = PartsLabel(self)
        self.summary.setAccessibleName(self.tr("Averages"))
        self.legend = HeatLegend(self)
        self.add(self.summary, least=LEAST_SUMMARY)
        self.add(self.legend)

    def show_averages(self, table: LossTable, chosen: range, units: TextUnits | None) -> None:
        """Of the chosen positions, or of all; without ``units`` there is nothing to show."""
        if len(table) == 1:
            self._say((), (self.tr("One token alone has no loss: nothing stands before it."),))
            return
        part = chosen or range(len(table))
        if units is None or not part:
            self._say(())
            return
        known = ~np.isnan(table.log_probability[part.start : part.stop])
        counts = units.count(table.ids[part.start : part.stop][known])
        summary = table.summary(part.start, part.stop, *counts)
        parts = loss_words.summary_parts(summary, is_part=bool(chosen))
        self._say((*parts, loss_words.summary_tip(summary)), parts)

    def say_why(self, why: str, *, is_older: bool) -> None:
        """Why there are no new numbers, in one sentence; ``is_older``: those on show are another
        text's."""
        said = self.tr("Of an older text: {why}").format(why=why) if is_older else why
        self._say((said,), (said,) if why else ())

    def _say(self, tip: tuple[str, ...], parts: tuple[str, ...] = ()) -> None:
        self.summary.setFont(theme.number_font())
        self.summary.set_parts(parts)
        set_tip(self.summary, "\n".join(tip))

    def show_legend(self, heat: Heat) -> None:
        """What the tints stand for."""
        measure, scale = heat.measure, heat.scale
        if measure is Measure.RANK:
            self.legend.set_buckets(loss_words.BUCKETS)
            return
        is_probability = measure is Measure.PROBABILITY
        low, high = (
            loss_words.end_text(value, is_probability=is_probability)
            for value in (scale.low, scale.high)
        )
        if not is_probability:
            high = f"≥ {high}"
        if measure.is_two_sided:
            low = f"≤ {low}"
        self.legend.set_range(low, high, measure.unit, is_two_sided=measure.is_two_sided)
