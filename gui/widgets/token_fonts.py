"""Fonts of token text: widths for the layout, shaped glyphs for the painter."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QFontMetricsF, QGlyphRun, QPainter, QTextLayout, QTextOption

from logitscope.display import PartKind
from logitscope.gui import theme

SMALLER_POINTS = -2.0
"""Marks that are words (‹ZWJ›, ‹E2 80›, <bos>) and ids are drawn smaller than text."""
NAME_PADDING = 3.0
_PADDING = 3
_WORDY = {PartKind.BYTES, PartKind.NAME, PartKind.INVISIBLE}
_CACHE_LIMIT = 50_000


@dataclass(frozen=True, slots=True)
class Shaped:
    """Glyphs of a text, and how far its baseline is below the top they are measured from."""

    runs: tuple[QGlyphRun, ...]
    ascent: float
    width: float

    def draw(self, painter: QPainter, x: float, baseline: float) -> None:
        """Draw with the painter's pen."""
        where = QPointF(x, baseline - self.ascent)
        for run in self.runs:
            painter.drawGlyphRun(where, run)


class TokenFonts:
    """Two sizes of the token font; a ``Measure`` for the layout.

    Text is shaped once and drawn as glyphs, which costs a third of drawing text.
    """

    def __init__(self, shows_ids: bool) -> None:
        self._font = theme.token_font()
        self._small_font = theme.token_font(SMALLER_POINTS)
        self._shaped: dict[tuple[str, bool], Shaped] = {}
        metrics, small = QFontMetricsF(self._font), QFontMetricsF(self._small_font)
        self.column = metrics.horizontalAdvance("0")
        self.id_column = small.horizontalAdvance("0")
        self.text_height = round(metrics.height()) + 2 * _PADDING
        self.line_height = self.text_height + (round(small.height()) if shows_ids else 0)
        self.baseline = _PADDING + metrics.ascent()
        self.id_baseline = self.text_height + small.ascent() - _PADDING / 2

    def width(self, text: str, kind: PartKind) -> float:
        """Pixels that ``text`` takes in a cell."""
        padding = 2 * NAME_PADDING if kind is PartKind.NAME else 0.0
        return self.shaped(text, kind).width + padding

    def shaped(self, text: str, kind: PartKind) -> Shaped:
        """Glyphs of a text in the font of its kind."""
        key = (text, kind in _WORDY)
        found = self._shaped.get(key)
        if found is None:
            if len(self._shaped) >= _CACHE_LIMIT:
                self._shaped.clear()
            found = self._shaped[key] = self._shape(*key)
        return found

    def _shape(self, text: str, is_small: bool) -> Shaped:
        layout = QTextLayout(text, self._small_font if is_small else self._font)
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.NoWrap)
        # Each cell keeps its place in logical order; only within it may text run to the left.
        option.setTextDirection(Qt.LayoutDirection.LeftToRight)
        layout.setTextOption(option)
        layout.beginLayout()
        line = layout.createLine()
        layout.endLayout()
        return Shaped(tuple(layout.glyphRuns()), line.ascent(), line.naturalTextWidth())
