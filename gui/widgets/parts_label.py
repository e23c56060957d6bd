"""A line of several figures that leaves out the least important ones where they do not fit."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from logitscope.gui.widgets.eliding_label import ElidingLabel

SEPARATOR = " · "
MORE = "…"


class PartsLabel(ElidingLabel):
    """``text()`` is always the whole line."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._parts: tuple[str, ...] = ()

    def set_parts(self, parts: Sequence[str]) -> None:
        """The most important ones first; the line is cut between two of them."""
        self._parts = tuple(parts)
        self.setText(SEPARATOR.join(parts))

    def shortened(self, room: int) -> str:
        """See ``ElidingLabel``; within a part the line is cut only where it is the last."""
        shown, kept = self.text(), list(self._parts)
        while len(kept) > 1 and self.fontMetrics().horizontalAdvance(shown) > room:
            kept.pop()
            shown = SEPARATOR.join((*kept, MORE))
        return self.fontMetrics().elidedText(shown, Qt.TextElideMode.ElideRight, room)
