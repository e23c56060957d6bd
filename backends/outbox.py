"""The way back from the model process: replies whole and in order, progress not too often."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from logitscope.backends.messages import Phase, Progress, Reply
from logitscope.backends.pipes import PipeEnd

_PROGRESS_INTERVAL = 0.05
"""Seconds between two progress replies: 20 a second are as many as an eye follows."""


class Outbox:
    """May be used from several threads."""

    def __init__(self, pipe: PipeEnd) -> None:
        self._pipe = pipe
        self._lock = threading.Lock()

    def send(self, reply: Reply) -> None:
        """Send at once."""
        self.send_all((reply,))

    def send_all(self, replies: Sequence[Reply]) -> None:
        """Send at once, in one message: who reads the pipe is woken once."""
        with self._lock:
            self._pipe.send(tuple(replies))

    def progress(
        self, number: int, phase: Phase, *, at_once: bool = True
    ) -> Callable[[int, int], None]:
        """A `Watch.report` that sends at most 20 calls a second; the first ``at_once``, else
        nothing of what is over before."""
        last = -_PROGRESS_INTERVAL if at_once else time.monotonic()

        def report(done: int, total: int) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last >= _PROGRESS_INTERVAL:
                last = now
                self.send(Progress(number, phase, done, total))

        return report
