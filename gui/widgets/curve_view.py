"""Probability over rank on two logarithmic axes, with lines where stages cut."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from logitscope.gui import theme

DECADES_STEP = 4
"""The lower end of the axis is a multiple of so many decades: it rarely moves."""
LABEL_PLACES = (0.96, 0.88, 0.80, 0.72, 0.64)
"""Heights of the lines' labels, so that lines side by side do not write over each other."""

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CutLine:
    """A vertical line between two ranks."""

    label: str
    rank: float


class CurveView(QWidget):
    """Draws what it is given; ``hovered`` gives the rank under the mouse."""

    hovered = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._library = theme.pyqtgraph()
        self._size = 1
        self._lines: list[object] = []
        self.plot = self._library.PlotWidget()
        # The menu of numbers is this widget's, not the plot's.
        self.plot.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)
        item = self.plot.getPlotItem()
        item.setLogMode(True, True)
        item.disableAutoRange()
        item.hideButtons()
        item.setMenuEnabled(False)
        item.setLabel("bottom", self.tr("rank"))
        item.setLabel("left", self.tr("probability"))
        self._raw = item.plot()
        self._shaped = item.plot()
        self.plot.scene().sigMouseMoved.connect(self._mouse_moved)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.plot)
        theme.notifier().changed.connect(self._colour)
        self._colour()

    def set_curves(
        self, ranks: NDArray[np.int64], raw: Vector, shaped: Vector, cuts: tuple[CutLine, ...]
    ) -> None:
        """Ranks ascending to the size of the vocabulary; zeros are left out of the curves."""
        self._size = int(ranks[-1])
        for curve, values in ((self._raw, raw), (self._shaped, shaped)):
            positive = values > 0
            curve.setData(ranks[positive], values[positive])
        self._set_range(float(raw[raw > 0].min()))
        self._set_cuts(cuts)

    def _set_range(self, least: float) -> None:
        floor = -DECADES_STEP * math.ceil(-math.log10(least) / DECADES_STEP)
        self.plot.setRange(
            xRange=(0.0, max(0.1, math.log10(self._size))),
            yRange=(min(float(floor), -DECADES_STEP), 0.0),
            padding=0.02,
        )

    def _set_cuts(self, cuts: tuple[CutLine, ...]) -> None:
        for line in self._lines:
            self.plot.removeItem(line)
        self._lines = [self._line(place, cut) for place, cut in enumerate(cuts)]
        for line in self._lines:
            self.plot.addItem(line)

    def _line(self, place: int, cut: CutLine) -> object:
        palette = theme.palette()
        pen = self._library.mkPen(palette.warning, width=1.0, style=Qt.PenStyle.DashLine)
        options = {
            "position": LABEL_PLACES[place % len(LABEL_PLACES)],
            "color": palette.warning,
            "anchors": [(0.0, 0.5), (0.0, 0.5)],
        }
        return self._library.InfiniteLine(
            math.log10(cut.rank), angle=90, pen=pen, label=cut.label, labelOpts=options
        )

    def _colour(self) -> None:
        palette = theme.palette()
        self.plot.setBackground(palette.page)
        self._raw.setPen(self._library.mkPen(palette.muted, width=1.5))
        self._shaped.setPen(self._library.mkPen(palette.bar_shaped, width=2.0))
        item = self.plot.getPlotItem()
        for side in ("left", "bottom"):
            axis = item.getAxis(side)
            axis.setPen(palette.line)
            axis.setTextPen(palette.muted)
            axis.setStyle(tickFont=theme.number_font(-1))
            axis.logTickStrings = _powers_of_ten
        item.showGrid(x=True, y=True, alpha=0.15)

    def _mouse_moved(self, place: QPointF) -> None:
        box = self.plot.getPlotItem().vb
        if self.plot.sceneBoundingRect().contains(place):
            rank = round(10 ** min(9.0, max(0.0, box.mapSceneToView(place).x())))
            self.hovered.emit(min(self._size, max(1, rank)))


def _powers_of_ten(values: list[float], _scale: float, _spacing: float) -> list[str]:
    """Names of ticks given in decades; pyqtgraph itself mixes 0.001 and 10⁻⁵ on one axis."""
    digits = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    return [
        f"10{str(round(value)).translate(digits)}" if value == round(value) else ""
        for value in values
    ]
