"""A prediction: a question with answers, of which one is picked before anything is done."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QGridLayout,
    QLabel,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

from logitscope.gui import colors, theme
from logitscope.gui.widgets.plain import plain, rich


class _Answer(QLabel):
    """The words of an answer; a click on them picks it."""

    def __init__(self, text: str, button: QRadioButton) -> None:
        super().__init__(text)
        plain(self)
        self._button = button
        self.setWordWrap(True)
        self.setBuddy(button)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton and self._button.isEnabled():
            self._button.click()


class Choices(QWidget):
    """Hidden where there is nothing to predict."""

    picked = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.question = plain(QLabel(self, wordWrap=True))
        self.question.setProperty("heading", True)
        self.outcome = rich(QLabel(self, wordWrap=True))
        self.buttons: list[QRadioButton] = []
        self._group = QButtonGroup(self)
        self._grid = QGridLayout()
        self._grid.setColumnStretch(1, 1)
        self._grid.setHorizontalSpacing(theme.GRID // 2)
        self._grid.setVerticalSpacing(theme.GRID // 2)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.GRID // 2)
        column.addWidget(self.question)
        column.addLayout(self._grid)
        column.addWidget(self.outcome)

    def ask(self, question: str, answers: Sequence[str]) -> None:
        """Another question, nothing picked yet; none of both hides it."""
        self.question.setText(question)
        while (item := self._grid.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self.buttons = []
        for row, answer in enumerate(answers):
            button = QRadioButton(self)
            button.setAccessibleName(answer)
            button.clicked.connect(partial(self.picked.emit, row))
            self._group.addButton(button)
            self._grid.addWidget(button, row, 0, Qt.AlignmentFlag.AlignTop)
            self._grid.addWidget(_Answer(answer, button), row, 1)
            # The layout shows it a turn later; hidden it could not take the keyboard now.
            button.show()
            self.buttons.append(button)
        self.outcome.hide()
        self.setVisible(bool(answers))

    def show_pick(self, chosen: int | None) -> None:
        """What was picked stays picked."""
        for index, button in enumerate(self.buttons):
            button.setEnabled(chosen is None or index == chosen)
            if index == chosen:
                button.setChecked(True)

    def show_outcome(self, words: str, *, is_true: bool) -> None:
        """Whether it came true; "" while that is open."""
        palette = theme.palette()
        wanted = palette.derived if is_true else palette.warning
        color = colors.readable(wanted, palette.page).name()
        self.outcome.setText(f"<span style='color:{color}'>{words}</span>")
        self.outcome.setVisible(bool(words))
