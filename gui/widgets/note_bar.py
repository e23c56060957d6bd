"""One line that says what is wrong, with a button that mends it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSizePolicy, QWidget

from logitscope.gui import icons, theme
from logitscope.gui.widgets.plain import plain


class NoteBar(QWidget):
    """Hidden while there is nothing to say."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(theme.GRID)
        self._picture = plain(QLabel(self))
        self._label = plain(QLabel(self, wordWrap=True))
        self._label.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.button = QPushButton(self)
        self.button.clicked.connect(self._mend)
        self._call: Callable[[], object] | None = None
        for widget in (self._picture, self._label, self.button):
            row.addWidget(widget)
        theme.notifier().changed.connect(self._restyle)
        self._restyle()
        self.hide()

    @property
    def text(self) -> str:
        return self._label.text()

    def say(self, text: str, remedy: str = "", call: Callable[[], object] | None = None) -> None:
        """Show a sentence, and a button titled ``remedy`` that does ``call``; "" hides all."""
        self._label.setText(text)
        self._call = call
        self.button.setText(remedy)
        self.button.setVisible(call is not None)
        self.setVisible(bool(text))

    def _mend(self) -> None:
        if self._call is not None:
            self._call()

    def _restyle(self) -> None:
        size = 2 * theme.GRID
        color = theme.palette().warning
        self._picture.setPixmap(icons.pixmap("warning", size, color, self.devicePixelRatioF()))
