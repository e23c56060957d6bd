"""What the guessing panel is put together from: rows of widgets, and the field for an answer."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QWidget

from logitscope.gui import theme
from logitscope.gui.widgets.flow_row import FlowRow


class Answer(QLineEdit):
    """Keeps Return to itself: Qt passes it on, and the panel would go on with the same press."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        super().keyPressEvent(event)
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            event.accept()


def flow_of(*widgets: QWidget) -> FlowRow:
    """Widgets that go on below where a line has no room."""
    made = FlowRow()
    for widget in widgets:
        made.add(widget)
    return made


def row_of(*widgets: QWidget, stretch: int = 1) -> QHBoxLayout:
    """Widgets side by side; without ``stretch`` behind them the first takes what is left."""
    made = QHBoxLayout()
    made.setSpacing(theme.GRID)
    for index, widget in enumerate(widgets):
        made.addWidget(widget, int(stretch == 0 and index == 0))
    if stretch:
        made.addStretch(stretch)
    return made
