"""What the tints of a heatmap stand for: the colour map with its values, in little room."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QLinearGradient, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from logitscope.gui import heat_colors, theme

BAR_WIDTH = 96
BAR_HEIGHT = 12
GAP = 6
STOPS = 16


class HeatLegend(QWidget):
    """A bar with a value at each end and the unit behind; or labelled boxes for buckets."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._labels: tuple[str, ...] = ("0", "1")
        self._unit = ""
        self._is_two_sided = False
        self._is_bucketed = False
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.tr("Legend"))
        theme.notifier().changed.connect(self.updateGeometry)

    def set_range(self, low: str, high: str, unit: str, *, is_two_sided: bool) -> None:
        """A continuous map from ``low`` to ``high``."""
        self._set((low, high), unit, is_two_sided=is_two_sided, is_bucketed=False)

    def set_buckets(self, labels: tuple[str, ...]) -> None:
        """Equal steps of the one-sided map."""
        self._set(labels, "", is_two_sided=False, is_bucketed=True)

    def _set(
        self, labels: tuple[str, ...], unit: str, *, is_two_sided: bool, is_bucketed: bool
    ) -> None:
        new = labels, unit, is_two_sided, is_bucketed
        if new == (self._labels, self._unit, self._is_two_sided, self._is_bucketed):
            return
        self._labels, self._unit, self._is_two_sided, self._is_bucketed = new
        self.setAccessibleDescription(" ".join((*labels, unit)))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        metrics = QFontMetricsF(theme.number_font(-1))
        if self._is_bucketed:
            width = sum(self._box_width(metrics, label) for label in self._labels)
        else:
            words = [*self._labels, self._unit] if self._unit else list(self._labels)
            width = BAR_WIDTH + sum(metrics.horizontalAdvance(word) + GAP for word in words)
        return QSize(round(width) + 2, round(metrics.height()) + 4)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setFont(theme.number_font(-1))
        if self._is_bucketed:
            self._paint_buckets(painter)
        else:
            self._paint_range(painter)

    def _paint_buckets(self, painter: QPainter) -> None:
        palette = theme.palette()
        colors = heat_colors.sequential(palette)
        metrics = QFontMetricsF(painter.font())
        x = 0.5
        for place, label in enumerate(self._labels):
            color = colors[round(place / (len(self._labels) - 1) * (len(colors) - 1))]
            box = QRectF(x, 1.5, self._box_width(metrics, label) - 1, self.height() - 3)
            painter.fillRect(box, color)
            painter.setPen(QPen(palette.line, 1))
            painter.drawRect(box)
            painter.setPen(heat_colors.text_on(color, palette))
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, label)
            x += self._box_width(metrics, label)

    def _paint_range(self, painter: QPainter) -> None:
        palette = theme.palette()
        metrics = QFontMetricsF(painter.font())
        low, high = self._labels
        colors = (heat_colors.diverging if self._is_two_sided else heat_colors.sequential)(palette)
        left = metrics.horizontalAdvance(low) + GAP
        bar = QRectF(left, (self.height() - BAR_HEIGHT) / 2, BAR_WIDTH, BAR_HEIGHT)
        gradient = QLinearGradient(bar.topLeft(), bar.topRight())
        for step in range(STOPS + 1):
            share = step / STOPS
            gradient.setColorAt(share, colors[round(share * (len(colors) - 1))])
        painter.fillRect(bar, gradient)
        painter.setPen(QPen(palette.line, 1))
        painter.drawRect(bar)
        painter.setPen(palette.muted)
        baseline = (self.height() + metrics.ascent() - metrics.descent()) / 2
        painter.drawText(0, round(baseline), low)
        words = f"{high} {self._unit}".strip()
        painter.drawText(round(bar.right() + GAP), round(baseline), words)

    @staticmethod
    def _box_width(metrics: QFontMetricsF, label: str) -> float:
        return metrics.horizontalAdvance(label) + 2 * GAP
