"""Work in pieces, one in each turn of the event loop, so that keys are heard in between."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from PySide6.QtCore import QObject, QTimer, Signal


class Turns(QObject):
    """Runs pieces in order. ``finished`` follows the last one."""

    finished = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pieces: deque[Callable[[], object]] = deque()
        self._timer = QTimer(self, interval=0, singleShot=True)
        self._timer.timeout.connect(self._run_one)

    @property
    def is_busy(self) -> bool:
        return bool(self._pieces)

    def start(self, pieces: Iterable[Callable[[], object]]) -> None:
        """Run these behind what is still waiting, the first one at once if nothing is."""
        was_busy = self.is_busy
        self._pieces.extend(pieces)
        if not was_busy:
            self._run_one()

    def finish(self) -> None:
        """Run all that is waiting now."""
        while self.is_busy:
            self._run_one()

    def _run_one(self) -> None:
        if not self._pieces:
            return
        # Held to the end: it may be the last that holds the widget these turns belong to.
        piece = self._pieces[0]
        try:
            piece()
        finally:
            self._pieces.popleft()
            if self._pieces:
                self._timer.start()
        if not self._pieces:
            self.finished.emit()
