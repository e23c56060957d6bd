"""The titles above a tree of branches, and how the columns share the width."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHeaderView, QWidget

from logitscope.gui import theme
from logitscope.gui.widgets.branch_model import NAME, OWN, PATH, TEXT, TOKENS

USUAL_TEXT, LEAST_TEXT = 28 * theme.GRID, 20 * theme.GRID
"""Of some words of a continuation, and of as many as say which one it is."""


class BranchHeader(QHeaderView):
    """The text takes what the other columns leave. Where that is little the longest title is cut;
    where it would be too little to read, the tree scrolls."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.setSectionsMovable(True)
        self.setStretchLastSection(False)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.sectionResized.connect(self._share_again)

    def share_out(self) -> None:
        """Once there are columns."""
        self.setSectionResizeMode(TEXT, QHeaderView.ResizeMode.Fixed)
        for column in (TOKENS, OWN, PATH, NAME):
            self.setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)

    def sectionSizeFromContents(self, section: int) -> QSize:
        size = super().sectionSizeFromContents(section)
        if section == PATH:
            least, tokens, name = (self._wanted(column) for column in (OWN, TOKENS, NAME))
            room = self.width() - USUAL_TEXT - least - tokens - name
            size.setWidth(max(least, min(size.width(), room)))
        return size

    def _wanted(self, column: int) -> int:
        return super().sectionSizeFromContents(column).width()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.resizeSections()
        self._share()

    def _share_again(self, column: int, _before: int, _now: int) -> None:
        if column != TEXT:
            self._share()

    def _share(self) -> None:
        if self.count() == 0:
            return
        others = sum(self.sectionSize(column) for column in (TOKENS, OWN, PATH, NAME))
        self.resizeSection(TEXT, max(LEAST_TEXT, self.width() - others))
