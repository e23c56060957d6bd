"""Where the columns of the bars view stand, for a width and a font."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtGui import QFontMetricsF

GAP = 8.0
MARK_WIDTH = 4.0
LEAST_BAR = 88.0
"""Below this width of the bars, columns of numbers give way."""
TEXT_LIMITS = (80.0, 224.0)
TEXT_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Columns:
    """Left edges and widths in device-independent pixels; a width of 0 hides a column.

    ``is_stacked``: logit and id share one column, one above the other.
    """

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
    is_stacked: bool = False


def columns(width: float, numbers: QFontMetricsF, legend: float = 0.0) -> Columns:
    """Share a width among the columns: logit and id side by side, else stacked, else left out.

    ``legend``: what stands above the texts needs this width.
    """
    probability = numbers.horizontalAdvance("0.000000000")
    logit = numbers.horizontalAdvance("−000.00")
    token_id = numbers.horizontalAdvance("000000")
    text = min(TEXT_LIMITS[1], max(TEXT_LIMITS[0], TEXT_SHARE * width))
    text = max(text, legend)
    text_x = MARK_WIDTH + GAP
    bar_x = text_x + text + GAP
    room = width - bar_x - 2 * GAP - probability
    stacked = max(logit, token_id)
    choices = ((logit, token_id, False), (stacked, stacked, True), (0.0, 0.0, False))
    for own_logit, own_id, is_stacked in choices:
        used = own_logit + GAP if own_logit else 0.0
        used += own_id + GAP if own_id and not is_stacked else 0.0
        if room - used >= LEAST_BAR or not own_logit:
            break
    bar = max(0.0, room - used)
    probability_x = bar_x + bar + GAP
    logit_x = probability_x + probability + GAP
    id_x = logit_x if is_stacked else logit_x + own_logit + GAP
    return Columns(
        text_x,
        text,
        bar_x,
        bar,
        probability_x,
        probability,
        logit_x,
        own_logit,
        id_x,
        own_id,
        is_stacked,
    )
