"""The sentences of the origin panel."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication

from logitscope.backends.origin_messages import Task
from logitscope.display import label_of_bytes
from logitscope.gui.origin_case import MANY_SPANS, Obstacle
from logitscope.gui.origin_style import ORDER, label_meaning, label_name, sign_meaning
from logitscope.gui.reading import Reading
from logitscope.gui.widgets import numbers
from logitscope.origin_spans import estimate
from logitscope.origin_totals import OriginTotal
from logitscope.origin_types import (
    Condition,
    Label,
    OriginCase,
    OriginReport,
    Range,
    SourceEvidence,
    Swap,
    WordOrigin,
)
from logitscope.vocabulary import Vocabulary

SEPARATOR = " · "
SHORT = 48
"""Characters of a span that are shown in a list."""


def _tr(text: str) -> str:
    return QCoreApplication.translate("OriginPanel", text)


# -- states -------------------------------------------------------------------------------------


def obstacle_text(obstacle: Obstacle, reading: Reading) -> str:
    """What to do about it."""
    return {
        Obstacle.NO_MODEL: reading.sentence(
            no_model=_tr("Open a model to see where its answers come from.")
        ),
        Obstacle.READING: reading.sentence(),
        Obstacle.TOO_LONG: reading.too_long_sentence(),
        Obstacle.NO_SOURCE: _tr(
            "Nothing in the prompt is marked as a source yet. Put the caret into the text that the "
            "answer should come from and press Ctrl+M: its paragraph becomes a source, and this "
            "panel shows which words of the answer come from it."
        ),
        Obstacle.NO_ANSWER: _tr(
            "There is no answer yet: press Run, and every word is traced back."
        ),
        Obstacle.CHANGED_TEXT: _tr(
            "The chat template writes the marked text in another way, so its tokens cannot be "
            "found: mark another stretch, or use a plain prompt."
        ),
        Obstacle.NO_FRAME: _tr(
            "The prompt is too short to be taken away: at least one token has to stay."
        ),
    }[obstacle]


def task_text(task: Task) -> str:
    """What is being worked out."""
    return {
        Task.LABELS: _tr("prompt or weights …"),
        Task.SOURCES: _tr("sources of the word …"),
        Task.SWAP: _tr("other words in the source …"),
        Task.LEANS: _tr("earlier words …"),
        Task.FREE: _tr("answer without the sources …"),
        Task.GRADIENTS: _tr("gradients …"),
        Task.THRESHOLD: _tr("this model’s threshold …"),
    }[task]


def many_text(case: OriginCase) -> str:
    """What a search through many spans costs."""
    cost = estimate(case)
    return _tr(
        "{n} spans are more than {most}: they are searched in groups, with about {passes} passes "
        "over {tokens} tokens."
    ).format(
        n=numbers.count(len(case.sources)),
        most=MANY_SPANS,
        passes=numbers.count(cost.passes),
        tokens=numbers.count(cost.tokens),
    )


def limits_html() -> str:
    """What the panel cannot say."""
    lines = (
        _tr(
            "It shows what the probabilities of the words depend on, not how the model works "
            "inside: no head, no training text, and not whether a word is true."
        ),
        _tr(
            "Where sources and weights agree, taking the sources away says “weights”; only other "
            "words in the source (swaps) show that the source would win."
        ),
        _tr(
            "Where two spans say the same, each alone seems not to be needed; “hold” and the sign "
            "= tell of that. A model also repairs itself in part, so that need is rather too low."
        ),
        _tr(
            "Very unlikely words make large differences out of next to nothing (the sign ?), and "
            "nearly certain words hide small ones."
        ),
        _tr("A prompt with parts cut out is an odd text; the fillers check that, not perfectly."),
        _tr("Below 0.25 nat nothing is claimed: that is numeric noise."),
        _tr(
            "Not tried so far: conclusions over several steps, patterns learned in the prompt, and "
            "large models."
        ),
    )
    return "<ul>" + "".join(f"<li>{html.escape(line)}</li>" for line in lines) + "</ul>"


# -- totals -------------------------------------------------------------------------------------


def totals_text(found: Sequence[OriginTotal]) -> str:
    """One line: words and bits by label."""
    by_label = {total.label: total for total in found}
    words = sum(total.words for total in found)
    parts = [
        _tr("{n} {label}").format(n=by_label[label].words, label=label_name(label))
        for label in ORDER
        if label in by_label
    ]
    saved = sum(total.saved_bits for total in found)
    title = _tr("1 word") if words == 1 else _tr("{n} words").format(n=numbers.count(words))
    bits = _tr("the sources took off {bits} bits").format(bits=numbers.signed(saved, 1))
    return f"{title}: {', '.join(parts)}{SEPARATOR}{bits}"


def part_tip(total: OriginTotal) -> str:
    """Of a stretch of the bar."""
    return _tr(
        "{label}: {n} words; they still cost {bits} bits, and the sources took off {saved} bits"
    ).format(
        label=label_name(total.label),
        n=total.words,
        bits=numbers.signed(total.bits, 1),
        saved=numbers.signed(total.saved_bits, 1),
    )


# -- words --------------------------------------------------------------------------------------


def shown(text: str) -> str:
    """A word with its invisible characters, in quotation marks."""
    return f"“{label_of_bytes(text.encode(errors='replace'))}”"


def span_text(vocabulary: Vocabulary, case: OriginCase, tokens: Range) -> str:
    """The text of some tokens of the prompt, on one line."""
    text = vocabulary.text_bytes(case.prompt_ids[slice(*tokens)]).decode(errors="replace")
    return " ".join(text.split())


def short(text: str, limit: int = SHORT) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def nats(value: float) -> str:
    """With a sign, two decimals."""
    return ("+" if value > 0 else "") + numbers.signed(value, 2)


def derived_text(stands_there: bool) -> str:
    """What a derived word depends on; ``stands_there``: a source holds the word."""
    if stands_there:
        return _tr("the word depends on the sources, but not on that word where it stands there")
    return _tr("made by the weights out of sources that do not hold the word")


def word_html(word: WordOrigin, *, stands_there: bool) -> str:
    """What is known of the selected word, in two or three lines; ``stands_there``: a source
    holds the word."""
    name = f"<b>{html.escape(shown(word.text))} {html.escape(label_name(word.label))}</b>"
    if len(word.log_probability) < 2:
        return name
    is_derived = word.label is Label.DERIVED
    meaning = derived_text(stands_there) if is_derived else label_meaning(word.label)
    lines = [f"{name} – {html.escape(meaning)}.", _change_html(word)]
    lines.extend(html.escape(sign_meaning(flag)) for flag in sorted(word.flags))
    return "<br>".join(lines)


def _change_html(word: WordOrigin) -> str:
    low, high = word.deltas
    base = word.log_probability[Condition.WITH]
    likeliest = max(v for k, v in word.log_probability.items() if k is not Condition.WITH)
    return html.escape(
        _tr(
            "Probability {before} with the sources, at most {after} without. Share {share}. "
            "Δ {low} to {high} nats."
        ).format(
            before=numbers.percent(math.exp(base)),
            after=numbers.percent(math.exp(likeliest)),
            share=f"{100 * word.share:.0f} %",
            low=nats(low),
            high=nats(high),
        )
    )


def word_tip(word: WordOrigin) -> str:
    """For a tooltip: label, share and signs."""
    parts = [f"{shown(word.text)} {label_name(word.label)}"]
    if len(word.log_probability) > 1:
        low, high = word.deltas
        share = _tr("share {share}, Δ {low} to {high} nats")
        parts.append(
            share.format(share=f"{100 * word.share:.0f} %", low=nats(low), high=nats(high))
        )
    parts.extend(sign_meaning(flag) for flag in sorted(word.flags))
    return "\n".join(parts)


def swap_text(swap: Swap) -> str:
    """“with X instead of Y the model says Z”."""
    sentence = _tr("With {new} instead of {old} the model says {says}: {end}.")
    end = _tr("it follows") if swap.follows else _tr("it does not follow")
    return sentence.format(
        new=shown(swap.replacement), old=shown(swap.original), says=shown(swap.says), end=end
    )


def leans_text(report: OriginReport, word: WordOrigin) -> str:
    """Which earlier words of the answer it leans on."""
    if word.leans is None:
        return ""
    if not word.leans:
        return _tr("It leans on no earlier word of the answer that comes from the sources.")
    parts = (f"{shown(report.words[one.word].text)} ({nats(one.need)})" for one in word.leans)
    return _tr("Leans on {words} nats.").format(words=", ".join(parts))


def source_text(vocabulary: Vocabulary, case: OriginCase, one: SourceEvidence) -> str:
    """The strongest word within a span, "" where it is not worked out."""
    return "" if one.word is None else span_text(vocabulary, case, one.word)


def has_both_sides(word: WordOrigin) -> bool:
    """Whether anything without the sources is known."""
    return len(word.log_probability) > 1 and word.label is not Label.UNKNOWN
