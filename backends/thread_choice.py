"""How many threads compute: all of them, or fewer while something else needs a core.

llama.cpp's threads work in step: they wait for each other behind every one of some 500 operations
a token. Where another program keeps one of their cores busy, a thread that has fallen asleep there
is late at every one of them: two threads on two cores, beside one busy program, took 60 to 2,500 ms
a token of a model that takes 16 ms undisturbed, and 26 ms with one thread.
"""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

WORKING = 0.75
"""Undisturbed, the threads use their cores for all of a pass; with less than this share of it,
something keeps them from it."""
IN_A_ROW, SECONDS = 2, 0.15
"""Disturbed passes, and their time, before fewer threads are tried. The window draws for 50 ms at
most, four times a second."""
SPARED = 4
"""One thread of so many is given up, at least one."""
SAMPLES = 5
"""Passes that the time with fewer threads is the median of."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 8.0
"""Seconds until what did not help, or all threads after what did, is tried again; doubled each
time it is in vain."""
RETRY_SHARE = 0.05
"""Of the time, trying all threads again may take."""


@dataclass(frozen=True, slots=True)
class PassTime:
    """What a pass of so many tokens took."""

    tokens: int
    seconds: float
    busy: float
    """Processor seconds of all threads."""
    now: float
    """At its end, by any clock."""

    @property
    def pace(self) -> float:
        """Seconds a token."""
        return self.seconds / self.tokens


class ThreadChoice:
    """For passes of one kind, which take as long a token when nothing disturbs them.

    The rows do not depend on it: every number is worked out by one thread.
    """

    def __init__(self, threads: int) -> None:
        """``threads``: all, at least 1."""
        self._all = threads
        self._some = threads - max(1, threads // SPARED)
        self.threads = threads
        """For the next pass."""
        self._disturbed: deque[PassTime] = deque(maxlen=SAMPLES)
        """The last disturbed passes in a row, with all threads."""
        self._fewer: deque[PassTime] = deque(maxlen=SAMPLES)
        """The last passes with fewer, while that is better."""
        self._next_try = 0.0
        self._pause = FIRST_PAUSE

    def note(self, taken: PassTime) -> None:
        """A pass with ``threads`` threads is over."""
        if self._all == 1:
            return
        if self.threads < self._all:
            self._note_fewer(taken)
        elif self._fewer:
            self._note_retry(taken)
        else:
            self._note_all(taken)

    def _note_all(self, taken: PassTime) -> None:
        if taken.busy >= WORKING * self._all * taken.seconds:
            self._disturbed.clear()
            return
        self._disturbed.append(taken)
        seconds = sum(one.seconds for one in self._disturbed)
        is_lasting = len(self._disturbed) >= IN_A_ROW and seconds >= SECONDS
        if is_lasting and taken.now >= self._next_try:
            self.threads = self._some

    def _note_fewer(self, taken: PassTime) -> None:
        is_first = not self._fewer
        self._fewer.append(taken)
        if is_first and taken.pace >= _usual_pace(self._disturbed):
            self._use_all(taken.now)
        elif is_first:
            self._wait(taken.now)
        elif taken.now >= self._next_try:
            self.threads = self._all

    def _note_retry(self, taken: PassTime) -> None:
        """All threads were tried again."""
        if taken.pace < _usual_pace(self._fewer):
            self._pause = FIRST_PAUSE
            self._use_all(taken.now)
        else:
            self.threads = self._some
            self._pause = max(self._pause, taken.seconds / RETRY_SHARE)
            self._wait(taken.now)

    def _use_all(self, now: float) -> None:
        self.threads = self._all
        self._fewer.clear()
        self._disturbed.clear()
        self._wait(now)

    def _wait(self, now: float) -> None:
        self._next_try = now + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE)


def _usual_pace(passes: Iterable[PassTime]) -> float:
    return statistics.median(one.pace for one in passes)
