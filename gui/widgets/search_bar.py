"""A line to look something up: text, how it must match, and the way from hit to hit."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from logitscope.gui import icons
from logitscope.gui.widgets.plain import plain


class _Line(QLineEdit):
    """Enter goes on, Shift+Enter goes back, Escape clears."""

    stepped = Signal(int)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if key in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            is_back = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            self.stepped.emit(-1 if is_back else 1)
        elif key is Qt.Key.Key_Escape and self.text():
            self.clear()
        else:
            super().keyPressEvent(event)


class SearchBar(QWidget):
    """Says what is looked for; who searches gives the answer with ``set_answer``."""

    changed = Signal()
    """The text or the way to match is another one."""
    stepped = Signal(int)
    """To the next hit (1) or the one before (-1)."""

    def __init__(
        self, placeholder: str, ways: tuple[tuple[str, str], ...], parent: QWidget | None = None
    ) -> None:
        """``ways``: (value, name) of the ways to match, the usual one first."""
        super().__init__(parent)
        self.line = _Line()
        self.line.setPlaceholderText(placeholder)
        self.line.setClearButtonEnabled(True)
        self.line.setAccessibleName(self.tr("Search"))
        self.way = QComboBox()
        self.way.setAccessibleName(self.tr("How to match"))
        for value, name in ways:
            self.way.addItem(name, value)
        self.case = QToolButton()
        self.case.setText("Aa")
        self.case.setCheckable(True)
        self.case.setToolTip(self.tr("Upper and lower case differ"))
        self.case.setAccessibleName(self.tr("Match case"))
        self.case.setChecked(True)
        self.back = self._arrow("previous", self.tr("Previous match (Shift+Enter)"), -1)
        self.on = self._arrow("next", self.tr("Next match (Enter)"), 1)
        self.answer = plain(QLabel())
        self.answer.setWordWrap(True)
        self.answer.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._lay_out()
        self.line.textChanged.connect(self.changed)
        self.line.stepped.connect(self.stepped)
        self.way.currentIndexChanged.connect(self.changed)
        self.case.toggled.connect(self.changed)

    def _arrow(self, icon: str, tooltip: str, step: int) -> QToolButton:
        button = QToolButton()
        button.setIcon(icons.icon(icon))
        button.setProperty("flat", True)
        button.setToolTip(tooltip)
        button.setAccessibleName(tooltip)
        button.clicked.connect(lambda: self.stepped.emit(step))
        return button

    def _lay_out(self) -> None:
        self.line.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        fields = QHBoxLayout()
        fields.setSpacing(4)
        for widget in (self.line, self.way, self.case, self.back, self.on):
            fields.addWidget(widget)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addLayout(fields)
        layout.addWidget(self.answer)
        self.answer.hide()

    @property
    def text(self) -> str:
        return self.line.text()

    @property
    def minds_case(self) -> bool:
        return self.case.isChecked()

    def set_answer(self, sentence: str) -> None:
        """What was found, in words; "" for nothing to say."""
        self.answer.setText(sentence)
        self.answer.setVisible(bool(sentence))
