"""A title that hides and shows what is below it."""

from __future__ import annotations

from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from logitscope.gui import icons

_QUIET_BUTTON = "text-align: left; border: 0; background: transparent; padding: 4px 0;"


class Fold(QWidget):
    """Closed at first."""

    def __init__(self, title: str, content: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.content = content
        self.button = QPushButton(title, self, flat=True)
        self.button.setCheckable(True)
        self.button.setStyleSheet(_QUIET_BUTTON)
        self.button.toggled.connect(self.set_open)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.button)
        column.addWidget(content)
        self.set_open(False)

    def set_open(self, is_open: bool) -> None:
        """Show or hide the content."""
        self.button.setChecked(is_open)
        self.button.setIcon(icons.icon("down" if is_open else "next"))
        self.content.setVisible(is_open)
