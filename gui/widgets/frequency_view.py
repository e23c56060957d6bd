"""Counts of many draws against what was to be expected, a row a token."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from logitscope.gui import theme

GAP = 8.0
LEFT = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
RIGHT = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight)


@dataclass(frozen=True, slots=True)
class FrequencyRow:
    """One token: how often it came, how often it was to be expected, and give or take what."""

    text: str
    observed: int
    expected: float
    deviation: float


class FrequencyView(QWidget):
    """Bars are what came; the mark is what was expected, its width one standard deviation each
    way."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[FrequencyRow, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.notifier().changed.connect(self._theme_changed)

    @property
    def rows(self) -> tuple[FrequencyRow, ...]:
        return self._rows

    def set_rows(self, rows: tuple[FrequencyRow, ...]) -> None:
        self._rows = rows
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(240, round(self._row_height() * len(self._rows)))

    def minimumSizeHint(self) -> QSize:
        return QSize(160, self.sizeHint().height())

    def _theme_changed(self) -> None:
        self.updateGeometry()
        self.update()

    def _row_height(self) -> float:
        return QFontMetricsF(theme.number_font(-1)).height() + 4

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        most = max(
            (max(row.observed, row.expected + row.deviation) for row in self._rows), default=1.0
        )
        metrics = QFontMetricsF(theme.number_font(-1))
        text_width = min(160.0, 0.26 * self.width())
        number_width = metrics.horizontalAdvance("1,000 / 1,000.0")
        room = max(1.0, self.width() - text_width - number_width - 2 * GAP)
        height = self._row_height()
        for index, row in enumerate(self._rows):
            area = QRectF(text_width + GAP, index * height, room, height)
            self._paint_bar(painter, area, row, max(most, 1e-12))
            self._paint_words(painter, area, row, text_width, number_width)
        painter.end()

    def _paint_bar(self, painter: QPainter, area: QRectF, row: FrequencyRow, most: float) -> None:
        palette = theme.palette()
        bar = QRectF(
            area.left(), area.top() + 3, area.width() * row.observed / most, area.height() - 6
        )
        painter.fillRect(bar, palette.bar_shaped)
        middle = area.left() + area.width() * row.expected / most
        half = area.width() * row.deviation / most
        painter.fillRect(
            QRectF(middle - half, area.center().y() - 0.75, 2 * half, 1.5), palette.text
        )
        painter.fillRect(
            QRectF(middle - 0.75, area.top() + 2, 1.5, area.height() - 4), palette.text
        )

    def _paint_words(
        self,
        painter: QPainter,
        area: QRectF,
        row: FrequencyRow,
        text_width: float,
        number_width: float,
    ) -> None:
        palette = theme.palette()
        painter.setPen(palette.text)
        painter.setFont(theme.token_font(-1))
        metrics = QFontMetricsF(painter.font())
        text = metrics.elidedText(row.text, Qt.TextElideMode.ElideRight, text_width)
        painter.drawText(QRectF(0, area.top(), text_width, area.height()), LEFT, text)
        painter.setFont(theme.number_font(-1))
        place = QRectF(area.right() + GAP, area.top(), number_width, area.height())
        painter.drawText(place, RIGHT, f"{row.observed:,} / {row.expected:,.1f}")
