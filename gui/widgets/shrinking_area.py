"""A panel that can be made smaller than its contents: then it scrolls."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

LEAST = QSize(240, 72)
"""What is left of a panel on a screen of 960 x 540 pixels, which is 1920 x 1080 at scale 2."""


class ShrinkingArea(QScrollArea):
    """As large as its panel wants, and at least ``LEAST`` or the panel's own minimum."""

    def __init__(self, panel: QWidget) -> None:
        super().__init__()
        self._panel = panel
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setWidget(panel)
        self.setFocusProxy(panel)
        # Styles draw a grip of their own where both scroll bars meet.
        self.setCornerWidget(QWidget(self))

    def sizeHint(self) -> QSize:
        return self._panel.sizeHint()

    def minimumSizeHint(self) -> QSize:
        return self._panel.minimumSizeHint().boundedTo(LEAST)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Keys that the panel leaves alone are the window's: → steps, and does not scroll."""
        event.ignore()
