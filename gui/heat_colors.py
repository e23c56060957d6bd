"""The colour maps of heatmaps on a palette's page, as Qt's colours."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtGui import QColor

from logitscope import color_maps
from logitscope.gui.colors import MINIMUM_CONTRAST, Palette, contrast, readable


def sequential(of: Palette) -> tuple[QColor, ...]:
    """256 colours; the first is exactly the page's."""
    return _sequential(of.page.name())


def diverging(of: Palette) -> tuple[QColor, ...]:
    """256 colours from blue over exactly the page's (128) to orange."""
    return _diverging(of.page.name())


def text_on(background: QColor, of: Palette) -> QColor:
    """The palette's text or page colour, whichever can be read on a tint; else black or white."""
    if contrast(of.text, background) >= MINIMUM_CONTRAST:
        return of.text
    return readable(of.page, background)


@lru_cache(maxsize=4)
def _sequential(page: str) -> tuple[QColor, ...]:
    return _as_colors(color_maps.sequential(page))


@lru_cache(maxsize=4)
def _diverging(page: str) -> tuple[QColor, ...]:
    return _as_colors(color_maps.diverging(page))


def _as_colors(rgb: color_maps.Matrix) -> tuple[QColor, ...]:
    return tuple(QColor.fromRgbF(*color) for color in rgb.tolist())
