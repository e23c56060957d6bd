"""The messages so far, and the dialog for a bug."""

from __future__ import annotations

import platform
from functools import partial
from importlib.metadata import PackageNotFoundError, version

from PySide6.QtCore import Qt, qVersion
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QPlainTextEdit,
    QPushButton,
    QStyle,
    QVBoxLayout,
    QWidget,
)

from logitscope.gui import icons, theme
from logitscope.gui.message import Action, Message
from logitscope.gui.notify import Messages
from logitscope.gui.widgets.plain import plain

_MESSAGE = Qt.ItemDataRole.UserRole


class MessagesDialog(QDialog):
    """All messages, newest first, and the details of the selected one."""

    def __init__(self, messages: Messages, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Messages"))
        self.list = QListWidget()
        self.list.setWordWrap(True)
        self.list.setAccessibleName(self.tr("Messages, newest first"))
        self.details = QPlainTextEdit(readOnly=True)
        self.details.setFont(theme.token_font())
        self.details.setPlaceholderText(self.tr("No details for this message."))
        self.details.setAccessibleName(self.tr("Details"))
        for message in messages.kept:
            self.list.addItem(_item(message))
        self.list.currentItemChanged.connect(self._show)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        self._messages = messages
        self.actions_row = QHBoxLayout()
        self.actions_row.addStretch(1)
        self.action_buttons: list[QPushButton] = []
        messages.settled.connect(self._show)
        self.copy = _copy_button(self)
        self.copy.clicked.connect(self._copy)
        buttons.addButton(self.copy, QDialogButtonBox.ButtonRole.ActionRole)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 16, 16, 16)
        layout.setSpacing(12)
        if not messages.kept:
            layout.addWidget(
                plain(QLabel(self.tr("Nothing has gone wrong, and there was nothing to say.")))
            )
        layout.addWidget(self.list, 3)
        layout.addLayout(self.actions_row)
        layout.addWidget(self.details, 2)
        layout.addWidget(buttons)
        self.resize(640, 480)
        self.list.setCurrentRow(0)
        self._show()

    def _show(self) -> None:
        message = self._current()
        self.copy.setEnabled(message is not None)
        self.details.setPlainText("" if message is None else message.detail)
        self._show_actions(message)

    def _show_actions(self, message: Message | None) -> None:
        """What the message offers, as long as it makes sense."""
        for button in self.action_buttons:
            self.actions_row.removeWidget(button)
            button.hide()
            button.deleteLater()
        is_open = message is not None and self._messages.is_open(message)
        offered = message.actions if message is not None and is_open else ()
        self.action_buttons = [QPushButton(action.title, self) for action in offered]
        for button, action in zip(self.action_buttons, offered, strict=True):
            button.setAutoDefault(False)
            button.clicked.connect(partial(self._act, action))
            self.actions_row.addWidget(button)

    def _act(self, action: Action) -> None:
        self.accept()
        action.call()

    def _current(self) -> Message | None:
        item = self.list.currentItem()
        message: Message | None = None if item is None else item.data(_MESSAGE)
        return message

    def _copy(self) -> None:
        message = self._current()
        if message is not None:
            QGuiApplication.clipboard().setText(report(message))


class BugDialog(QDialog):
    """Says that something unexpected happened, and offers to copy what is known of it."""

    def __init__(self, message: Message, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.message = message
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Something unexpected happened"))
        icon = plain(QLabel())
        size = self.style().pixelMetric(QStyle.PixelMetric.PM_MessageBoxIconSize)
        color = theme.palette().error
        icon.setPixmap(icons.pixmap("error", size, color, self.devicePixelRatioF()))
        sentence = plain(QLabel(message.sentence, wordWrap=True))
        sentence.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        advice = plain(QLabel(self.tr("Your text is safe. The details help to find the fault.")))
        advice.setProperty("muted", True)
        words = QVBoxLayout()
        words.addWidget(sentence)
        words.addWidget(advice)
        head = QHBoxLayout()
        head.setSpacing(16)
        head.addWidget(icon, 0, Qt.AlignmentFlag.AlignTop)
        head.addLayout(words, 1)
        self.details = QPlainTextEdit(message.detail, readOnly=True)
        self.details.setFont(theme.token_font())
        self.details.setAccessibleName(self.tr("Details"))
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        self.copy = _copy_button(self)
        self.copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(report(message)))
        buttons.addButton(self.copy, QDialogButtonBox.ButtonRole.ActionRole)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(24, 24, 24, 16)
        layout.setSpacing(16)
        layout.addLayout(head)
        layout.addWidget(self.details, 1)
        layout.addWidget(buttons)
        self.resize(600, 360)


def report(message: Message) -> str:
    """What "copy details" copies: the message and what it happened on."""
    try:
        ours = version("logitscope")
    except PackageNotFoundError:
        ours = "unknown"
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    head = f"Logitscope {ours}, Python {platform.python_version()}, Qt {qVersion()}, {system}"
    return f"{head}\n{message.sentence}\n\n{message.detail}".rstrip() + "\n"


def _item(message: Message) -> QListWidgetItem:
    time = "" if message.at is None else f"{message.at:%H:%M:%S}   "
    item = QListWidgetItem(icons.icon(message.severity, "muted"), f"{time}{message.sentence}")
    item.setData(_MESSAGE, message)
    return item


def _copy_button(parent: QWidget) -> QPushButton:
    button = QPushButton(icons.icon("copy"), parent.tr("Copy details"), parent)
    button.setAutoDefault(False)
    return button
