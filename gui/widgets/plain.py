"""Text as it is written: tokens and file names may look like HTML, and Qt would obey it."""

from __future__ import annotations

from html import escape
from typing import TypeVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

Label = TypeVar("Label", bound=QLabel)


def plain(label: Label) -> Label:
    """The label, which from now on shows ``<h1>`` as these four characters."""
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label


def rich(label: Label) -> Label:
    """The label, whose text is HTML; who sets it escapes tokens and names in it."""
    label.setTextFormat(Qt.TextFormat.RichText)
    return label


def plain_tip(text: str) -> str:
    """A text as a tooltip that shows it as it is; tooltips cannot be told not to be HTML."""
    # What Qt looks for when it guesses.
    if "<" not in text and "&lt;" not in text:
        return text
    return f"<div style='white-space:pre-wrap'>{escape(text)}</div>"


def set_tip(widget: QWidget, text: str) -> None:
    """Give a widget its tooltip; Qt tells everyone of one that is the same as before, too."""
    if widget.toolTip() != text:
        widget.setToolTip(text)
