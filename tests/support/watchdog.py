"""How long a thread with a Qt event loop did not come back to it."""

from __future__ import annotations

import time

from PySide6.QtCore import QObject, Qt, QTimer

INTERVAL_MS = 5


class Watchdog(QObject):
    """A timer that notes how much later than asked for it comes: so long no key would be heard."""

    def __init__(self) -> None:
        super().__init__()
        self._timer = QTimer(self, interval=INTERVAL_MS, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._beat)
        self.late: list[tuple[float, float]] = []
        """Of each beat: milliseconds it came too late, and of those the thread was busy itself; the
        rest another program had the processor, or the thread waited."""

    def start(self) -> None:
        self.late = []
        self._mark()
        self._timer.start()

    def stop(self) -> dict[str, float]:
        """The longest block in ms, the processor time in it, and the 99th percentile."""
        self._beat()
        self._timer.stop()
        blocked, busy = max(self.late)
        later = sorted(late for late, _ in self.late)
        return {"blocked": blocked, "busy": busy, "p99": later[int(0.99 * (len(later) - 1))]}

    def _beat(self) -> None:
        wall, busy = self._wall, self._busy
        self._mark()
        late = 1000 * (self._wall - wall) - INTERVAL_MS
        self.late.append((max(0.0, late), 1000 * (self._busy - busy)))

    def _mark(self) -> None:
        self._wall, self._busy = time.perf_counter(), time.thread_time()
