"""Files dropped on a window, and the message that it then shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QEvent, QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent

from logitscope.gui.main_window import MainWindow
from logitscope.gui.message import Message

Load = Callable[..., MainWindow]
Read = Callable[[MainWindow, str], None]
COPY = Qt.DropAction.CopyAction
LEFT, NO_KEY = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
SLOW_MS = 60_000


def files(*paths: Path | str) -> QMimeData:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    return data


def drag_over(window: MainWindow, data: QMimeData) -> QDragEnterEvent:
    event = QDragEnterEvent(QPoint(300, 300), COPY, data, LEFT, NO_KEY)
    QCoreApplication.sendEvent(window.windowHandle(), event)
    return event


def drop(window: MainWindow, data: QMimeData) -> None:
    event = QDropEvent(QPointF(300, 300), COPY, data, LEFT, NO_KEY, QEvent.Type.Drop)
    QCoreApplication.sendEvent(window.windowHandle(), event)


def shown(window: MainWindow) -> Message:
    newest = window.toasts.newest
    assert newest is not None
    assert newest.isVisible()
    assert newest.message is not None
    return newest.message
