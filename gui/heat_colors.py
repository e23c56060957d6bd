"""Colour maps of heatmaps: from the page colour to a strong tint in steps that look equal.

Both maps change lightness from end to end, so that they can be read with any colour blindness and
in grey. The two sides of the diverging map are blue and orange, which the common kinds of
blindness keep apart.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QColor

from logitscope.gui.colors import Palette, readable, relative_luminance

STEPS = 256

Matrix = NDArray[np.float64]

# Björn Ottosson, "A perceptual color space for image processing" (2020): OKLab.
_TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)

# Between the page and the strongest tint: hues of ColorBrewer's OrRd, which is made for readers
# with colour blindness; on a dark page they grow lighter instead.
_LIGHT_RAMP = ("#FEE8C8", "#FDBB84", "#F2744B", "#CB2B1D", "#8A0F14")
_DARK_RAMP = ("#43231F", "#853218", "#C75A14", "#F59A3C", "#FFE0A6")
_LIGHT_COLD = ("#D6E6F4", "#86BCDC", "#3787C0", "#0B4C94")
_LIGHT_WARM = ("#FDE3C8", "#FBA762", "#DC6A14", "#8C3A04")
_DARK_COLD = ("#173349", "#20618F", "#4C9BD3", "#B5DDFA")
_DARK_WARM = ("#43291A", "#8A4712", "#D07F22", "#FBD39A")


def to_oklab(rgb: Matrix) -> Matrix:
    """sRGB values from 0 to 1, (n, 3), as OKLab coordinates, (n, 3)."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return np.cbrt(linear @ _TO_LMS.T) @ _TO_LAB.T  # type: ignore[no-any-return]


def from_oklab(lab: Matrix) -> Matrix:
    """OKLab coordinates, (n, 3), as sRGB values, cut off at 0 and 1."""
    lms = (lab @ np.linalg.inv(_TO_LAB).T) ** 3
    linear = np.clip(lms @ np.linalg.inv(_TO_LMS).T, 0.0, 1.0)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)


def sequential(of: Palette) -> tuple[QColor, ...]:
    """256 colours; the first is exactly the page's."""
    ramp = _LIGHT_RAMP if _is_light(of) else _DARK_RAMP
    return _map((of.page.name(), *ramp), STEPS)


def diverging(of: Palette) -> tuple[QColor, ...]:
    """256 colours from blue over exactly the page's (128) to orange."""
    cold, warm = (_LIGHT_COLD, _LIGHT_WARM) if _is_light(of) else (_DARK_COLD, _DARK_WARM)
    page = of.page.name()
    left = _map((page, *cold), STEPS // 2 + 1)
    right = _map((page, *warm), STEPS // 2)
    return (*reversed(left[1:]), *right)


def text_on(background: QColor, of: Palette) -> QColor:
    """The palette's text colour, moved until it can be read on a tint."""
    return readable(of.text, background)


@lru_cache(maxsize=16)
def _map(names: tuple[str, ...], steps: int) -> tuple[QColor, ...]:
    """Colours at equal distances along straight lines through OKLab."""
    given = [QColor(name) for name in names]
    points = to_oklab(np.array([(c.redF(), c.greenF(), c.blueF()) for c in given]))
    lengths = np.linalg.norm(np.diff(points, axis=0), axis=1)
    along = np.concatenate(([0.0], np.cumsum(lengths)))
    wanted = np.linspace(0.0, along[-1], steps)
    lab = np.stack([np.interp(wanted, along, points[:, axis]) for axis in range(3)], axis=1)
    made = tuple(QColor.fromRgbF(*rgb) for rgb in from_oklab(lab).tolist())
    return (QColor(names[0]), *made[1:])


def _is_light(of: Palette) -> bool:
    return relative_luminance(of.page) > 0.5
