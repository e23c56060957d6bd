"""A matrix of numbers as tints: rows and columns with names, NaN left open."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QToolTip, QWidget

from logitscope.gui import colors, theme
from logitscope.gui.widgets import numbers
from logitscope.gui.widgets.plain import plain_tip

NAME_WIDTH = 112
LEAST_CELL, MOST_CELL = 36, 96
PADDING = 4


class MatrixView(QWidget):
    """Rows can be selected with mouse and keys."""

    row_selected = Signal(int)

    def __init__(self, tint_of: Callable[[float], QColor], parent: QWidget | None = None) -> None:
        """``tint_of`` gives the ground of a cell by its number."""
        super().__init__(parent)
        self._tint_of = tint_of
        self._values: NDArray[np.float64] = np.zeros((0, 0))
        self._rows: tuple[str, ...] = ()
        self._columns: tuple[str, ...] = ()
        self._tips: tuple[str, ...] = ()
        self._selected: int | None = None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        theme.notifier().changed.connect(self._restyle)

    def set_matrix(
        self,
        values: NDArray[np.float64],
        rows: Sequence[str],
        columns: Sequence[str],
        tips: Sequence[str],
    ) -> None:
        """Values of shape (rows, columns); ``tips`` say of each column what it is."""
        self._values, self._rows = values, tuple(rows)
        self._columns, self._tips = tuple(columns), tuple(tips)
        self._restyle()

    @property
    def values(self) -> NDArray[np.float64]:
        return self._values

    @property
    def selected_row(self) -> int | None:
        return self._selected

    def set_selected_row(self, row: int | None) -> None:
        if row != self._selected:
            self._selected = row
            self.update()

    def _restyle(self) -> None:
        self.setMinimumSize(self.sizeHint())
        self.resize(self.sizeHint().expandedTo(self.size()))
        self.update()

    @property
    def row_height(self) -> float:
        return QFontMetricsF(theme.token_font(-1)).height() + PADDING

    @property
    def cell_width(self) -> float:
        """All columns get the same room."""
        room = (self.width() - NAME_WIDTH) / max(1, len(self._columns))
        return min(MOST_CELL, max(LEAST_CELL, room))

    def sizeHint(self) -> QSize:
        width = NAME_WIDTH + LEAST_CELL * len(self._columns)
        return QSize(width, math.ceil(self.row_height * (len(self._rows) + 1)))

    def cell_rect(self, row: int, column: int) -> QRectF:
        """Where a number is drawn."""
        width, height = self.cell_width, self.row_height
        return QRectF(NAME_WIDTH + column * width, (row + 1) * height, width - 1, height - 1)

    # -- painting ---------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        try:
            self._paint_titles(painter)
            first = max(0, int(event.rect().top() / self.row_height) - 1)
            last = min(len(self._rows), int(event.rect().bottom() / self.row_height) + 1)
            for row in range(first, last):
                self._paint_row(painter, row)
        finally:
            painter.end()

    def _paint_titles(self, painter: QPainter) -> None:
        painter.setFont(theme.ui_font(-1))
        painter.setPen(theme.palette().muted)
        metrics = QFontMetricsF(painter.font())
        for column, title in enumerate(self._columns):
            rect = self.cell_rect(-1, column)
            text = metrics.elidedText(title, Qt.TextElideMode.ElideRight, rect.width())
            painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, text)

    def _paint_row(self, painter: QPainter, row: int) -> None:
        palette = theme.palette()
        name = QRectF(0, (row + 1) * self.row_height, NAME_WIDTH - PADDING, self.row_height)
        if row == self._selected:
            painter.fillRect(name, palette.selection)
        painter.setFont(theme.token_font(-1))
        painter.setPen(palette.text)
        label = QFontMetricsF(painter.font()).elidedText(
            self._rows[row], Qt.TextElideMode.ElideRight, name.width() - PADDING
        )
        left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(name.adjusted(PADDING, 0, 0, 0), left, label)
        painter.setFont(theme.number_font(-1))
        for column, value in enumerate(self._values[row].tolist()):
            self._paint_cell(painter, self.cell_rect(row, column), value)

    def _paint_cell(self, painter: QPainter, rect: QRectF, value: float) -> None:
        palette = theme.palette()
        if math.isnan(value):
            painter.setPen(QPen(palette.line, 1.0, Qt.PenStyle.DotLine))
            painter.drawRect(rect.adjusted(1, 1, -2, -2))
            return
        ground = self._tint_of(value)
        painter.fillRect(rect, ground)
        painter.setPen(colors.readable(palette.text, ground))
        painter.drawText(rect, Qt.AlignmentFlag.AlignCenter, numbers.signed(value, 1))

    # -- input ------------------------------------------------------------------------------

    def cell_at(self, point: QPoint) -> tuple[int, int | None] | None:
        """(row, column) under a point; the column is None over a name."""
        row = int(point.y() / self.row_height) - 1
        if not 0 <= row < len(self._rows):
            return None
        column = int((point.x() - NAME_WIDTH) // self.cell_width)
        return row, column if 0 <= column < len(self._columns) else None

    def mousePressEvent(self, event: QMouseEvent) -> None:
        found = self.cell_at(event.position().toPoint())
        if found is not None and event.button() is Qt.MouseButton.LeftButton:
            self._select(found[0])

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()))
        if step is None or not self._rows:
            super().keyPressEvent(event)
            return
        now = -1 if self._selected is None else self._selected
        self._select(min(len(self._rows) - 1, max(0, now + step)))

    def _select(self, row: int) -> None:
        self.set_selected_row(row)
        self.row_selected.emit(row)

    def tip_at(self, point: QPoint) -> str:
        """What is said of what is under a point."""
        column = int((point.x() - NAME_WIDTH) // self.cell_width)
        found = self.cell_at(point)
        if not 0 <= column < len(self._columns):
            return "" if found is None else self._rows[found[0]]
        if found is None:
            return self._tips[column]
        value = float(self._values[found[0], column])
        shown = numbers.UNKNOWN if math.isnan(value) else numbers.signed(value, 2)
        return f"{self._rows[found[0]]}: {shown}\n{self._tips[column]}"

    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), plain_tip(self.tip_at(event.pos())), self)
            return True
        return super().event(event)
