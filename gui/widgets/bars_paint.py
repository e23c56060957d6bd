"""Painting of the rows of a bars view and of its head line with the axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QFontMetricsF, QPainter

from logitscope.gui import colors
from logitscope.gui.colors import Palette
from logitscope.gui.widgets import numbers
from logitscope.gui.widgets.bars_data import Axis, Bar, Scale, Tail
from logitscope.gui.widgets.bars_layout import GAP, MARK_WIDTH, Columns

LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
CENTRE = int(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignVCenter)
HATCH = Qt.BrushStyle.BDiagPattern
STUB = 1.5
"""A probability above 0 never looks like none: at least so many pixels are drawn."""
FEW_TICKS = 160.0
"""Below this width of the axis only its ends are named."""
TICK_ROOM = 60.0
SQUARE = 7.0
GRAPHICS_CONTRAST = 3.0
"""WCAG 2.2 level AA for graphics."""


class Look:
    """Fonts, colours and measured words: made anew when the appearance changes, since measuring
    and mixing them for every row would cost a third of a repaint."""

    def __init__(self, palette: Palette, token_font: QFont, number_font: QFont) -> None:
        self.palette = palette
        self.token_font = token_font
        self.number_font = number_font
        self.token_metrics = QFontMetricsF(token_font)
        self.number_metrics = QFontMetricsF(number_font)
        self.raw = QBrush(palette.bar_raw)
        self.shaped = QBrush(palette.bar_shaped)
        self.rest = QBrush(palette.tail)
        hatched = colors.readable(palette.excluded, palette.page, GRAPHICS_CONTRAST)
        self.hatch = QBrush(hatched, HATCH)
        self._quiet: dict[str, QColor] = {}
        self._elided: dict[tuple[str, float], str] = {}
        self._widths: dict[str, float] = {}

    def quiet_on(self, background: QColor) -> QColor:
        """The colour of secondary text on a tint."""
        name = background.name()
        if name not in self._quiet:
            self._quiet[name] = colors.readable(self.palette.muted, background)
        return self._quiet[name]

    def elided(self, token: str, width: float) -> str:
        """A token's text, cut where it does not fit."""
        found = self._elided.get((token, width))
        if found is None:
            _keep_small(self._elided)
            mode = Qt.TextElideMode.ElideRight
            found = self._elided[token, width] = self.token_metrics.elidedText(token, mode, width)
        return found

    def width_of(self, words: str) -> float:
        """Width of a few words in the font of the numbers."""
        found = self._widths.get(words)
        if found is None:
            _keep_small(self._widths)
            found = self._widths[words] = self.number_metrics.horizontalAdvance(words)
        return found


MOST_KEPT = 5000


def _keep_small(kept: dict[Any, Any]) -> None:
    if len(kept) > MOST_KEPT:
        kept.clear()


@dataclass(frozen=True, slots=True)
class Labels:
    """Words of the head line."""

    raw: str
    shaped: str
    probability: str
    logit: str
    token_id: str


class RowPainter:
    """Paints rows onto one painter; made anew for every repaint."""

    def __init__(
        self,
        painter: QPainter,
        at: Columns,
        axis: Axis,
        look: Look,
        mark_tint: QColor,
        *,
        only_shaped: bool = False,
    ) -> None:
        """``mark_tint``: the background of the marked row; ``only_shaped``: leave out what does
        not depend on the sampler's settings."""
        self._painter = painter
        self._only_shaped = only_shaped
        self._mark_tint = mark_tint
        self._at = at
        self._axis = axis
        self._look = look
        self._palette = look.palette

    # -- head and grid ----------------------------------------------------------------------

    def head(self, area: QRectF, words: Labels) -> None:
        """Column names and the numbers of the axis."""
        painter, at, height = self._painter, self._at, area.height()
        painter.setFont(self._look.number_font)
        painter.setPen(self._palette.muted)
        self._legend(height, words)
        place = QRectF(at.probability_x, 0, at.probability_width, height)
        painter.drawText(place, LEFT, words.probability)
        if at.is_stacked:
            place = QRectF(at.logit_x - GAP, 0, at.logit_width + GAP, height)
            painter.drawText(place, RIGHT, f"{words.logit}/{words.token_id}")
        elif at.logit_width:
            painter.drawText(QRectF(at.logit_x, 0, at.logit_width, height), RIGHT, words.logit)
            painter.drawText(QRectF(at.id_x, 0, at.id_width, height), RIGHT, words.token_id)
        self._tick_names(height)

    def _legend(self, height: float, words: Labels) -> None:
        """Which of the two bars is which."""
        x = self._at.text_x
        for color, word in (
            (self._palette.bar_raw, words.raw),
            (self._palette.bar_shaped, words.shaped),
        ):
            square = QRectF(x, (height - SQUARE) / 2, SQUARE, SQUARE)
            self._painter.fillRect(square, color)
            width = self._look.width_of(word) + GAP / 2
            room = QRectF(square.right() + 3, 0, width, height)
            self._painter.drawText(room, LEFT, word)
            x = room.right() + 2

    @staticmethod
    def legend_width(look: Look, words: Labels) -> float:
        """From the left edge of the texts to the end of the legend's last word."""
        return sum(SQUARE + look.width_of(word) + GAP / 2 + 5 for word in (words.raw, words.shaped))

    def _tick_names(self, height: float) -> None:
        last = len(self._axis.ticks) - 1
        for index, (place, text) in enumerate(self._axis.ticks):
            if self._at.bar_width < FEW_TICKS and index not in {0, last}:
                continue
            x = self._tick_x(place)
            where, left = CENTRE, x - TICK_ROOM / 2
            if index == 0:
                where, left = LEFT, x
            elif index == last:
                where, left = RIGHT, x - TICK_ROOM
            self._painter.drawText(QRectF(left, 0, TICK_ROOM, height), where, text)

    def grid(self, top: float, bottom: float) -> None:
        """Lines of the axis behind the bars."""
        for place, _text in self._axis.ticks:
            line = QRectF(self._tick_x(place), top, 1.0, bottom - top)
            self._painter.fillRect(line, self._palette.line)

    def _tick_x(self, place: float) -> float:
        return self._at.bar_x + self._axis.tick_fraction(place) * self._at.bar_width

    # -- rows -------------------------------------------------------------------------------

    def row(self, area: QRectF, bar: Bar) -> None:
        """One token: its text, two bars, and their numbers on the same two lines."""
        palette = self._palette
        background = palette.page
        if bar.note:
            background = self._mark_tint
            self._painter.fillRect(area, background)
            edge = QRectF(0, area.top(), MARK_WIDTH, area.height())
            self._painter.fillRect(edge, palette.accent)
        if bar.is_extra:
            self._painter.fillRect(QRectF(0, area.top(), area.width(), 1), palette.muted)
        quiet = self._look.quiet_on(background)
        if not self._only_shaped:
            self._text(area, bar, quiet if bar.removed_by else palette.text)
            self._logit_and_id(area, bar, quiet)
        self._bars(area, bar, quiet)
        if bar.note:
            self._words_behind(_halves(area)[0], self._raw_length(bar), bar.note, quiet)
        self._painter.setFont(self._look.number_font)
        strong = quiet if bar.removed_by else palette.text
        self._pair_of_numbers(area, bar.raw, bar.shaped, quiet, strong)

    def tail(self, area: QRectF, tail: Tail) -> None:
        """The row of all other tokens; they have no one logit, hence no bar on that scale."""
        painter, palette, at = self._painter, self._palette, self._at
        upper, lower = _halves(area)
        painter.fillRect(QRectF(0, area.top(), area.width(), 1), palette.line)
        painter.setFont(self._look.number_font)
        painter.setPen(palette.text)
        words = QRectF(at.text_x, upper.top(), at.text_width, upper.height())
        painter.drawText(words, LEFT, tail.label)
        painter.setPen(palette.muted)
        painter.drawText(_moved(words, lower), LEFT, f"({numbers.count(tail.count)})")
        self._pair_of_numbers(area, tail.raw, tail.shaped, palette.muted, palette.text)
        if self._axis.scale is Scale.LOGIT:
            return
        self._bar(upper, self._axis.fraction(tail.raw), self._look.rest)
        length = self._axis.fraction(tail.shaped)
        self._bar(lower, length, self._look.shaped)
        if tail.note:
            self._words_behind(lower, length, tail.note, palette.muted)

    # -- parts of a row ---------------------------------------------------------------------

    def _text(self, area: QRectF, bar: Bar, color: QColor) -> None:
        self._painter.setFont(self._look.token_font)
        self._painter.setPen(color)
        width = self._at.text_width
        place = QRectF(self._at.text_x, area.top(), width, area.height())
        self._painter.drawText(place, LEFT, self._look.elided(bar.text, width))

    def _bars(self, area: QRectF, bar: Bar, quiet: QColor) -> None:
        look, axis = self._look, self._axis
        upper, lower = _halves(area)
        is_logit = axis.scale is Scale.LOGIT
        length = self._raw_length(bar)
        if bar.removed_by:
            self._bar(upper, length, look.hatch)
            self._words_behind(lower, 0.0, bar.removed_by, quiet)
        else:
            self._bar(upper, length, look.raw)
            if not is_logit:
                self._bar(lower, axis.fraction(bar.shaped), look.shaped)

    def _raw_length(self, bar: Bar) -> float:
        is_logit = self._axis.scale is Scale.LOGIT
        return self._axis.fraction(bar.logit if is_logit else bar.raw)

    def _bar(self, line: QRectF, length: float, brush: QBrush) -> None:
        if length <= 0.0:
            return
        width = max(STUB, length * self._at.bar_width)
        place = QRectF(self._at.bar_x, line.top(), width, line.height())
        self._painter.fillRect(place, brush)
        if brush is self._look.hatch:
            self._painter.setPen(brush.color())
            self._painter.setBrush(Qt.BrushStyle.NoBrush)
            self._painter.drawRect(place.adjusted(0.5, 0.5, -0.5, -0.5))

    def _words_behind(self, line: QRectF, length: float, words: str, color: QColor) -> None:
        """A few words behind the end of a bar, where there is room for them."""
        used = length * self._at.bar_width + GAP / 2
        room = self._at.bar_width - used
        if self._look.width_of(words) > room:
            return
        self._painter.setFont(self._look.number_font)
        self._painter.setPen(color)
        place = QRectF(self._at.bar_x + used, line.top() - 4, room, line.height() + 8)
        self._painter.drawText(place, LEFT, words)

    def _logit_and_id(self, area: QRectF, bar: Bar, quiet: QColor) -> None:
        painter, at = self._painter, self._at
        if not at.logit_width:
            return
        painter.setFont(self._look.number_font)
        painter.setPen(quiet)
        upper, lower = (area, area) if not at.is_stacked else _halves(area)
        place = QRectF(at.logit_x, upper.top(), at.logit_width, upper.height())
        painter.drawText(place.adjusted(0, -4, 0, 4), RIGHT, numbers.logit(bar.logit))
        place = QRectF(at.id_x, lower.top(), at.id_width, lower.height())
        painter.drawText(place.adjusted(0, -4, 0, 4), RIGHT, str(bar.token_id))

    def _pair_of_numbers(
        self, area: QRectF, raw: float, shaped: float, quiet: QColor, strong: QColor
    ) -> None:
        upper, lower = _halves(area)
        place = QRectF(
            self._at.probability_x, upper.top() - 4, self._at.probability_width, upper.height() + 8
        )
        self._painter.setPen(quiet)
        self._painter.drawText(place, LEFT, numbers.probability(raw))
        self._painter.setPen(strong)
        place.moveTop(lower.top() - 4)
        self._painter.drawText(place, LEFT, numbers.probability(shaped))


def _halves(area: QRectF) -> tuple[QRectF, QRectF]:
    """The lines of the raw and of the shaped bar within a row."""
    half = area.height() / 2
    upper = QRectF(area.left(), area.top() + 2.5, area.width(), half - 3.5)
    return upper, upper.translated(0, half - 1)


def _moved(place: QRectF, line: QRectF) -> QRectF:
    return QRectF(place.left(), line.top(), place.width(), line.height())
