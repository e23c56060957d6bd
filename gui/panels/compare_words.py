"""Words and numbers of the comparison panel."""

from __future__ import annotations

import math

import numpy as np
from PySide6.QtCore import QCoreApplication

from logitscope.alignment import Totals, Vector
from logitscope.backends.base import ModelInfo
from logitscope.display import label_of_bytes
from logitscope.gui.comparing import Against, Compared, Comparison
from logitscope.gui.panels.compare_heat import Difference, divergences, range_bytes
from logitscope.gui.widgets import numbers
from logitscope.gui.words import mark, translated
from logitscope.heat import Scale

SEPARATOR = " · "
NAME_LIMIT = 32
DIFFERENCES = {
    Difference.PER_BYTE: mark("ComparePanel", "Difference per byte"),
    Difference.PER_RANGE: mark("ComparePanel", "Difference"),
    Difference.DIVERGENCE: mark("ComparePanel", "KL divergence"),
}
TIPS = {
    Difference.PER_BYTE: mark("ComparePanel", "Left minus right loss of each range, by its bytes"),
    Difference.PER_RANGE: mark("ComparePanel", "Left minus right loss of each range"),
    Difference.DIVERGENCE: mark(
        "ComparePanel",
        "How far the two models’ whole distributions are apart before each token: KL(left ‖ right)",
    ),
}


def difference_name(difference: Difference) -> str:
    return translated("ComparePanel", DIFFERENCES[difference])


def difference_tip(difference: Difference) -> str:
    return translated("ComparePanel", TIPS[difference])


def short(name: str) -> str:
    return name if len(name) <= NAME_LIMIT else f"{name[: NAME_LIMIT - 1]}…"


def model_text(model: ModelInfo) -> str:
    """Name and quantization."""
    return SEPARATOR.join(part for part in (model.name, model.quantization) if part)


def totals_text(totals: Totals) -> str:
    """One line; "" where nothing can be compared yet."""
    if totals.n_bytes == 0:
        return ""
    parts = [
        _tr("left {a}, right {b} bits/byte").format(
            a=numbers.signed(totals.left_bits_per_byte, 3),
            b=numbers.signed(totals.right_bits_per_byte, 3),
        ),
        _tr("difference {x}").format(x=with_sign(totals.difference, 3)),
        _tr("left better on {a}, right on {b} of the bytes").format(
            a=_share(totals.left_better), b=_share(totals.right_better)
        ),
    ]
    if totals.alone:
        parts.append(_tr("{n} bytes on one side only").format(n=numbers.count(totals.alone)))
    return SEPARATOR.join(parts)


def models_text(agreement: tuple[int, int], divergence: Vector) -> str:
    """What two models of one vocabulary have in common; "" where nothing is known."""
    parts = []
    same, known = agreement
    if known:
        words = _tr("same top token at {share} of {n} positions")
        parts.append(words.format(share=_share(same / known), n=numbers.count(known)))
    found = divergence[~np.isnan(divergence)]
    if len(found):
        words = _tr("mean KL {x} nats ({n} positions)")
        parts.append(words.format(x=_figure(float(found.mean())), n=numbers.count(len(found))))
    return SEPARATOR.join(parts)


def empty_text(comparison: Comparison) -> str:
    """What to do where there is nothing to show."""
    reading = comparison.session.reading
    if comparison.session.model is None:
        return reading.sentence(no_model=_tr("Open a model first: it reads the left side."))
    if comparison.against is Against.NOTHING:
        return _tr(
            "Choose above what to compare with: a second model that reads the same text, "
            "or another text for the same model."
        )
    right = comparison.right_session
    if right is None or right.model is None:
        return _without_right(comparison)
    if not comparison.shows_opened and not comparison.session.is_ready:
        return reading.sentence()
    if not len(comparison.left.subject.ids):
        return _tr("Type a prompt, or open a text on the left.")
    return _tr("Both sides are being read …")


def _without_right(comparison: Comparison) -> str:
    """Why the second model is not there."""
    second = comparison.second
    if second is not None and second.session.loading_path is None:
        return _tr("There is no second model: load it again, or choose another.")
    share = second.engine.activity.done / 1000 if second is not None else 0.0
    return _tr("The second model is being loaded: {share}").format(share=_share(share))


def legend_ends(difference: Difference, scale: Scale) -> tuple[str, str]:
    """What the ends of the colours say."""
    if not difference.is_two_sided:
        return "0", f"≥ {_figure(scale.high)}"
    return (
        _tr("left better {x}").format(x=f"≤ {with_sign(scale.low, _decimals(scale.high))}"),
        f"≥ {with_sign(scale.high, _decimals(scale.high))}",
    )


def legend_unit(difference: Difference) -> str:
    if difference.is_two_sided:
        return _tr("right better, {unit}").format(unit=difference.unit)
    return difference.unit


def table_row(compared: Compared, place: int, divergence: float) -> tuple[str, ...]:
    """Text, left, right, difference, per byte, divergence."""
    found = compared.differences
    return (
        label_of_bytes(range_bytes(compared, place)),
        _figure(float(found.left[place])),
        _figure(float(found.right[place])),
        with_sign(float(found.nats[place]), 3),
        with_sign(float(found.per_byte[place]), 3),
        _figure(divergence),
    )


def tooltip(compared: Compared, place: int, by_position: Vector) -> str:
    """All numbers of a range."""
    found, pairing = compared.differences, compared.pairing
    divergence = float(divergences(compared, by_position)[place])
    left, right, nats, per_byte = (
        float(values[place]) for values in (found.left, found.right, found.nats, found.per_byte)
    )
    if not pairing.is_paired[place]:
        return _tr("on one side only: loss {x} nats").format(
            x=_figure(right if math.isnan(left) else left)
        )
    lines = [
        _tr("“{text}”, {n} bytes").format(
            text=label_of_bytes(range_bytes(compared, place)), n=int(pairing.left_bytes[place])
        ),
        _tr("left {a}, right {b} nats").format(a=_figure(left), b=_figure(right)),
        _tr("difference {a} nats, {b} per byte").format(
            a=with_sign(nats, 3), b=with_sign(per_byte, 3)
        ),
    ]
    if not math.isnan(divergence):
        lines.append(_tr("KL(left ‖ right) {x} nats").format(x=_figure(divergence)))
    return "\n".join(lines)


def with_sign(value: float, decimals: int) -> str:
    """``+0.125``, ``−0.125``; "–" for unknown."""
    if math.isnan(value):
        return numbers.UNKNOWN
    return f"{'+' if value > 0 else ''}{numbers.signed(value, decimals)}"


def _figure(value: float) -> str:
    if math.isnan(value):
        return numbers.UNKNOWN
    return f"{value:.1e}".replace("-", "−") if 0 < value < 5e-4 else numbers.signed(value, 3)


def _decimals(high: float) -> int:
    return 0 if high == round(high) else 2 if high >= 0.1 else 3


def _share(value: float) -> str:
    return f"{100 * value:.0f} %"


def _tr(text: str) -> str:
    return QCoreApplication.translate("ComparePanel", text)
