"""Fewer signals: what changes many times a frame is drawn once."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, QTimer, Signal


class Throttle(QObject):
    """Passes a call of ``throttle`` on at once, but at most one every ``interval`` ms.

    The last call is never lost.
    """

    triggered = Signal()

    def __init__(self, interval: int, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._is_pending = False
        precise = Qt.TimerType.PreciseTimer
        self._timer = QTimer(self, interval=interval, singleShot=True, timerType=precise)
        self._timer.timeout.connect(self.flush)

    def throttle(self) -> None:
        """Something changed."""
        self._is_pending = True
        if not self._timer.isActive():
            self.flush()

    def flush(self) -> None:
        """Pass on at once what waits."""
        if self._is_pending:
            self._is_pending = False
            self.triggered.emit()
            self._timer.start()
