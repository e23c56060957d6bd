"""Notices when widgets have been painted for the first time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from answering import Answer, serve
from PySide6.QtCore import QEvent, QEventLoop, QObject, QTimer
from PySide6.QtWidgets import QApplication, QWidget


class FirstPaint(QObject):
    """Calls back once every one of the widgets that is in sight has been painted."""

    def __init__(self, widgets: Iterable[QWidget], call: Callable[[float], None]) -> None:
        super().__init__()
        self._widgets = list(widgets)
        self._painted: set[QObject] = set()
        self._call = call
        for widget in self._widgets:
            widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Paint:
            if not self._painted:
                # The event only begins the painting.
                QTimer.singleShot(0, self._check)
            self._painted.add(watched)
        return False

    def _check(self) -> None:
        now = time.monotonic()
        # Docks that share a place lie behind each other.
        in_sight = {w for w in self._widgets if not w.visibleRegion().isEmpty()}
        if in_sight <= self._painted:
            self._call(now)
        else:
            QTimer.singleShot(0, self._check)


def wait_until(is_done: Callable[[], bool], signals: Iterable[Any]) -> None:
    """Stay in the event loop until one of the signals brings what is waited for."""
    loop = QEventLoop()

    def check(*_: object) -> None:
        if is_done():
            loop.quit()

    for signal in signals:
        signal.connect(check)
    if not is_done():
        loop.exec()


def end(painted: float, commands: dict[str, Callable[..., Answer]]) -> None:
    """Answer as long as anybody asks; then close the window."""
    serve({"painted": painted, "cpu": time.process_time()}, commands)
    QApplication.closeAllWindows()
