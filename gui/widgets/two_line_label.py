"""A label whose text goes on in a second line where one is too short for it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel

from logitscope.gui.widgets.eliding_label import ElidingLabel


class TwoLineLabel(ElidingLabel):
    """What does not fit into two lines is cut with an ellipsis; takes the height of one or two."""

    def _fit(self) -> None:
        shown = self._in_lines(self.contentsRect().width())
        has_other_height = shown.count("\n") != self.shown.count("\n")
        QLabel.setText(self, shown)
        if has_other_height:
            self.updateGeometry()

    def _in_lines(self, room: int) -> str:
        text = self.text()
        end = 0
        while (space := text.find(" ", end + 1)) > 0 and self._fits(text[:space], room):
            end = space
        if end == 0 or self._fits(text, room):
            return self.shortened(room)
        rest = self.fontMetrics().elidedText(text[end + 1 :], Qt.TextElideMode.ElideRight, room)
        return f"{text[:end]}\n{rest}"

    def _fits(self, text: str, room: int) -> bool:
        return self.fontMetrics().horizontalAdvance(text) <= room
