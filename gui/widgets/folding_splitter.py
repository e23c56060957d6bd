"""Two widgets one above the other; the lower one gives way where there is no room for both."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter, QWidget


class FoldingSplitter(QSplitter):
    """The upper widget takes what room is left over; the lower one can be closed by hand, too."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Vertical, parent)

    def put(self, upper: QWidget, lower: QWidget) -> None:
        self.addWidget(upper)
        self.addWidget(lower)
        self.setStretchFactor(0, 1)
        self.setCollapsible(0, False)

    def minimumSizeHint(self) -> QSize:
        """Of both beside each other in width, but in height of the upper one only."""
        hint = super().minimumSizeHint()
        hint.setHeight(_least(self.widget(0)))
        return hint

    def resizeEvent(self, event: QResizeEvent) -> None:
        upper, lower = self.widget(0), self.widget(1)
        lower.setVisible(self.height() >= _least(upper) + self.handleWidth() + _least(lower))
        super().resizeEvent(event)


def _least(widget: QWidget) -> int:
    return max(widget.minimumHeight(), widget.minimumSizeHint().height())
