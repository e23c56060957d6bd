"""How origins look: a colour, a second mark, a hatch and small signs. Pure functions."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtGui import QColor

from logitscope.gui import colors, theme
from logitscope.gui.widgets.token_painter import CellStyle, Mark
from logitscope.gui.words import mark, translated
from logitscope.origin_types import Flag, Label, WordOrigin

CONTEXT = "Origin"
_SOURCE_TINTS = (0.10, 0.20)
"""Share of the source's blue in the tints of neighbouring spans; twice that on a dark page."""
_WEAKEST, _STRONGEST = 0.12, 0.50
"""Share of an origin's colour in the ground of a word whose share is 0, or 1."""
FULL_EVIDENCE = 5.0
"""Nats that are painted in full: without the span, the word has 1/150 of its probability."""


@dataclass(frozen=True, slots=True)
class Look:
    """How a label is shown, and what it is called."""

    color: str
    """Name in the palette."""
    mark: Mark
    name: str
    meaning: str
    is_hatched: bool = False


LOOKS: dict[Label, Look] = {
    Label.COPIED: Look(
        "copied", Mark.UNDERLINE, mark(CONTEXT, "copied"),
        mark(CONTEXT, "the word stands in a source, and without it the word is unlikely"),
    ),
    Label.DERIVED: Look(
        "derived", Mark.DASHED, mark(CONTEXT, "derived"),
        mark(CONTEXT, "unlikely without the sources, but not copied from the word there"),
    ),
    Label.BOTH: Look(
        "both", Mark.DOUBLE, mark(CONTEXT, "both"),
        mark(CONTEXT, "the weights say it anyway, but it follows the source when that changes"),
    ),
    Label.WEIGHTS: Look(
        "weights", Mark.DOTTED, mark(CONTEXT, "weights"),
        mark(CONTEXT, "about as likely without the sources"),
    ),
    Label.PROMPT: Look(
        "accent", Mark.DASH_DOT, mark(CONTEXT, "from the prompt"),
        mark(CONTEXT, "unlikely without the sources; click it to see whether it was copied"),
    ),
    Label.UNCERTAIN: Look(
        "uncertain", Mark.NONE, mark(CONTEXT, "uncertain"),
        mark(CONTEXT, "the ways to take the sources away do not agree"), is_hatched=True,
    ),
    Label.UNKNOWN: Look(
        "muted", Mark.NONE, mark(CONTEXT, "not known yet"),
        mark(CONTEXT, "not worked out"),
    ),
}  # fmt: skip

SIGNS: dict[Flag, tuple[str, str]] = {
    Flag.LOWERED: (
        "↓",
        mark(CONTEXT, "lowered: the sources make the word less likely"),
    ),
    Flag.REDUNDANT: (
        "=",
        mark(CONTEXT, "redundant: several spans say the same, and each would do"),
    ),
    Flag.WEAK: (
        "?",
        mark(CONTEXT, "weak: below 10 % even with the sources"),
    ),
}

ORDER = (
    Label.COPIED, Label.DERIVED, Label.BOTH, Label.PROMPT, Label.UNCERTAIN, Label.WEIGHTS,
    Label.UNKNOWN,
)  # fmt: skip
"""From the prompt's side to the weights'."""


def label_name(label: Label) -> str:
    return translated(CONTEXT, LOOKS[label].name)


def label_meaning(label: Label) -> str:
    return translated(CONTEXT, LOOKS[label].meaning)


def sign_meaning(flag: Flag) -> str:
    return translated(CONTEXT, SIGNS[flag][1])


def signs_of(word: WordOrigin) -> str:
    """The signs of a word's flags, in a fixed order."""
    return "".join(sign for flag, (sign, _) in SIGNS.items() if flag in word.flags)


def color_of(label: Label) -> QColor:
    """The label's own colour."""
    found: QColor = getattr(theme.palette(), LOOKS[label].color)
    return found


def line_color(label: Label) -> QColor:
    """The label's colour, dark or light enough for lines on the page (3 : 1)."""
    return colors.readable(color_of(label), theme.palette().page, 3.0)


def hatch_color(label: Label) -> QColor:
    """Faint enough for the text that stands on it."""
    return colors.with_alpha(line_color(label), 0.4)


def ground_of(label: Label, strength: float) -> QColor:
    """Ground of a word; ``strength`` is its share, 0 to 1."""
    share = _WEAKEST + (_STRONGEST - _WEAKEST) * min(1.0, max(0.0, strength))
    return colors.mix(theme.palette().page, color_of(label), share)


def style_of(word: WordOrigin, *, is_last: bool = True) -> CellStyle:
    """How a token of a word is marked; the signs stand at its last one."""
    look, palette = LOOKS[word.label], theme.palette()
    if word.label is Label.UNKNOWN:
        return CellStyle()
    ground = ground_of(word.label, share_of(word))
    return CellStyle(
        background=ground,
        text=colors.readable(palette.text, ground),
        mark=look.mark,
        mark_color=line_color(word.label),
        mark_width=2.0,
        keeps_background=True,
        hatch=hatch_color(word.label) if look.is_hatched else None,
        sign=signs_of(word) if is_last else "",
    )


def share_of(word: WordOrigin) -> float:
    """The word's share; 0 while nothing without the sources is known."""
    return word.share if len(word.log_probability) > 1 else 0.0


def source_tint(number: int) -> QColor:
    """Ground of the ``number``-th span of the sources."""
    palette = theme.palette()
    share = _SOURCE_TINTS[number % 2] * (2.0 if theme.is_dark() else 1.0)
    return colors.mix(palette.page, palette.copied, share)


def evidence_tint(evidence: float) -> QColor:
    """Ground of a span by its evidence in nats: the page's own at 0 and below it.

    The scale is the same for all words, so that noise is not painted as strong where nothing else
    is.
    """
    palette = theme.palette()
    strongest = 0.75 if theme.is_dark() else 0.5
    share = strongest * min(1.0, max(0.0, evidence / FULL_EVIDENCE))
    return colors.mix(palette.page, palette.copied, share)


def source_word_style(label: Label) -> CellStyle:
    """The word of a source that a word of this label came from: the strongest there is."""
    ground = line_color(label)
    text = colors.readable(theme.palette().page, ground)
    return CellStyle(background=ground, text=text, keeps_background=True)
