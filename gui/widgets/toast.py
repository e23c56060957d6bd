"""A message at the bottom of a window, over its contents."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QEvent, QObject, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QEnterEvent, QGuiApplication, QKeyEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QMainWindow,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from logitscope.gui import icons, theme
from logitscope.gui.message import Action, Message, Severity
from logitscope.gui.widgets.plain import plain

SHOWN_MS = 7000
"""Long enough to read two lines; the pointer on it makes it wait."""
WITH_BUTTONS_MS = 10_000
"""Long enough to read, think and press a button."""
WIDEST = 640
ICON = 20


class Toast(QFrame):
    """Shows one message; ``lifted`` pixels above the place at the bottom."""

    closed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._window = parent
        self.setObjectName("toast")
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.message: Message | None = None
        self._lifted = 0
        self._icon = plain(QLabel(self))
        self.text_label = plain(QLabel(self, wordWrap=True))
        self.text_label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.text_label.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._buttons: list[QPushButton] = []
        self.close_button = QToolButton(self, autoRaise=True)
        self.close_button.setProperty("flat", True)
        self.close_button.setIcon(icons.icon("close", "muted"))
        self.close_button.setToolTip(self.tr("Close this message"))
        self.close_button.setAccessibleName(self.tr("Close this message"))
        self.close_button.clicked.connect(self.dismiss)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(16, 10, 10, 10)
        self._row.setSpacing(theme.GRID)
        self._row.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        self._row.addSpacing(4)
        self._row.addWidget(self.text_label, 1)
        self._row.addWidget(self.close_button)
        self.auto_hide = QTimer(self, singleShot=True, interval=SHOWN_MS)
        self.auto_hide.timeout.connect(self.dismiss)
        theme.notifier().changed.connect(self._draw_icon)
        parent.installEventFilter(self)
        self.hide()

    def show_message(self, message: Message) -> None:
        self.message = message
        self.text_label.setText(message.sentence)
        self.setAccessibleName(message.sentence)
        self._show_buttons(message)
        self._draw_icon()
        self._place()
        self.show()
        self.raise_()
        self.auto_hide.setInterval(WITH_BUTTONS_MS if message.actions else SHOWN_MS)
        if message.severity is Severity.INFO:
            self.auto_hide.start()
        else:
            self.auto_hide.stop()

    def place(self, lifted: int) -> None:
        """Where the window has room now, with ``lifted`` pixels below for other messages."""
        self._lifted = lifted
        self._place()

    def dismiss(self) -> None:
        self.auto_hide.stop()
        if self.message is not None:
            self.message = None
            self.hide()
            self.closed.emit()

    # -- inside -----------------------------------------------------------------------------

    def _show_buttons(self, message: Message) -> None:
        for button in self._buttons:
            self._row.removeWidget(button)
            button.hide()
            button.deleteLater()
        actions = [*message.actions]
        if message.detail:
            detail = f"{message.sentence}\n\n{message.detail}"
            actions.append(Action(self.tr("Copy details"), lambda: _copy(detail)))
        self._buttons = [self._button(action, number) for number, action in enumerate(actions)]

    def _button(self, action: Action, number: int) -> QPushButton:
        button = QPushButton(action.title, self)
        button.setAutoDefault(False)
        is_problem = self.message is not None and self.message.severity is Severity.PROBLEM
        button.setProperty("primary", number == 0 and is_problem)
        button.clicked.connect(partial(_press, action))
        self._row.insertWidget(self._row.count() - 1, button)
        button.show()
        return button

    def _draw_icon(self) -> None:
        if self.message is None:
            return
        palette = theme.palette()
        color = {
            Severity.INFO: palette.accent,
            Severity.PROBLEM: palette.warning,
            Severity.BUG: palette.error,
        }[self.message.severity]
        ratio = self.devicePixelRatioF()
        self._icon.setPixmap(icons.pixmap(self.message.severity, ICON, color, ratio))
        self._icon.setFixedSize(QSize(ICON, ICON))

    def _place(self) -> None:
        area = self._room()
        self.ensurePolished()
        self._row.activate()
        width = min(self._wanted_width(), area.width() - 4 * theme.GRID)
        height = self._row.totalHeightForWidth(width)
        self.setGeometry(
            area.left() + (area.width() - width) // 2,
            area.height() - height - 3 * theme.GRID - self._lifted,
            width,
            height,
        )

    def _room(self) -> QRect:
        """Beside what is docked on the left: lessons and the game have their buttons down there."""
        area = self._window.rect()
        if isinstance(self._window, QMainWindow) and (centre := self._window.centralWidget()):
            area.setLeft(centre.x() - self._window.contentsMargins().left())
        return area

    def _wanted_width(self) -> int:
        line = self.text_label.fontMetrics().horizontalAdvance(self.text_label.text())
        others = sum(button.sizeHint().width() + theme.GRID for button in self._buttons)
        return min(WIDEST, line + 8) + others + ICON + 110

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Resize and watched is self._window and self.isVisible():
            self._place()
        return super().eventFilter(watched, event)

    def enterEvent(self, event: QEnterEvent) -> None:
        self.auto_hide.stop()
        super().enterEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        if self.message is not None and self.message.severity is Severity.INFO:
            self.auto_hide.start()
        super().leaveEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.dismiss()
        else:
            super().keyPressEvent(event)


def _press(action: Action) -> None:
    action.call()


def _copy(text: str) -> None:
    QGuiApplication.clipboard().setText(text)
