"""Ctrl-C where results are at hand: the first stops the work, and none but a third loses them."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

DEADLY = 3
"""So many are a person's wish to be rid of the program, whatever is lost."""


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
