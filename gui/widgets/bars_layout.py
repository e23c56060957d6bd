"""Where the columns of the bars view stand, for a width and a font."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtGui import QFontMetricsF

GAP = 8.0
MARK_WIDTH = 4.0
LEAST_BAR = 120.0
"""Below this width of the bars, columns of numbers give way: the id first, then the logit."""
TEXT_LIMITS = (72.0, 224.0)
TEXT_SHARE = 0.26


@dataclass(frozen=True, slots=True)
class Columns:
    """Left edges and widths in device-independent pixels; a width of 0 hides a column."""

    text_x: float
    text_width: float
    bar_x: float
    bar_width: float
    probability_x: float
    probability_width: float
    logit_x: float
    logit_width: float
    id_x: float
    id_width: float


def columns(width: float, numbers: QFontMetricsF) -> Columns:
    """Share a width among the columns."""
    probability_width = numbers.horizontalAdvance("■ raw ■ shaped") + GAP
    logit_width = numbers.horizontalAdvance("−000.00") + GAP
    id_width = numbers.horizontalAdvance("000,000") + GAP
    text_width = min(TEXT_LIMITS[1], max(TEXT_LIMITS[0], TEXT_SHARE * width))
    text_x = MARK_WIDTH + GAP
    bar_x = text_x + text_width + GAP
    room = width - bar_x - probability_width - GAP
    if room - logit_width - id_width < LEAST_BAR:
        id_width = 0.0
    if room - logit_width - id_width < LEAST_BAR:
        logit_width = 0.0
    bar_width = max(0.0, room - logit_width - id_width)
    probability_x = bar_x + bar_width + GAP
    logit_x = probability_x + probability_width
    return Columns(
        text_x,
        text_width,
        bar_x,
        bar_width,
        probability_x,
        probability_width - GAP,
        logit_x,
        max(0.0, logit_width - GAP),
        logit_x + logit_width,
        max(0.0, id_width - GAP),
    )
