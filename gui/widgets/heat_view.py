"""Tokens on tints: the text as written, coloured by one number a token."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from logitscope.gui import heat_colors, theme
from logitscope.gui.widgets.token_painter import CellStyle, Mark
from logitscope.gui.widgets.token_view import TokenView

UNKNOWN = -1
"""Code of a token without a number."""
NUMBER_COLUMNS = 5
LEAST_HEIGHT = 4 * theme.GRID
"""A line of tokens: in a small panel it scrolls by itself, and the panel does not."""


class HeatView(TokenView):
    """A token view whose backgrounds are codes of a colour map, 0 to 255.

    The second mark is an underline of weight 0 to 3, so that the map can be read without colour.
    """

    jump_wanted = Signal(int)
    """The next (1) or previous (-1) surprising token is asked for."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._codes: NDArray[np.int16] = np.zeros(0, dtype=np.int16)
        self._weights: NDArray[np.uint8] = np.zeros(0, dtype=np.uint8)
        self._is_two_sided = False
        self._shows_underlines = True
        self._styles: dict[tuple[int, int], CellStyle] = {}
        self.setMinimumHeight(LEAST_HEIGHT)
        self.set_style(self._heat_of)
        self.setAccessibleName(self.tr("Heatmap of the text"))
        theme.notifier().changed.connect(self._styles.clear)

    def set_heat(self, codes: NDArray[np.int16], weights: NDArray[np.uint8]) -> None:
        """Codes and weights of the tokens, both (n,); the arrays are kept, not copied."""
        self._codes, self._weights = codes, weights
        self.viewport().update()

    def set_map(self, *, is_two_sided: bool) -> None:
        """Which of the two colour maps."""
        self._is_two_sided = is_two_sided
        self._styles.clear()
        self.viewport().update()

    def set_underlines(self, shown: bool) -> None:
        self._shows_underlines = shown
        self._styles.clear()
        self.viewport().update()

    def set_number_row(self, number_of: Callable[[int], str] | None) -> None:
        """A number of at most five characters below each token; None takes the row away."""
        self.set_numbers(number_of, NUMBER_COLUMNS)

    def point_at(self, token: int | None) -> None:
        """Mark a token as the mouse does."""
        self._hover(token)

    def _heat_of(self, token: int) -> CellStyle:
        if token >= len(self._codes):
            return self._style(UNKNOWN, 0)
        return self._style(int(self._codes[token]), int(self._weights[token]))

    def _style(self, code: int, weight: int) -> CellStyle:
        key = code, weight if self._shows_underlines else 0
        style = self._styles.get(key)
        if style is None:
            style = self._styles[key] = self._made_style(*key)
        return style

    def _made_style(self, code: int, weight: int) -> CellStyle:
        palette = theme.palette()
        if code == UNKNOWN:
            return CellStyle(mark=Mark.DOTTED, mark_color=palette.muted)
        colors = heat_colors.diverging if self._is_two_sided else heat_colors.sequential
        tint = colors(palette)[code]
        text = heat_colors.text_on(tint, palette)
        return CellStyle(
            background=tint,
            text=text,
            mark=Mark.UNDERLINE if weight else Mark.NONE,
            mark_color=text,
            mark_width=float(weight),
            keeps_background=True,
        )

    def keyPressEvent(self, event: QKeyEvent) -> None:
        jumps = {Qt.Key.Key_N: 1, Qt.Key.Key_P: -1}
        direction = jumps.get(Qt.Key(event.key()))
        if direction is not None and not event.modifiers() & ~Qt.KeyboardModifier.ShiftModifier:
            self.jump_wanted.emit(direction)
        else:
            super().keyPressEvent(event)
