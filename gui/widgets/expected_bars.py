"""Top tokens of several distributions in columns side by side, their bars on one scale."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from logitscope.gui import theme
from logitscope.gui.widgets import numbers
from logitscope.gui.widgets.plain import plain_tip

ROWS = 10
GAP = 8
PADDING = 4


@dataclass(frozen=True, slots=True)
class Bar:
    """A token and its probability."""

    label: str
    probability: float
    is_own: bool = False
    """The token that the answer has there."""


@dataclass(frozen=True, slots=True)
class Column:
    """One distribution."""

    title: str
    tip: str
    bars: tuple[Bar, ...]


class ExpectedBars(QWidget):
    """Columns of bars. All bars are drawn on the scale of the longest, so that they compare."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._columns: tuple[Column, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.tr("Likeliest tokens with and without the sources"))
        theme.notifier().changed.connect(self._restyle)

    @property
    def columns(self) -> tuple[Column, ...]:
        return self._columns

    def set_columns(self, columns: tuple[Column, ...]) -> None:
        if columns != self._columns:
            self._columns = columns
            said = (f"{c.title}: {c.bars[0].label}" for c in columns if c.bars)
            self.setAccessibleDescription("; ".join(said))
            self._restyle()

    @property
    def scale(self) -> float:
        """Probability of a bar as long as its column is wide."""
        every = (bar.probability for column in self._columns for bar in column.bars)
        return max(every, default=1.0) or 1.0

    def _restyle(self) -> None:
        self.updateGeometry()
        self.update()

    @property
    def row_height(self) -> float:
        return QFontMetricsF(theme.token_font(-1)).height() + PADDING

    def sizeHint(self) -> QSize:
        return QSize(320, round(self.row_height * (ROWS + 1)))

    def minimumSizeHint(self) -> QSize:
        return QSize(180, self.sizeHint().height())

    def column_rect(self, index: int) -> QRectF:
        """Where a column is drawn."""
        count = max(1, len(self._columns))
        width = (self.width() - GAP * (count - 1)) / count
        return QRectF(index * (width + GAP), 0, width, self.height())

    def bar_rect(self, column: int, row: int) -> QRectF:
        """Where a bar is drawn."""
        room, height = self.column_rect(column), self.row_height
        share = self._columns[column].bars[row].probability / self.scale
        return QRectF(room.left(), (row + 1) * height + 1, room.width() * share, height - 2)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        try:
            for index in range(len(self._columns)):
                self._paint_column(painter, index)
        finally:
            painter.end()

    def _paint_column(self, painter: QPainter, index: int) -> None:
        palette, column, height = theme.palette(), self._columns[index], self.row_height
        room = self.column_rect(index)
        left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.setFont(theme.ui_font(-1))
        painter.setPen(palette.muted)
        title = QFontMetricsF(painter.font()).elidedText(
            column.title, Qt.TextElideMode.ElideRight, room.width()
        )
        painter.drawText(QRectF(room.left(), 0, room.width(), height), left, title)
        for row, bar in enumerate(column.bars[:ROWS]):
            painter.fillRect(self.bar_rect(index, row), palette.bar_raw)
            line = QRectF(room.left(), (row + 1) * height, room.width(), height)
            if bar.is_own:
                painter.setPen(palette.accent)
                painter.drawRect(line.adjusted(0.5, 0.5, -0.5, -0.5))
            self._paint_words(painter, bar, line)

    @staticmethod
    def _paint_words(painter: QPainter, bar: Bar, line: QRectF) -> None:
        line = line.adjusted(PADDING, 0, -PADDING, 0)
        painter.setPen(theme.palette().text)
        painter.setFont(theme.number_font(-1))
        figures = numbers.percent(bar.probability)
        width = QFontMetricsF(painter.font()).horizontalAdvance(figures)
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(line, right, figures)
        painter.setFont(theme.token_font(-1))
        label = QFontMetricsF(painter.font()).elidedText(
            bar.label, Qt.TextElideMode.ElideRight, max(0.0, line.width() - width - PADDING)
        )
        left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(line, left, label)

    def tip_at(self, point: QPoint) -> str:
        """What is said of what is under a point."""
        for index, column in enumerate(self._columns):
            room = self.column_rect(index)
            if room.left() <= point.x() <= room.right():
                row = int(point.y() / self.row_height) - 1
                if row < 0:
                    return column.tip
                if row < len(column.bars):
                    bar = column.bars[row]
                    return f"{bar.label}  {numbers.probability(bar.probability)}"
        return ""

    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), plain_tip(self.tip_at(event.pos())), self)
            return True
        return super().event(event)
