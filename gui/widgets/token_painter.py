"""Drawing of token cells: backgrounds, text and marks of the visible lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen

from logitscope.display import PartKind
from logitscope.gui import theme
from logitscope.gui.colors import Palette
from logitscope.gui.widgets.token_layout import Cell, TokenLayout

SMALLER_POINTS = -2.0
"""Marks that are words (‹ZWJ›, ‹E2 80›, <bos>) and ids are drawn smaller than text."""
_PADDING = 3
_RADIUS = 3.0
_WORDY = {PartKind.BYTES, PartKind.NAME, PartKind.INVISIBLE}
_FAINT = {PartKind.SPACE, PartKind.BREAK, PartKind.CONTROL, PartKind.INVISIBLE, PartKind.BYTES}


class Mark(Enum):
    """A second mark beside the colour, for those who do not see it."""

    NONE = "none"
    UNDERLINE = "underline"
    DASHED = "dashed"
    DOTTED = "dotted"
    DOUBLE = "double"
    WAVE = "wave"


@dataclass(frozen=True, slots=True)
class CellStyle:
    """How a token is marked. ``text`` must be readable on ``background``."""

    background: QColor | None = None
    text: QColor | None = None
    mark: Mark = Mark.NONE
    mark_color: QColor | None = None
    is_chip: bool = False


class TokenFonts:
    """Fonts and widths of token text; a ``Measure`` for the layout."""

    def __init__(self, shows_ids: bool) -> None:
        self.text = theme.token_font()
        self.small = theme.token_font(SMALLER_POINTS)
        self._metrics = QFontMetricsF(self.text)
        self._small_metrics = QFontMetricsF(self.small)
        self._widths: dict[tuple[str, bool], float] = {}
        self.column = self._metrics.horizontalAdvance("0")
        self.id_column = self._small_metrics.horizontalAdvance("0")
        self.text_height = round(self._metrics.height()) + 2 * _PADDING
        self.id_height = round(self._small_metrics.height()) if shows_ids else 0
        self.line_height = self.text_height + self.id_height
        self.baseline = _PADDING + self._metrics.ascent()
        self.id_baseline = self.text_height + self._small_metrics.ascent() - _PADDING / 2

    def width(self, text: str, kind: PartKind) -> float:
        small = kind in _WORDY
        width = self._widths.get((text, small))
        if width is None:
            metrics = self._small_metrics if small else self._metrics
            width = metrics.horizontalAdvance(text) + (6.0 if kind is PartKind.NAME else 0.0)
            self._widths[text, small] = width
        return width

    def font_of(self, kind: PartKind) -> QFont:
        return self.small if kind in _WORDY else self.text


@dataclass(frozen=True, slots=True)
class Scene:
    """What is painted, apart from where the cells are."""

    fonts: TokenFonts
    style_of: Callable[[int], CellStyle]
    selected: int | None
    hovered: int | None
    chosen: range
    """The range of tokens chosen for copying."""
    shows_ids: bool


def paint_line(painter: QPainter, layout: TokenLayout, line: int, top: float, scene: Scene) -> None:
    """Paint one line whose upper edge is at ``top``; x = 0 is the left edge of the text."""
    colors = theme.palette()
    for cell in layout.cells(line):
        for token in range(cell.start, cell.stop):
            left, width = cell.part_of(token)
            _paint_ground(painter, QRectF(left, top, width, scene.fonts.text_height), token, scene)
        _paint_text(painter, cell, top, scene, colors)
        _paint_edges(painter, cell, top, scene, colors)
        if scene.shows_ids:
            _paint_ids(painter, layout, cell, top, scene)


def _paint_ground(painter: QPainter, rect: QRectF, token: int, scene: Scene) -> None:
    style = scene.style_of(token)
    colors = theme.palette()
    inner = rect.adjusted(0.5, 1.5, -0.5, -1.5)
    if token in scene.chosen or token == scene.selected:
        painter.fillRect(inner, colors.selection)
    elif style.background is not None:
        painter.fillRect(inner, style.background)
    if style.mark is not Mark.NONE:
        _paint_mark(painter, inner, style, colors)


_PEN_STYLES = {
    Mark.UNDERLINE: Qt.PenStyle.SolidLine,
    Mark.DASHED: Qt.PenStyle.DashLine,
    Mark.DOTTED: Qt.PenStyle.DotLine,
    Mark.DOUBLE: Qt.PenStyle.SolidLine,
    Mark.WAVE: Qt.PenStyle.DashDotLine,
}


def _paint_mark(painter: QPainter, rect: QRectF, style: CellStyle, colors: Palette) -> None:
    pen = QPen(style.mark_color or colors.accent, 1.5, _PEN_STYLES[style.mark])
    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    painter.setPen(pen)
    y = rect.bottom() - 0.5
    painter.drawLine(QPointF(rect.left() + 1, y), QPointF(rect.right() - 1, y))
    if style.mark is Mark.DOUBLE:
        painter.drawLine(QPointF(rect.left() + 1, y - 3), QPointF(rect.right() - 1, y - 3))


def _paint_text(painter: QPainter, cell: Cell, top: float, scene: Scene, colors: Palette) -> None:
    style = scene.style_of(cell.start)
    left = cell.x
    if cell.stop - cell.start > 1:
        left += (cell.width - cell.look.width) / 2
    for run in cell.look.runs:
        x = left + run.x + (3.0 if run.kind is PartKind.NAME else 0.0)
        faint = run.kind in _FAINT and style.background is None
        painter.setPen(colors.muted if faint else style.text or colors.text)
        painter.setFont(scene.fonts.font_of(run.kind))
        painter.drawText(QPointF(x, top + scene.fonts.baseline), run.text)


def _paint_edges(painter: QPainter, cell: Cell, top: float, scene: Scene, colors: Palette) -> None:
    height = scene.fonts.text_height
    rect = QRectF(cell.x, top, cell.width, height).adjusted(0.5, 1.5, -0.5, -1.5)
    painter.setPen(QPen(colors.line, 1.0))
    if scene.style_of(cell.start).is_chip:
        painter.setPen(QPen(colors.muted, 1.0))
        painter.drawRoundedRect(rect, _RADIUS, _RADIUS)
    elif cell.stop - cell.start > 1:
        painter.setPen(QPen(colors.muted, 1.0))
        painter.drawRoundedRect(rect, _RADIUS, _RADIUS)
        for token in range(cell.start + 1, cell.stop):
            x = cell.part_of(token)[0]
            painter.drawLine(QPointF(x, rect.bottom() - 4), QPointF(x, rect.bottom()))
    else:
        painter.drawLine(QPointF(cell.x, rect.bottom() - 2), QPointF(cell.x, rect.bottom()))
    for marked in (scene.hovered, scene.selected):
        if marked is not None and cell.start <= marked < cell.stop:
            x, width = cell.part_of(marked)
            is_selected = marked == scene.selected
            painter.setPen(QPen(colors.accent if is_selected else colors.muted, 1.5))
            own = QRectF(x, top, width, height).adjusted(0.75, 1.25, -0.75, -1.25)
            painter.drawRoundedRect(own, _RADIUS, _RADIUS)


def _paint_ids(
    painter: QPainter, layout: TokenLayout, cell: Cell, top: float, scene: Scene
) -> None:
    painter.setFont(scene.fonts.small)
    painter.setPen(theme.palette().muted)
    for token in range(cell.start, cell.stop):
        if layout.begins_in(token, cell):
            x = cell.part_of(token)[0] + 1.0
            painter.drawText(QPointF(x, top + scene.fonts.id_baseline), str(layout.ids[token]))
