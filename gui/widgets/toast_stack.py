"""Messages at the bottom of a window: the newest below, those that ask for something stay."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QWidget

from logitscope.gui import theme
from logitscope.gui.message import Message, Severity
from logitscope.gui.widgets.toast import Toast

MOST_PROBLEMS = 2
"""On show at once; more of them wait, for all must be seen."""
MOST = 3
"""With the messages that go by themselves."""
_TAKES_ROOM = (QEvent.Type.Move, QEvent.Type.Resize)
_COMES_ON_TOP = (QEvent.Type.ChildAdded, QEvent.Type.Show, QEvent.Type.ZOrderChange)


class ToastStack(QObject):
    """A problem stays until it is closed or settled; anything else gives way to what is newer."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._waiting: list[Message] = []
        self.toasts: list[Toast] = []
        """On show, the oldest first."""
        # Qt tells of what comes into sight before it has put it on top.
        self._soon = QTimer(self, interval=0, singleShot=True)
        self._soon.timeout.connect(self._arrange)
        window.installEventFilter(self)

    @property
    def newest(self) -> Toast | None:
        return self.toasts[-1] if self.toasts else None

    def stay_above(self, widgets: Iterable[QWidget]) -> None:
        """Remain in front of these children of the window when they are shown or raised, and beside
        those on the left when they are made wider."""
        for widget in widgets:
            widget.installEventFilter(self)

    def show_message(self, message: Message) -> None:
        if _is_problem(message) and len(self._problems()) >= MOST_PROBLEMS:
            self._waiting.append(message)
        else:
            self._show(message)

    def remove(self, message: Message) -> None:
        """Take a message away, on show or waiting."""
        self._waiting = [one for one in self._waiting if one != message]
        for toast in [toast for toast in self.toasts if toast.message == message]:
            toast.dismiss()

    # -- inside -----------------------------------------------------------------------------

    def _problems(self) -> list[Toast]:
        return [toast for toast in self.toasts if toast.message and _is_problem(toast.message)]

    def _make_way(self, message: Message) -> None:
        """A passing sentence gives way to the next one, the oldest where there are too many."""
        passing = [toast for toast in self.toasts if toast not in self._problems()]
        plain = [toast for toast in passing if toast.message and not toast.message.actions]
        if plain and not message.actions and not _is_problem(message):
            plain[0].dismiss()
        elif passing and len(self.toasts) >= MOST:
            passing[0].dismiss()

    def _show(self, message: Message) -> None:
        self._make_way(message)
        toast = Toast(self._window)
        toast.closed.connect(partial(self._closed, toast))
        self.toasts.append(toast)
        toast.show_message(message)
        self._arrange()

    def _closed(self, toast: Toast) -> None:
        self.toasts.remove(toast)
        toast.deleteLater()
        if self._waiting and len(self._problems()) < MOST_PROBLEMS:
            self._show(self._waiting.pop(0))
        self._arrange()

    def _arrange(self) -> None:
        below = 0
        for toast in reversed(self.toasts):
            toast.place(below)
            below += toast.height() + theme.GRID
            toast.raise_()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        # Each toast has placed itself by now: filters are asked in reverse order of coming.
        if event.type() is QEvent.Type.Resize and watched is self._window:
            self._arrange()
        elif self.toasts and event.type() in (*_COMES_ON_TOP, *_TAKES_ROOM):
            self._soon.start()
        return super().eventFilter(watched, event)


def _is_problem(message: Message) -> bool:
    return message.severity is not Severity.INFO
