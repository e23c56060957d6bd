"""One line of help above the panels, with what can be done about it; it never blocks anything."""

from __future__ import annotations

from PySide6.QtCore import QSize, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QToolButton, QWidget

from logitscope.gui import icons, theme
from logitscope.gui.widgets.plain import plain


class HintBar(QFrame):
    """Hidden while there is nothing to say."""

    closed = Signal()
    """The person has put it away."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("hintBar")
        self._picture = QLabel(self)
        self._label = plain(QLabel(self, wordWrap=True))
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(12, 4, 6, 4)
        self._row.setSpacing(theme.GRID)
        self._row.addWidget(self._picture)
        self._row.addWidget(self._label, 1)
        self.close_button = QToolButton(self)
        self.close_button.setProperty("flat", True)
        self.close_button.setProperty("small", True)
        self.close_button.setIcon(icons.icon("close", "muted"))
        self.close_button.setFixedSize(QSize(24, 24))
        self.close_button.setToolTip(self.tr("Put this away for good"))
        self.close_button.setAccessibleName(self.tr("Put this hint away"))
        self.close_button.clicked.connect(self._close)
        self._row.addWidget(self.close_button)
        theme.notifier().changed.connect(self._restyle)
        self._restyle()
        self.hide()

    @property
    def text(self) -> str:
        return self._label.text()

    def add_button(self, title: str) -> QPushButton:
        """A button beside the words."""
        button = QPushButton(title, self)
        button.setProperty("flat", True)
        self._row.insertWidget(self._row.count() - 1, button)
        return button

    def say(self, text: str) -> None:
        """Show a sentence; "" hides the bar."""
        self._label.setText(text)
        self.setAccessibleName(text)
        self.setVisible(bool(text))

    def _close(self) -> None:
        self.say("")
        self.closed.emit()

    def _restyle(self) -> None:
        size = 2 * theme.GRID
        color = theme.palette().accent
        self._picture.setPixmap(icons.pixmap("info", size, color, self.devicePixelRatioF()))
