"""What is known of one token, as rich text for a tooltip."""

from __future__ import annotations

import math
from html import escape

from PySide6.QtCore import QCoreApplication

from logitscope.display import character_name, decoded, hex_of, name_of, token_label
from logitscope.gui import theme
from logitscope.gui.widgets import numbers
from logitscope.steps import Origin, StepRecord
from logitscope.vocabulary import TokenKind, Vocabulary

MOST_CHARACTERS = 4
"""Names of so many characters are spelled out."""


def tooltip(vocabulary: Vocabulary, token_id: int, position: int, step: StepRecord | None) -> str:
    """Text, id, bytes and kind of a token; for a generated one its numbers and the likeliest
    alternatives."""
    lines = [_head(vocabulary, token_id), _facts(vocabulary, token_id, position)]
    lines += _characters(vocabulary, token_id)
    if step is not None:
        lines += _numbers(step)
        lines.append(_alternatives(vocabulary, step))
    return f"<div style='white-space:pre'>{'<br>'.join(lines)}</div>"


def _tr(text: str) -> str:
    return QCoreApplication.translate("TokenTooltip", text)


def _head(vocabulary: Vocabulary, token_id: int) -> str:
    family = escape(theme.token_font().families()[0])
    label = escape(token_label(vocabulary, token_id))
    return f"<span style='font-family:\"{family}\"; font-weight:600'>{label}</span>"


def _kind(vocabulary: Vocabulary, token_id: int) -> str:
    return {
        TokenKind.NORMAL: _tr("text"),
        TokenKind.BYTE: _tr("single byte"),
        TokenKind.CONTROL: _tr("special"),
        TokenKind.UNUSED: _tr("unused"),
    }[vocabulary.kind_of(token_id)]


def _facts(vocabulary: Vocabulary, token_id: int, position: int) -> str:
    facts = _tr("id {0} · position {1} · {2}").format(
        token_id, position, _kind(vocabulary, token_id)
    )
    if not vocabulary.is_special(token_id):
        facts += " · " + _tr("bytes {0}").format(hex_of(vocabulary.bytes_of(token_id)) or "–")
    return escape(facts)


def _characters(vocabulary: Vocabulary, token_id: int) -> list[str]:
    """Names of the characters that the token's label does not tell by itself."""
    if vocabulary.is_special(token_id):
        return [escape(_tr("name {0}").format(name_of(vocabulary, token_id)))]
    runs = decoded(vocabulary.bytes_of(token_id))
    unusual = [c for run in runs if isinstance(run, str) for c in run if not (" " < c <= "~")]
    names = [escape(character_name(c)) for c in unusual[:MOST_CHARACTERS]]
    return [*names, "…"] if len(unusual) > MOST_CHARACTERS else names


def _numbers(step: StepRecord) -> list[str]:
    origin = {
        Origin.SAMPLED: _tr("drawn by the sampler"),
        Origin.FORCED: _tr("forced by you"),
        Origin.INSERTED: _tr("inserted by you"),
        Origin.EXPLORED: _tr("added by expanding the tree"),
    }[step.origin]
    raw = _tr("p raw {0} · rank {1} · entropy {2} nats").format(
        numbers.percent(math.exp(step.log_probability)),
        numbers.count(step.rank),
        f"{step.entropy:.2f}",
    )
    lines = [escape(origin), escape(raw)]
    if step.shaped_probability is not None:
        lines.append(escape(_tr("p shaped {0}").format(numbers.percent(step.shaped_probability))))
    return lines


def _alternatives(vocabulary: Vocabulary, step: StepRecord) -> str:
    rows = []
    for token_id, logarithm in zip(step.top_ids, step.top_log_probabilities, strict=True):
        label = escape(token_label(vocabulary, token_id))
        text = f"<b>{label}</b>" if token_id == step.token_id else label
        number = escape(numbers.percent(math.exp(logarithm)))
        rows.append(f"<tr><td>{text}</td><td align=right>&nbsp;&nbsp;{number}</td></tr>")
    return f"<table>{''.join(rows)}</table>"
