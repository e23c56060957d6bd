"""The words of the guessing game: what was revealed, and the score."""

from __future__ import annotations

from html import escape
from operator import attrgetter

from PySide6.QtCore import QCoreApplication

from logitscope.display import label_of_bytes, token_label
from logitscope.distribution import Distribution
from logitscope.guessing import Totals, Verdict
from logitscope.gui import colors, theme
from logitscope.gui.export import Table
from logitscope.gui.export_menu import TableMaker
from logitscope.gui.guessing_game import Played
from logitscope.gui.widgets import numbers
from logitscope.gui.widgets.expected_bars import ROWS, Bar, Column
from logitscope.vocabulary import Vocabulary

SHOWN_CHARACTERS = 900
"""Of the text before the token: the last lines are read."""


def _tr(text: str) -> str:
    return QCoreApplication.translate("GamePanel", text)


def text_before(before: bytes, revealed: str, is_right: bool | None) -> str:
    """Rich text: what is known, and the token that came, or a gap for it."""
    known = before.decode("utf-8", "replace")
    if len(known) > SHOWN_CHARACTERS:
        known = "…" + known[-SHOWN_CHARACTERS:]
    palette = theme.palette()
    if revealed:
        color = palette.generated_tint if is_right is not False else palette.forced_tint
        end = f"<span style='background:{color.name()}'>{escape(revealed)}</span>"
    else:
        color = colors.readable(palette.accent, palette.page)
        end = f"<span style='color:{color.name()}'>&nbsp;▁▁▁&nbsp;?</span>"
    return f"<div style='white-space:pre-wrap'>{escape(known)}{end}</div>"


def plain_text(text: str) -> str:
    """Rich text of a sentence that may hold anything."""
    return escape(text, quote=False)


def outcome(vocabulary: Vocabulary, row: Distribution, truth: int, verdict: Verdict | None) -> str:
    """Rich text of one sentence."""
    if verdict is None:
        words, color = _tr("It was {token}: rank {rank} of the model, {p}."), theme.palette().text
    elif verdict.is_right:
        words = _tr("✓ Right, it was {token}: rank {rank} of the model, {p}.")
        color = theme.palette().derived
    else:
        words = _tr("✗ It was {token}: rank {rank} of the model, {p}.")
        color = theme.palette().warning
    sentence = words.format(
        token=f"“{escape(token_label(vocabulary, truth))}”",
        rank=numbers.count(row.rank(truth)),
        p=numbers.percent(row.probability(truth)),
    )
    readable = colors.readable(color, theme.palette().panel).name()
    return f"<span style='color:{readable}; font-weight:600'>{sentence}</span>"


def bits(value: float) -> str:
    """Two decimals."""
    return numbers.signed(value, 2)


def score(verdict: Verdict | None, totals: Totals) -> str:
    """Rich text: bits of this token and of all guesses so far."""
    if totals.guesses == 0:
        return ""
    lines = [("", _tr("this token"), _tr("all"), _tr("a guess"))]
    for name, of in (
        (_tr("You"), attrgetter("person")),
        (_tr("Model"), attrgetter("model")),
        (_tr("Chance"), attrgetter("chance")),
    ):
        now = numbers.UNKNOWN if verdict is None else bits(of(verdict))
        total: float = of(totals)
        lines.append((f"<b>{name}</b>", now, bits(total), bits(total / totals.guesses)))
    gap = f"style='padding: 2px {2 * theme.GRID}px 0 0'"
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td {gap} align='{'left' if index == 0 else 'right'}'>{cell}</td>"
            for index, cell in enumerate(line)
        )
        + "</tr>"
        for line in lines
    )
    words = _tr("Guesses {guesses} · right {right} · streak {streak} (longest {longest}) · bits:")
    head = words.format(
        guesses=numbers.count(totals.guesses),
        right=numbers.count(totals.right),
        streak=numbers.count(totals.streak),
        longest=numbers.count(totals.longest),
    )
    return f"{head}<table>{rows}</table>"


def table(played: tuple[Played, ...]) -> TableMaker:
    """All guesses, one a row, with exact bits."""
    titles = (
        "model", "position", "token", "guessed", "confidence", "right", "person_bits",
        "model_bits", "chance_bits",
    )  # fmt: skip

    def make() -> Table:
        rows = tuple(
            (
                one.model,
                one.position,
                label_of_bytes(one.truth),
                " | ".join(map(label_of_bytes, one.guessed)),
                one.confidence,
                int(one.verdict.is_right),
                one.verdict.person,
                one.verdict.model,
                one.verdict.chance,
            )
            for one in played
        )
        return Table("guesses", titles, rows)

    return make


def columns(vocabulary: Vocabulary, row: Distribution, truth: int) -> tuple[Column, ...]:
    """The likeliest tokens, the true one marked; where it is none of them, it takes the last
    place."""
    ids = row.top(min(ROWS, len(row))).tolist()
    if truth not in ids:
        ids[-1] = truth
    bars = tuple(
        Bar(token_label(vocabulary, i), row.probability(i), is_own=i == truth) for i in ids
    )
    tip = _tr("The model's probabilities over its whole vocabulary; the frame marks what came.")
    return (Column(_tr("What the model expected"), tip, bars),)
