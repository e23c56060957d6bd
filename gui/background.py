"""Work that may block, off the window's thread; its answer comes back into it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from PySide6.QtCore import QObject, Qt, Signal

T = TypeVar("T")


class Background(QObject):
    """Runs functions in threads of their own. After ``close`` nothing arrives any more.

    The threads do not keep the program alive: a header on a slow disk cannot hold up the end.
    """

    _arrived = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._is_open = True
        self._threads: set[threading.Thread] = set()
        self._arrived.connect(self._deliver, Qt.ConnectionType.QueuedConnection)

    def start(
        self,
        work: Callable[[], T],
        done: Callable[[T], object],
        failed: Callable[[Exception], object],
    ) -> None:
        """Call ``work`` in a thread, then ``done`` or ``failed`` in this object's thread."""

        def body() -> None:
            try:
                result = work()
            except Exception as error:
                self._hand_over(partial(failed, error))
            else:
                self._hand_over(lambda: done(result))

        thread = threading.Thread(target=body, daemon=True, name="background")
        self._threads = {known for known in self._threads if known.is_alive()} | {thread}
        thread.start()

    def close(self, seconds: float = 0.2) -> None:
        """Drop all answers; wait a moment for what is nearly done."""
        self._is_open = False
        for thread in self._threads:
            thread.join(seconds)

    def _hand_over(self, call: Callable[[], object]) -> None:
        # The window may be gone by now; then nobody waits for the answer.
        with contextlib.suppress(RuntimeError):
            if self._is_open:
                self._arrived.emit(call)

    def _deliver(self, call: Callable[[], object]) -> None:
        if self._is_open:
            call()
