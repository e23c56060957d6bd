"""Pure colour functions: contrast, mixing, the two palettes. No widgets, no state."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtGui import QColor

MINIMUM_CONTRAST = 4.5
"""WCAG 2.2 level AA for text of ordinary size."""

_LINEAR_LIMIT = 0.04045
"""Where the sRGB transfer function changes from a line to a power (IEC 61966-2-1)."""


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of one appearance, by what they are for."""

    page: QColor
    """Behind text and tokens; the light end of colour maps."""
    panel: QColor
    """Behind chrome: bars, dock titles, the space between panels."""
    raised: QColor
    """Buttons, fields, menus, cards."""
    line: QColor
    text: QColor
    muted: QColor
    """Secondary text; keeps the minimum contrast on page, panel and raised."""
    accent: QColor
    accent_text: QColor
    """Text on ``accent``."""
    prompt_tint: QColor
    generated_tint: QColor
    forced_tint: QColor
    selection: QColor
    bar_raw: QColor
    bar_shaped: QColor
    excluded: QColor
    """What the sampler chain left out."""
    tail: QColor
    """Every other token, as one bar."""
    warning: QColor
    error: QColor
    copied: QColor
    derived: QColor
    both: QColor
    weights: QColor
    uncertain: QColor


# The origin colours are Okabe and Ito's (2008), told apart with any common colour blindness.
_ORIGIN = {
    "copied": "#0072B2",
    "derived": "#009E73",
    "both": "#CC79A7",
    "weights": "#E69F00",
}

_LIGHT = {
    "page": "#FFFFFF",
    "panel": "#F5F6F9",
    "raised": "#FFFFFF",
    "line": "#DFE3EA",
    "text": "#1B2130",
    "muted": "#5A6375",
    "accent": "#3157C8",
    "accent_text": "#FFFFFF",
    "prompt_tint": "#F1F3F7",
    "generated_tint": "#DFF0E8",
    "forced_tint": "#FDE8C8",
    "selection": "#D3DFFF",
    "bar_raw": "#AEBBD6",
    "bar_shaped": "#4A72E8",
    "excluded": "#D9DCE3",
    "tail": "#C6CCD8",
    "warning": "#8F5200",
    "error": "#B3261E",
    "uncertain": "#7A8394",
}

_DARK = {
    "page": "#14171E",
    "panel": "#1A1E27",
    "raised": "#242A36",
    "line": "#313847",
    "text": "#E7EAF1",
    "muted": "#9FA9BB",
    "accent": "#86A8FF",
    "accent_text": "#0C1222",
    "prompt_tint": "#222834",
    "generated_tint": "#173D34",
    "forced_tint": "#4A3512",
    "selection": "#24365F",
    "bar_raw": "#566483",
    "bar_shaped": "#7299FF",
    "excluded": "#373E4C",
    "tail": "#454E60",
    "warning": "#F0B35A",
    "error": "#FF8A80",
    "uncertain": "#8E98AA",
}


def _palette(colors: dict[str, str]) -> Palette:
    return Palette(**{name: QColor(value) for name, value in (colors | _ORIGIN).items()})


LIGHT = _palette(_LIGHT)
DARK = _palette(_DARK)


def relative_luminance(color: QColor) -> float:
    """Luminance from 0 (black) to 1 (white), as WCAG 2.2 defines it; alpha is ignored."""
    red, green, blue = (
        value / 12.92 if value <= _LINEAR_LIMIT else ((value + 0.055) / 1.055) ** 2.4
        for value in (color.redF(), color.greenF(), color.blueF())
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: QColor, other: QColor) -> float:
    """Contrast ratio of two opaque colours, from 1 to 21 (WCAG 2.2)."""
    darker, lighter = sorted((relative_luminance(one), relative_luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def mix(start: QColor, end: QColor, share: float) -> QColor:
    """``start`` at 0, ``end`` at 1, in between a blend of the sRGB values."""
    share = min(1.0, max(0.0, share))
    keep = 1.0 - share
    return QColor.fromRgbF(
        keep * start.redF() + share * end.redF(),
        keep * start.greenF() + share * end.greenF(),
        keep * start.blueF() + share * end.blueF(),
        keep * start.alphaF() + share * end.alphaF(),
    )


def with_alpha(color: QColor, alpha: float) -> QColor:
    """The colour with this opacity, 0 to 1."""
    result = QColor(color)
    result.setAlphaF(min(1.0, max(0.0, alpha)))
    return result


def over(top: QColor, base: QColor) -> QColor:
    """The opaque colour seen where ``top``, which may be translucent, lies on ``base``."""
    opaque = with_alpha(top, 1.0)
    return mix(with_alpha(base, 1.0), opaque, top.alphaF())


def readable(wanted: QColor, background: QColor, minimum: float = MINIMUM_CONTRAST) -> QColor:
    """``wanted``, moved towards black or white just until it can be read on ``background``.

    The result reaches ``minimum`` wherever black or white does (always, for 4.5).
    """
    if contrast(wanted, background) >= minimum:
        return wanted
    black, white = QColor(0, 0, 0), QColor(255, 255, 255)
    end = max(black, white, key=lambda extreme: contrast(extreme, background))
    for step in range(1, 20):
        candidate = mix(wanted, end, step / 20)
        if contrast(candidate, background) >= minimum:
            return candidate
    return end
