"""Room in front of the numbers of spin boxes."""

from __future__ import annotations

from PySide6.QtCore import QMargins
from PySide6.QtWidgets import QAbstractSpinBox, QWidget

LEFT = 6


def inset_numbers(root: QWidget) -> None:
    """Keep the text of all spin boxes in ``root`` off the frame.

    Qt 6.11 ignores the left padding that a style sheet gives a spin box. Boxes that have margins
    of their own keep them.
    """
    for box in root.findChildren(QAbstractSpinBox):
        if box.lineEdit().textMargins().isNull():
            box.lineEdit().setTextMargins(QMargins(LEFT, 0, 0, 0))
