"""Colour maps: even steps, readable text, and told apart with any common colour blindness."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from PySide6.QtGui import QColor

from logitscope.color_maps import STEPS, black_or_white, from_hex, to_hex, to_oklab
from logitscope.gui.colors import DARK, LIGHT, Palette, contrast, relative_luminance
from logitscope.gui.heat_colors import diverging, sequential, text_on

PALETTES = pytest.mark.parametrize("of", [LIGHT, DARK], ids=["light", "dark"])

# Machado, Oliveira and Fernandes (2009), severity 1.0, on linear RGB.
BLINDNESS = {
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def lab_of(colors: Sequence[QColor], blindness: str = "") -> np.ndarray:
    rgb = np.array([color.getRgbF()[:3] for color in colors])
    if blindness:
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        seen = np.clip(linear @ np.array(BLINDNESS[blindness]).T, 0, 1)
        rgb = np.where(seen <= 0.0031308, 12.92 * seen, 1.055 * seen ** (1 / 2.4) - 0.055)
    return to_oklab(rgb)


def test_oklab_of_published_colours() -> None:
    """CSS Color 4 gives white as (1, 0, 0) and red as (0.62796, 0.22486, 0.12585)."""
    found = lab_of([QColor("white"), QColor("red")])
    np.testing.assert_allclose(found, [[1, 0, 0], [0.62796, 0.22486, 0.12585]], atol=2e-4)


@PALETTES
def test_the_neutral_end_is_the_page(of: Palette) -> None:
    assert sequential(of)[0].name() == of.page.name()
    assert diverging(of)[STEPS // 2].name() == of.page.name()
    assert len(sequential(of)) == len(diverging(of)) == STEPS


@PALETTES
def test_steps_look_equal(of: Palette) -> None:
    for colors in (sequential(of), diverging(of)[STEPS // 2 :], diverging(of)[: STEPS // 2]):
        steps = np.linalg.norm(np.diff(lab_of(colors), axis=0), axis=1)
        assert steps.max() < 1.1 * np.median(steps)


@PALETTES
@pytest.mark.parametrize("blindness", ["", *BLINDNESS])
def test_lightness_tells_the_order(of: Palette, blindness: str) -> None:
    sign = 1 if relative_luminance(of.page) < 0.5 else -1
    lightness = sign * lab_of(sequential(of), blindness)[:, 0]
    assert (np.diff(lightness[::8]) > 0).all()
    assert lightness[-1] - lightness[0] > 0.4


@PALETTES
@pytest.mark.parametrize("blindness", ["", *BLINDNESS])
def test_the_two_sides_differ(of: Palette, blindness: str) -> None:
    colors = diverging(of)
    half = STEPS // 2
    pairs = [(half - at, half + at) for at in (48, 64, 96, 126)]
    for left, right in pairs:
        one, other = lab_of([colors[left], colors[right]], blindness)
        assert np.linalg.norm(one - other) > 0.08


@PALETTES
def test_text_can_be_read_on_every_tint(of: Palette) -> None:
    for color in (*sequential(of), *diverging(of)):
        assert contrast(text_on(color, of), color) >= 4.5
        plain = black_or_white(from_hex(color.name()))
        assert contrast(QColor(plain), QColor(color.name())) >= 4.5


def test_hexadecimal_colours_and_back() -> None:
    assert to_hex(from_hex("#14171E")) == "#14171E"
    assert from_hex("#FF0080").tolist() == [1.0, 0.0, 128 / 255]
