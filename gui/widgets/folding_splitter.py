"""Two widgets one above the other; the lower one gives way where there is no room for both."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter, QWidget


class FoldingSplitter(QSplitter):
    """The upper widget takes what room is left over; the lower one can be closed by hand, too."""

    def __init__(self, upper: QWidget, lower: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Vertical, parent)
        self._upper, self._lower = upper, lower
        self.addWidget(upper)
        self.addWidget(lower)
        self.setStretchFactor(0, 1)
        self.setCollapsible(0, False)

    def minimumSizeHint(self) -> QSize:
        """The lower one asks for no height."""
        hint = super().minimumSizeHint()
        hint.setHeight(_least(self._upper))
        return hint

    def resizeEvent(self, event: QResizeEvent) -> None:
        both = _least(self._upper) + self.handleWidth() + _least(self._lower)
        self._lower.setVisible(self.height() >= both)
        super().resizeEvent(event)


def _least(widget: QWidget) -> int:
    return max(widget.minimumHeight(), widget.minimumSizeHint().height())
