"""Garbage is collected in the window's thread only, and between events.

Python collects in whatever thread happens to allocate. Where that is the one that reads the model
process's replies, Qt objects die in a thread that is not theirs, which Qt forbids. And a collection
of everything takes some 40 ms: not in the middle of a frame.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer

INTERVAL_MS = 1000
YOUNG, MIDDLE, OLD = 700, 10, 10
"""Python's own thresholds, which count allocations and collections."""


class Collector(QObject):
    """Takes over from Python's own collection until it is closed."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        gc.disable()
        # What the start has made stays: it need not be looked through again and again.
        gc.freeze()
        self._timer = QTimer(self, interval=INTERVAL_MS)
        self._timer.timeout.connect(self.collect)
        self._timer.start()

    def collect(self) -> int:
        """Collect what is due; returns the oldest generation looked through, -1 for none."""
        young, middle, old = gc.get_count()
        if young <= YOUNG:
            return -1
        generation = 0 if middle <= MIDDLE else 1 if old <= OLD else 2
        gc.collect(generation)
        return generation

    def close(self) -> None:
        """Leave it to Python again."""
        self._timer.stop()
        gc.unfreeze()
        gc.enable()
