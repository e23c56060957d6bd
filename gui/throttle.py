"""Fewer signals: what changes many times a frame is drawn once."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, QTimer, Signal


class Throttle(QObject):
    """Passes calls of ``throttle`` on, at most one every ``interval`` ms; the last is never lost.

    The first one waits for the end of the event that it came in: often more changes in it.
    """

    triggered = Signal()

    def __init__(self, interval: int, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._interval = interval
        self._is_pending = False
        precise = Qt.TimerType.PreciseTimer
        self._timer = QTimer(self, singleShot=True, timerType=precise)
        self._timer.timeout.connect(self.flush)

    def throttle(self) -> None:
        """Something changed."""
        self._is_pending = True
        if not self._timer.isActive():
            self._timer.start(0)

    def flush(self) -> None:
        """Pass on at once what waits."""
        if self._is_pending:
            self._is_pending = False
            self._timer.start(self._interval)
            self.triggered.emit()
