"""Colour maps of heatmaps: from the page colour to a strong tint in steps that look equal.

Both maps change lightness from end to end, so that they can be read with any colour blindness and
in grey. The two sides of the diverging map are blue and orange, which the common kinds of
blindness keep apart. Colours are sRGB values from 0 to 1, or ``#RRGGBB``.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

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


def sequential(page: str) -> Matrix:
    """(256, 3); the first is exactly the page's colour."""
    return _map((page, *(_DARK_RAMP if is_dark(page) else _LIGHT_RAMP)), STEPS)


def diverging(page: str) -> Matrix:
    """(256, 3) from blue over exactly the page's colour (128) to orange."""
    cold, warm = (_DARK_COLD, _DARK_WARM) if is_dark(page) else (_LIGHT_COLD, _LIGHT_WARM)
    left = _map((page, *cold), STEPS // 2 + 1)
    right = _map((page, *warm), STEPS // 2)
    return np.concatenate((left[:0:-1], right))


def is_dark(page: str) -> bool:
    """Whether a page of this colour is read with light text."""
    return luminance(from_hex(page)) < 0.18


def luminance(rgb: Matrix) -> float:
    """From 0 (black) to 1 (white), as WCAG 2.2 defines it; rgb (3,)."""
    return float(_linear(rgb) @ np.array([0.2126, 0.7152, 0.0722]))


def black_or_white(background: Matrix) -> str:
    """Which of the two has more contrast on a background, always at least 4.5:1."""
    # (1 + 0.05) / (l + 0.05) = (l + 0.05) / 0.05 at l = 0.1791.
    return "#000000" if luminance(background) > 0.1791 else "#FFFFFF"


def from_hex(color: str) -> Matrix:
    """``#RRGGBB`` as (3,)."""
    return np.frombuffer(bytes.fromhex(color.removeprefix("#")), dtype=np.uint8) / 255.0


def to_hex(rgb: Matrix) -> str:
    """(3,) as ``#RRGGBB``."""
    return "#" + np.round(np.clip(rgb, 0, 1) * 255).astype(np.uint8).tobytes().hex().upper()


def to_oklab(rgb: Matrix) -> Matrix:
    """sRGB, (n, 3), as OKLab coordinates, (n, 3)."""
    lab: Matrix = np.cbrt(_linear(rgb) @ _TO_LMS.T) @ _TO_LAB.T
    return lab


def from_oklab(lab: Matrix) -> Matrix:
    """OKLab coordinates, (n, 3), as sRGB, cut off at 0 and 1."""
    lms = (lab @ np.linalg.inv(_TO_LAB).T) ** 3
    linear = np.clip(lms @ np.linalg.inv(_TO_LMS).T, 0.0, 1.0)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)


def _linear(rgb: Matrix) -> Matrix:
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


@lru_cache(maxsize=16)
def _map(names: tuple[str, ...], steps: int) -> Matrix:
    """Colours at equal distances along straight lines through OKLab."""
    given = np.stack([from_hex(name) for name in names])
    points = to_oklab(given)
    lengths = np.linalg.norm(np.diff(points, axis=0), axis=1)
    along = np.concatenate(([0.0], np.cumsum(lengths)))
    wanted = np.linspace(0.0, along[-1], steps)
    lab = np.stack([np.interp(wanted, along, points[:, axis]) for axis in range(3)], axis=1)
    made = from_oklab(lab)
    made[0] = given[0]
    return made
