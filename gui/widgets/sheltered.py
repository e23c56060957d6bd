"""A place for a widget whose contents change many times a second, within a window full of docks."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget


class Sheltered(QWidget):
    """Lets its surroundings be laid out anew only where the widget wants another least size.

    Qt passes every change of a label's text on to the layouts around it. From a bar on top it came
    to the window, which laid out all its docks, each with an animation; from a line in a panel to
    all controls of the panel, which were then painted once more.
    """

    def __init__(self, inner: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._inner = inner
        inner.setParent(self)
        self.setSizePolicy(inner.sizePolicy())
        self._told = self.minimumSizeHint()

    def sizeHint(self) -> QSize:
        return self._inner.sizeHint()

    def minimumSizeHint(self) -> QSize:
        """What was set for the widget, as a layout of its own would take it, or what it needs."""
        needed, chosen = self._inner.minimumSizeHint(), self._inner.minimumSize()
        return QSize(chosen.width() or needed.width(), chosen.height() or needed.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._inner.setGeometry(self.rect())

    def event(self, event: QEvent) -> bool:
        if event.type() is QEvent.Type.LayoutRequest:
            wanted = self.minimumSizeHint()
            if wanted != self._told:
                self._told = wanted
                self.updateGeometry()
        return super().event(event)
