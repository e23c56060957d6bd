"""The words of lessons on screen: translated, marked up, with live numbers in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from html import escape

from PySide6.QtGui import QFontInfo

from logitscope.gui import theme
from logitscope.gui.widgets import numbers
from logitscope.gui.words import translated
from logitscope.lesson_row_numbers import Value

CONTEXT = "Lessons"
UNKNOWN = "…"

_BOLD = re.compile(r"\*\*(.+?)\*\*")
_CODE = re.compile(r"`(.+?)`")


def say(text: str) -> str:
    """A text of a lesson file in the person's language."""
    return translated(CONTEXT, text)


def written(value: Value, shown_as: str) -> str:
    """A live number as it stands in a sentence."""
    if value is None:
        return UNKNOWN
    if isinstance(value, str):
        return value
    return _FORMS.get(shown_as, _plain)(value)


def _plain(value: float) -> str:
    """Four figures, a real minus sign."""
    text = f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}"
    return text.replace("-", "−")


def as_title(text: str) -> str:
    """Rich text of a heading."""
    return f"<span style='font-size:large; font-weight:600'>{escape(say(text), quote=False)}</span>"


_FORMS: dict[str, Callable[[float], str]] = {
    "percent": numbers.percent,
    "count": lambda value: numbers.count(round(value)),
    "times": numbers.times,
    "bytes": numbers.size,
}


def marked_up(text: str, values: Mapping[str, tuple[Value, str]]) -> str:
    """Rich text of a sentence with **bold**, `code` and {numbers}; tokens in it are no markup."""
    rich = escape(say(text), quote=False)
    rich = _BOLD.sub(r"<b>\1</b>", rich)
    family = QFontInfo(theme.token_font()).family()
    style = f"font-family:'{family}'; font-weight:600"
    rich = _CODE.sub(rf'<span style="{style}">\1</span>', rich)
    filled = {name: escape(written(*value), quote=False) for name, value in values.items()}
    return re.sub(r"\{(\w+)\}", lambda found: filled.get(found[1], UNKNOWN), rich)
