"""What is known of one scored token, as rich text for a tooltip."""

from __future__ import annotations

import math
from html import escape

from PySide6.QtCore import QCoreApplication

from logitscope.display import token_label
from logitscope.gui import theme
from logitscope.gui.widgets import numbers
from logitscope.losses import LossTable
from logitscope.units import bits
from logitscope.vocabulary import Vocabulary


def loss_tooltip(vocabulary: Vocabulary, table: LossTable, position: int) -> str:
    """Token, loss, rank, entropy, and the likeliest ten with the true one marked."""
    token_id = int(table.ids[position])
    lines = [_head(vocabulary, token_id, position)]
    if math.isnan(table.log_probability[position]):
        return _block([*lines, escape(_unknown(position))])
    lines += [escape(line) for line in _figures(table, position)]
    return _block([*lines, _expected(vocabulary, table, position)])


def _unknown(position: int) -> str:
    if position == 0:
        return _tr("Nothing stands before it: its loss is unknown.")
    return _tr("Not scored yet.")


def _head(vocabulary: Vocabulary, token_id: int, position: int) -> str:
    family = escape(theme.token_font().families()[0])
    label = escape(token_label(vocabulary, token_id))
    facts = escape(_tr("id {0} · position {1}").format(token_id, numbers.count(position)))
    return f"<span style='font-family:\"{family}\"; font-weight:600'>{label}</span>&nbsp; {facts}"


def _figures(table: LossTable, position: int) -> list[str]:
    log_probability = float(table.log_probability[position])
    entropy = float(table.entropy[position])
    loss = -log_probability
    return [
        _tr("loss {nats} nats · {bits} bits · p {p}").format(
            nats=numbers.signed(loss, 3),
            bits=numbers.signed(bits(loss), 3),
            p=numbers.percent(math.exp(log_probability)),
        ),
        _tr("rank {rank} · entropy {entropy} nats · loss − entropy {surprise}").format(
            rank=numbers.count(int(table.rank[position])),
            entropy=numbers.signed(entropy, 3),
            surprise=numbers.signed(loss - entropy, 3),
        ),
    ]


def _expected(vocabulary: Vocabulary, table: LossTable, position: int) -> str:
    rows = []
    actual = int(table.ids[position])
    for token_id, logarithm in zip(
        table.top_ids[position].tolist(),
        table.top_log_probability[position].tolist(),
        strict=True,
    ):
        if token_id < 0:
            continue
        label = escape(token_label(vocabulary, token_id))
        text = f"<b>{label}</b> ←" if token_id == actual else label
        number = escape(numbers.percent(math.exp(logarithm)))
        rows.append(f"<tr><td>{text}</td><td align=right>&nbsp;&nbsp;{number}</td></tr>")
    return f"<table>{''.join(rows)}</table>"


def _block(lines: list[str]) -> str:
    return f"<div style='white-space:pre'>{'<br>'.join(lines)}</div>"


def _tr(text: str) -> str:
    return QCoreApplication.translate("LossTooltip", text)
