"""The marks of the origins laid over the main text."""

from __future__ import annotations

from collections.abc import Callable

from logitscope.gui.origin_style import style_of
from logitscope.gui.widgets.token_painter import CellStyle
from logitscope.origin_types import OriginReport


def overlay_of(report: OriginReport) -> Callable[[int], CellStyle | None]:
    """How the token at a position is marked; None outside the answer."""
    start = len(report.case.prompt_ids)
    styles = {
        start + token: style_of(word, is_last=token + 1 == word.tokens[1])
        for word in report.words
        for token in range(*word.tokens)
    }
    return styles.get
