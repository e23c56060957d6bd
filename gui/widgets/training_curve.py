"""Loss over training steps, beside the two losses that bound it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

from logitscope.gui import colors, theme

HEADROOM = 1.08
"""The axis ends a little above chance, so that its line is seen."""
LABEL_HEIGHT = 0.92
"""Place of the lines' labels along them."""


class TrainingCurve(QWidget):
    """Draws what it is given: ``set_bounds`` before a training, ``set_losses`` during it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._library = theme.pyqtgraph()
        self.plot = self._library.PlotWidget()
        self.plot.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)
        self.plot.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        item = self.plot.getPlotItem()
        item.disableAutoRange()
        item.hideButtons()
        item.setMenuEnabled(False)
        item.setMouseEnabled(False, False)
        item.setContentsMargins(0, 4, 8, 0)
        item.setLabel("bottom", self.tr("step"))
        item.setLabel("left", self.tr("loss (nats)"))
        item.getAxis("left").enableAutoSIPrefix(False)
        item.getAxis("bottom").enableAutoSIPrefix(False)
        self.losses = item.plot()
        self.best = self._line(self.tr("optimum from counts"), above=False)
        self.chance = self._line(self.tr("chance"), above=True)
        self._steps, self._top = 1, 1.0
        self.setMinimumSize(320, 200)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.plot)
        theme.notifier().changed.connect(self._colour)
        self._colour()
        self.clear()

    def clear(self) -> None:
        """An empty plot."""
        self.losses.setData([], [])
        self.best.hide()
        self.chance.hide()

    def set_bounds(self, steps: int, best: float, chance: float) -> None:
        """The length of the training, and both lines; nats."""
        self._steps, self._top = steps, max(chance, best, 0.1)
        for line, value in ((self.best, best), (self.chance, chance)):
            line.setValue(value)
            line.show()
        self._set_range()

    def set_losses(self, losses: Sequence[float]) -> None:
        """The loss before the first step, and behind each one since."""
        values = np.asarray(losses)
        self.losses.setData(np.arange(len(values)), values)
        highest = float(values.max()) if len(values) else 0.0
        if highest > self._top:
            self._top = highest
            self._set_range()

    def _set_range(self) -> None:
        top = self._top * HEADROOM
        self.plot.setRange(xRange=(0, self._steps), yRange=(0.0, top), padding=0.02)

    def _line(self, label: str, *, above: bool) -> Any:
        anchor = (1.0, 1.0) if above else (1.0, 0.0)
        options = {"position": LABEL_HEIGHT, "anchors": [anchor, anchor]}
        line = self._library.InfiniteLine(0.0, angle=0, label=label, labelOpts=options)
        self.plot.addItem(line)
        return line

    def _colour(self) -> None:
        palette, library = theme.palette(), self._library
        self.plot.setBackground(palette.page)
        self.losses.setPen(library.mkPen(palette.bar_shaped, width=2.0))
        for line, color in ((self.best, palette.derived), (self.chance, palette.muted)):
            readable = colors.readable(color, palette.page)
            line.setPen(library.mkPen(readable, width=1.5, style=Qt.PenStyle.DashLine))
            line.label.setColor(readable)
        for side in ("left", "bottom"):
            axis = self.plot.getPlotItem().getAxis(side)
            axis.setPen(palette.line)
            axis.setTextPen(palette.muted)
            axis.setStyle(tickFont=theme.number_font(-1))
        self.plot.getPlotItem().showGrid(x=False, y=True, alpha=0.15)
