"""Drawing of token cells: backgrounds, text and marks of the visible lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPen

from logitscope.display import PartKind
from logitscope.gui import theme
from logitscope.gui.widgets.token_fonts import NAME_PADDING, TokenFonts
from logitscope.gui.widgets.token_layout import Cell, TokenLayout

_RADIUS = 3.0
_FAINT = frozenset({PartKind.SPACE, PartKind.BREAK, PartKind.CONTROL, PartKind.INVISIBLE,
                    PartKind.BYTES})  # fmt: skip


class Mark(Enum):
    """A second mark beside the colour, for those who do not see it."""

    NONE = "none"
    UNDERLINE = "underline"
    DASHED = "dashed"
    DOTTED = "dotted"
    DOUBLE = "double"
    DASH_DOT = "dash_dot"


@dataclass(frozen=True, slots=True)
class CellStyle:
    """How a token is marked. ``text`` must be readable on ``background``."""

    background: QColor | None = None
    text: QColor | None = None
    mark: Mark = Mark.NONE
    mark_color: QColor | None = None
    is_chip: bool = False
    mark_width: float = 1.5
    """Pixels."""
    keeps_background: bool = False
    """The background says something also while the token is selected."""
    hatch: QColor | None = None
    """Lines over the background, below the text."""
    sign: str = ""
    """Small, at the upper right corner."""


PEN_STYLES = {
    Mark.UNDERLINE: Qt.PenStyle.SolidLine,
    Mark.DASHED: Qt.PenStyle.DashLine,
    Mark.DOTTED: Qt.PenStyle.DotLine,
    Mark.DOUBLE: Qt.PenStyle.SolidLine,
    Mark.DASH_DOT: Qt.PenStyle.DashDotLine,
}


class TokenPainter:
    """Paints lines of one layout in one state of selection."""

    def __init__(
        self,
        painter: QPainter,
        layout: TokenLayout,
        fonts: TokenFonts,
        style_of: Callable[[int], CellStyle],
        *,
        shows_ids: bool,
        number_of: Callable[[int], str] | None = None,
    ) -> None:
        self._painter = painter
        self._layout = layout
        self._fonts = fonts
        self._style_of = style_of
        self._shows_ids = shows_ids
        self._number_of = number_of
        self._colors = theme.palette()
        self._line_pen = QPen(self._colors.line, 1.0)
        self._muted_pen = QPen(self._colors.muted, 1.0)
        self.selected: int | None = None
        self.hovered: int | None = None
        self.chosen = range(0)
        """The range of tokens chosen for copying."""

    def paint_line(self, line: int, top: float) -> None:
        """Paint a line whose upper edge is at ``top``; x = 0 is the left edge of the text."""
        ticks: list[QLineF] = []
        y = top + self._fonts.text_height - 2.0
        for cell in self._layout.cells(line):
            style = self._style_of(cell.start)
            self._paint_grounds(cell, style, top)
            if style.text is not None and cell.stop - cell.start > 1:
                self._paint_shared_text(cell, top)
            else:
                self._paint_text(cell, style, top)
            if style.is_chip or cell.stop - cell.start > 1:
                self._paint_outline(cell, top)
            elif cell.x > 0:
                ticks.append(QLineF(cell.x, y - 2.0, cell.x, y))
            if self._shows_ids:
                self._paint_ids(cell, top)
            self._paint_frames(cell, top)
            self._paint_signs(cell, top)
        if ticks:
            self._painter.setPen(self._line_pen)
            self._painter.drawLines(ticks)

    def _paint_grounds(self, cell: Cell, style: CellStyle, top: float) -> None:
        for token in range(cell.start, cell.stop):
            own = style if token == cell.start else self._style_of(token)
            left, width = cell.part_of(token)
            rect = QRectF(left + 0.5, top + 1.5, width - 1.0, self._fonts.text_height - 3.0)
            is_chosen = token == self.selected or token in self.chosen
            if is_chosen and not own.keeps_background:
                self._painter.fillRect(rect, self._colors.selection)
            elif own.background is not None:
                self._painter.fillRect(rect, own.background)
            if own.hatch is not None:
                self._painter.fillRect(rect, QBrush(own.hatch, Qt.BrushStyle.BDiagPattern))
            if token in self.chosen and own.keeps_background:
                edge = QRectF(rect.left() - 0.5, rect.top() - 1.5, rect.width() + 1.0, 2.0)
                self._painter.fillRect(edge, self._colors.accent)
            if own.mark is not Mark.NONE:
                self._paint_mark(rect, own)

    def _paint_mark(self, rect: QRectF, style: CellStyle) -> None:
        width = style.mark_width
        pen = QPen(style.mark_color or self._colors.accent, width, PEN_STYLES[style.mark])
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        self._painter.setPen(pen)
        y, left, right = rect.bottom() - width * 2 / 3, rect.left() + 1.0, rect.right() - 1.0
        self._painter.drawLine(QPointF(left, y), QPointF(right, y))
        if style.mark is Mark.DOUBLE:
            self._painter.drawLine(QPointF(left, y - 3.0), QPointF(right, y - 3.0))

    def _paint_text(self, cell: Cell, style: CellStyle, top: float) -> None:
        left = cell.x
        if cell.stop - cell.start > 1:
            left += (cell.width - cell.look.text_width) / 2
        text = style.text or self._colors.text
        baseline = top + self._fonts.baseline
        for run in cell.look.runs:
            faint = run.kind in _FAINT and style.text is None
            self._painter.setPen(self._colors.muted if faint else text)
            x = left + run.x + (NAME_PADDING if run.kind is PartKind.NAME else 0.0)
            self._fonts.shaped(run.text, run.kind).draw(self._painter, x, baseline)

    def _paint_shared_text(self, cell: Cell, top: float) -> None:
        """Each token's part of a character in the colour that can be read on its background."""
        for token in range(cell.start, cell.stop):
            left, width = cell.part_of(token)
            self._painter.save()
            self._painter.setClipRect(
                QRectF(left, top, width, self._fonts.text_height),
                Qt.ClipOperation.IntersectClip,
            )
            self._paint_text(cell, self._style_of(token), top)
            self._painter.restore()

    def _paint_outline(self, cell: Cell, top: float) -> None:
        height = self._fonts.text_height
        rect = QRectF(cell.x + 1.0, top + 1.5, cell.width - 2.0, height - 3.0)
        self._painter.setPen(self._muted_pen)
        self._painter.drawRoundedRect(rect, _RADIUS, _RADIUS)
        for token in range(cell.start + 1, cell.stop):
            x = cell.part_of(token)[0]
            self._painter.drawLine(QPointF(x, rect.bottom() - 4.0), QPointF(x, rect.bottom()))

    def _paint_frames(self, cell: Cell, top: float) -> None:
        for token, color in (
            (self.hovered, self._colors.muted),
            (self.selected, self._colors.accent),
        ):
            if token is not None and cell.start <= token < cell.stop:
                x, width = cell.part_of(token)
                height = self._fonts.text_height
                self._painter.setPen(QPen(color, 1.5))
                self._painter.drawRoundedRect(
                    QRectF(x + 0.75, top + 1.25, width - 1.5, height - 2.5), _RADIUS, _RADIUS
                )

    def _paint_signs(self, cell: Cell, top: float) -> None:
        for token in range(cell.start, cell.stop):
            style = self._style_of(token)
            if style.sign and self._layout.begins_in(token, cell):
                left, width = cell.part_of(token)
                shaped = self._fonts.shaped(style.sign, PartKind.BYTES)
                room = QRectF(left + width - shaped.width - 1.0, top, shaped.width + 2.0, 11.0)
                self._painter.fillRect(room, self._colors.page)
                self._painter.setPen(self._colors.text)
                shaped.draw(self._painter, room.left() + 1.0, top + 9.0)

    def _paint_ids(self, cell: Cell, top: float) -> None:
        self._painter.setPen(self._muted_pen)
        for token in range(cell.start, cell.stop):
            if self._layout.begins_in(token, cell):
                text = str(self._layout.ids[token])
                if self._number_of is not None:
                    text = self._number_of(token)
                x = cell.part_of(token)[0] + 1.0
                shaped = self._fonts.shaped(text, PartKind.BYTES)
                shaped.draw(self._painter, x, top + self._fonts.id_baseline)
