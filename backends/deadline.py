"""A time limit for code of a model's files, such as its chat template."""

from __future__ import annotations

import faulthandler
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class TimeUp(BaseException):
    """The limit has passed. No `Exception`, so that code under the limit does not swallow it."""


@contextmanager
def time_limit(seconds: float, hard_seconds: float) -> Iterator[None]:
    """Raise TimeUp in the main thread after ``seconds`` (not on Windows, which has no timer
    signal); end the process after ``hard_seconds`` where even that does not help, because
    native code never comes back to the interpreter."""
    faulthandler.dump_traceback_later(hard_seconds, exit=True)
    try:
        if sys.platform == "win32":
            yield
        else:
            with _alarm(seconds):
                yield
    finally:
        faulthandler.cancel_dump_traceback_later()


if sys.platform != "win32":

    @contextmanager
    def _alarm(seconds: float) -> Iterator[None]:
        before = signal.signal(signal.SIGALRM, _time_up)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def _time_up(_signal: int, _frame: FrameType | None) -> None:
        raise TimeUp
