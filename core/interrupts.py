"""Ctrl-C: while the program starts it ends at once, and where results are at hand the first stops
the work, and none but a third loses them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130
"""The exit code, as a shell gives it to what a Ctrl-C ended."""
DEADLY = 3
"""So many are a person's wish to be rid of the program, whatever is lost."""


def end_at_once() -> None:
    """Ctrl-C ends the program on the spot, until `unwind` or the window: nothing can be lost yet.

    A KeyboardInterrupt in the middle of an import would come out as anything: as a traceback, as
    another exception, and not at all where Qt calls. Who had Ctrl-C ignored keeps that.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def unwind() -> None:
    """From here on Ctrl-C raises KeyboardInterrupt: processes and files are to be tidied up."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(_number: int, _frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)


class Interrupts:
    """Counts Ctrl-C while ``heard`` runs, in the main thread.

    The first raises KeyboardInterrupt where the work may be stopped; elsewhere what is under way
    is finished. The third and each one after it raise KeyboardInterrupt wherever they come.
    """

    def __init__(self) -> None:
        self._count = 0
        self._may_stop = False

    @property
    def came(self) -> bool:
        """Whether there was one: begin nothing new."""
        return self._count > 0

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Take Ctrl-C over from Python, and give it back."""
        before = signal.signal(signal.SIGINT, self._on_interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    @contextmanager
    def stoppable(self) -> Iterator[None]:
        """Work that the first Ctrl-C ends. Raises KeyboardInterrupt, at once if one came before."""
        self._may_stop = True
        try:
            if self.came:
                raise KeyboardInterrupt
            yield
        finally:
            self._may_stop = False

    def _on_interrupt(self, _number: int, _frame: FrameType | None) -> None:
        self._count += 1
        if self._count >= DEADLY or (self._count == 1 and self._may_stop):
            raise KeyboardInterrupt
