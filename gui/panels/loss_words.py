"""Words and numbers of the loss panel."""

from __future__ import annotations

import math

from PySide6.QtCore import QCoreApplication

from logitscope.gui.session_view import SessionView
from logitscope.gui.widgets import numbers
from logitscope.gui.words import mark, translated
from logitscope.heat import RANK_LIMITS, Measure
from logitscope.surprisal import LossSummary

MEASURES = {
    Measure.LOSS: mark("LossPanel", "Loss"),
    Measure.PROBABILITY: mark("LossPanel", "Probability"),
    Measure.RANK: mark("LossPanel", "Rank"),
    Measure.ENTROPY: mark("LossPanel", "Entropy"),
    Measure.SURPRISE: mark("LossPanel", "Loss − entropy"),
}
TIPS = {
    Measure.LOSS: mark("LossPanel", "How unexpected each token was: −ln p, in nats"),
    Measure.PROBABILITY: mark("LossPanel", "How likely each token was"),
    Measure.RANK: mark("LossPanel", "How many tokens were likelier"),
    Measure.ENTROPY: mark("LossPanel", "How undecided the model was before each token"),
    Measure.SURPRISE: mark(
        "LossPanel", "Surprise beyond expectation: above 0, the token was less likely than usual"
    ),
}
BUCKETS = (
    "1",
    *(f"≤{limit}" for limit in RANK_LIMITS[1:]),
    f">{RANK_LIMITS[-1]}",
)


def measure_name(measure: Measure) -> str:
    return translated("LossPanel", MEASURES[measure])


def summary_parts(summary: LossSummary, *, is_part: bool) -> tuple[str, ...]:
    """The averages, the most important first; ``is_part``: of the chosen range."""
    if summary.tokens == 0:
        return ()
    counted = numbers.tokens(summary.tokens)
    return (
        _tr("mean {x} nats").format(x=_figure(summary.mean_loss, 3)),
        _tr("perplexity {x}").format(x=_perplexity(summary.perplexity)),
        _tr("selected: {tokens}").format(tokens=counted) if is_part else counted,
        _tr("{x} bits/byte").format(x=_figure(summary.bits_per_byte, 3)),
        _tr("rank 1 {x}").format(x=_share(summary.at_rank_1)),
        _tr("{x} bits/char").format(x=_figure(summary.bits_per_character, 3)),
        _tr("rank ≤10 {b}, ≤100 {c}, ≤1000 {d}").format(
            b=_share(summary.within_rank_10),
            c=_share(summary.within_rank_100),
            d=_share(summary.within_rank_1000),
        ),
    )


def summary_tip(summary: LossSummary) -> str:
    """What the line leaves out."""
    lines = [
        _tr("Each token with a known loss weighs the same."),
        _tr("total {x} nats").format(x=_figure(summary.total_loss, 3)),
    ]
    if summary.unknown:
        unknown = numbers.tokens(summary.unknown)
        lines.append(_tr("{tokens} without a loss").format(tokens=unknown))
    return "\n".join(lines)


def end_text(value: float, *, is_probability: bool) -> str:
    """A value at an end of the legend."""
    if is_probability:
        return numbers.percent(value)
    return numbers.signed(value, 0 if value == round(value) else 2)


def below(measure: Measure, value: float, rank: int) -> str:
    """The number below a token, at most five characters."""
    if measure is not Measure.RANK:
        return short_number(value)
    if rank == 0:
        return numbers.UNKNOWN
    return str(rank) if rank < 100_000 else ">99k"


def short_number(value: float) -> str:
    """At most five characters: ``12.3``, ``−0.45``, ``1e-5``."""
    if math.isnan(value):
        return numbers.UNKNOWN
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    size = abs(value)
    if 0 < size < 0.005:
        return f"{value:.0e}".replace("e-0", "e-").replace("-", "−", int(value < 0))
    return f"{value:.2f}".replace("-", "−") if size < 9.995 else f"{value:.1f}".replace("-", "−")


def placeholder(session: SessionView, opened: str | None) -> str:
    """What stands where no tokens are; ``opened``: the opened text, None for that on screen."""
    if session.model is None or opened is None:
        return session.reading.sentence(
            no_model=_tr("Open a model to see which tokens of a text surprise it."),
            empty=_tr("Type a prompt, or open, paste or drop a text here, to score its tokens."),
        )
    if not opened:
        return _tr("The opened text is empty: open another.")
    return _tr("The model is reading the text …")


def _figure(value: float, decimals: int) -> str:
    return numbers.UNKNOWN if math.isnan(value) else numbers.signed(value, decimals)


def _perplexity(value: float) -> str:
    if math.isinf(value):
        return "∞"
    return f"{value:,.1f}" if value < 1e6 else f"{value:.2e}"


def _share(value: float) -> str:
    return f"{100 * value:.0f} %"


def _tr(text: str) -> str:
    return QCoreApplication.translate("LossPanel", text)
