"""Words in tables: marked where they are written, translated where they are shown.

``lupdate -tr-function-alias QT_TRANSLATE_NOOP+=mark`` collects them.
"""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication


def mark(context: str, text: str) -> str:
    """The text itself; the context tells the translator where it is shown."""
    del context
    return text


def translated(context: str, text: str) -> str:
    return QCoreApplication.translate(context, text) if text else ""
