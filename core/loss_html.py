"""A scored text as one HTML file: the heatmap with tooltips, on light and dark pages.

Nothing is loaded from elsewhere and no script runs; everything of the text is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from logitscope.color_maps import black_or_white, diverging, sequential, to_hex
from logitscope.display import Part, PartKind, name_of, parts_of, token_label
from logitscope.heat import Measure, Scale, fixed_scale, mark_weights, places, values
from logitscope.losses import LossTable
from logitscope.spans import Group, TokenSpans
from logitscope.vocabulary import Vocabulary

TINTS = 32
"""Steps of the colour map: finer ones cannot be told apart."""
ALTERNATIVES = 5
"""Tokens that a tooltip names, of the ten that are known."""
PAGES = {"light": "#FFFFFF", "dark": "#14171E"}

_STYLE = """
body { margin: 2em auto; max-width: 60em; padding: 0 1em; background: var(--page);
  color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.7;
  font-family: "JetBrains Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
pre span:hover { outline: 2px solid var(--text); }
.u { border-bottom: 2px dotted var(--muted); }
.w1 { text-decoration: underline 1px; } .w2 { text-decoration: underline 2px; }
.w3 { text-decoration: underline 3px; }
.legend span { display: inline-block; width: 0.5em; height: 1em; vertical-align: middle; }
.facts { color: var(--muted); }
"""


def loss_html(
    vocabulary: Vocabulary,
    table: LossTable,
    title: str,
    *,
    measure: Measure = Measure.LOSS,
    scale: Scale | None = None,
    facts: Sequence[str] = (),
) -> str:
    """The whole file.

    ``scale``: the values at the ends of the colours (default: the measure's fixed one). ``facts``
    are lines of plain text above the heatmap: the model, averages, windows.
    """
    scale = scale or fixed_scale(measure)
    place = places(values(measure, table.loss, table.rank, table.entropy), scale)
    above = "".join(f"<div>{escape(line)}</div>" for line in facts)
    body = "".join(_spans(vocabulary, table, place, mark_weights(measure, place)))
    return (
        "<!DOCTYPE html>\n"
        '<html><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{_style(measure)}</style></head>\n"
        f'<body><h1>{escape(title)}</h1><div class="facts">{above}</div>'
        f"<p>{_legend(measure, scale)}</p>\n<pre>{body}</pre></body></html>\n"
    )


def _style(measure: Measure) -> str:
    light, dark = (_colors(page, measure) for page in PAGES.values())
    return f":root {{{light}}} @media (prefers-color-scheme: dark) {{:root {{{dark}}}}}{_STYLE}" + (
        "".join(
            f".c{tint} {{ background: var(--b{tint}); color: var(--t{tint}); }}\n"
            for tint in range(TINTS)
        )
    )


def _colors(page: str, measure: Measure) -> str:
    """Custom properties of one appearance."""
    every = (diverging if measure.is_two_sided else sequential)(page)
    tints = every[np.linspace(0, len(every) - 1, TINTS).round().astype(int)]
    is_light = page == PAGES["light"]
    text, muted = ("#1B2130", "#5A6375") if is_light else ("#E7EAF1", "#9FA9BB")
    pairs = [("page", page), ("text", text), ("muted", muted)]
    for number, tint in enumerate(tints):
        pairs += [(f"b{number}", to_hex(tint)), (f"t{number}", black_or_white(tint))]
    return " ".join(f"--{name}: {color};" for name, color in pairs)


def _legend(measure: Measure, scale: Scale) -> str:
    boxes = "".join(f'<span class="c{tint}"></span>' for tint in range(TINTS))
    low, high = f"{scale.low:.3g}", f"{scale.high:.3g}"
    if measure is Measure.RANK:
        low, high = "1", "beyond 1000"
    name = {Measure.SURPRISE: "loss − entropy"}.get(measure, measure.value)
    return (
        f'<span class="legend">{escape(name)}: {low} {boxes} {high} {measure.unit}</span>'
        ' · <span class="u">dotted</span>: unknown'
    )


def _spans(
    vocabulary: Vocabulary, table: LossTable, place: NDArray[np.float64], weight: NDArray[np.uint8]
) -> Iterator[str]:
    ids = table.ids.tolist()
    spans = TokenSpans()
    for token_id in ids:
        spans.append(vocabulary.bytes_of(token_id), vocabulary.is_special(token_id))
    for group in spans.groups():
        tokens = range(group.start, group.stop)
        # Tokens that share a character have one cell: it shows the strongest of them.
        shown = max(tokens, key=lambda i: (weight[i], not math.isnan(place[i])))
        classes = "u"
        if not math.isnan(place[shown]):
            classes = f"c{round(place[shown] * (TINTS - 1))}"
            classes += f" w{weight[shown]}" if weight[shown] else ""
        said = "\n\n".join(_tooltip(vocabulary, table, i) for i in tokens)
        text = _text(vocabulary, ids, group)
        yield f'<span class="{classes}" title="{_attribute(said)}">{text}</span>'


def _text(vocabulary: Vocabulary, ids: list[int], group: Group) -> str:
    if group.is_special:
        return escape(name_of(vocabulary, ids[group.start]))
    piece = b"".join(vocabulary.bytes_of(i) for i in ids[group.start : group.stop])
    return "".join(_shown(part) for part in parts_of(piece))


def _shown(part: Part) -> str:
    if part.kind is PartKind.BREAK:
        return "⏎\n"
    if part.kind is PartKind.SPACE:
        return part.source
    return escape(part.mark)


def _attribute(text: str) -> str:
    return escape(text).replace("\n", "&#10;")


def _tooltip(vocabulary: Vocabulary, table: LossTable, position: int) -> str:
    token_id = int(table.ids[position])
    head = f"{token_label(vocabulary, token_id)}  id {token_id}, position {position}"
    log_probability = float(table.log_probability[position])
    if math.isnan(log_probability):
        return f"{head}\nloss unknown"
    lines = [
        head,
        f"loss {-log_probability:.3f} nats, p {math.exp(log_probability):.4g}",
        f"rank {int(table.rank[position]):,}, entropy {float(table.entropy[position]):.3f} nats",
    ]
    expected = zip(table.top_ids[position], table.top_log_probability[position], strict=True)
    for other, logarithm in list(expected)[:ALTERNATIVES]:
        if other >= 0:
            mark = " ←" if other == token_id else ""
            label = token_label(vocabulary, int(other))
            lines.append(f"{math.exp(float(logarithm)):.4f} {label}{mark}")
    return "\n".join(lines)
