"""The requests that wait in the model process, most urgent first."""

from __future__ import annotations

import heapq
import itertools
import threading

from logitscope.backends.flags import Flags
from logitscope.backends.messages import (
    Attribute,
    Channel,
    Evaluate,
    Generate,
    Score,
    Tokenize,
    Unembed,
)

Work = Evaluate | Generate | Score | Tokenize | Unembed | Attribute

_RANK = {
    Channel.AUXILIARY: 0,
    Channel.LIVE: 1,
    Channel.INSPECT: 1,
    Channel.UNEMBED: 1,
    Channel.GAME: 1,
    Channel.EXPLORE: 2,
    Channel.COMPARE: 2,
    Channel.GENERATE: 2,
    Channel.ORIGIN: 3,
    Channel.SCORE: 4,
}
"""Lower is sooner; within a rank, first come, first served."""


class Inbox:
    """Filled by the thread that reads the pipe, emptied by the one that owns the model."""

    def __init__(self, flags: Flags) -> None:
        self._flags = flags
        self._heap: list[tuple[int, int, Work | None]] = []
        self._order = itertools.count()
        self._changed = threading.Condition()
        self._scoring: int | None = None
        self._cancelled: set[int] = set()

    def put(self, work: Work | None) -> None:
        """Add work, or None to end after what runs now. Anything interrupts scoring."""
        rank = -1 if work is None else _RANK[work.channel]
        with self._changed:
            heapq.heappush(self._heap, (rank, next(self._order), work))
            if self._scoring is not None and rank < _RANK[Channel.SCORE]:
                self._flags.pause(self._scoring)
            self._changed.notify()

    def cancel(self, number: int) -> None:
        """The window's own write of the flag can be lost to `pause`; this one cannot."""
        with self._changed:
            if number == self._scoring:
                self._cancelled.add(number)
            self._flags.cancel(number)

    def take(self) -> Work | None:
        """Wait for the most urgent work; None means: end."""
        with self._changed:
            while not self._heap:
                self._changed.wait()
            return heapq.heappop(self._heap)[2]

    def take_before(self, channel: Channel) -> Work | None:
        """Work that may not wait behind ``channel``, if there is any."""
        with self._changed:
            if self._heap and 0 <= self._heap[0][0] < _RANK[channel]:
                return heapq.heappop(self._heap)[2]
            return None

    def scoring_begins(self, number: int) -> None:
        """From here on other work pauses ``number``; work that waits already does so at once."""
        with self._changed:
            self._scoring = number
            if self._heap and self._heap[0][0] < _RANK[Channel.SCORE]:
                self._flags.pause(number)

    def scoring_ends(self, rest: Score | None) -> bool:
        """Put back what is left to score, unless it was cancelled. Returns whether it was put."""
        with self._changed:
            number, self._scoring = self._scoring, None
            cancelled = number in self._cancelled
            self._cancelled.clear()
            if rest is None or cancelled or self._flags.cancelled(rest.number):
                return False
            self._flags.clear(rest.number)
            # Before any newer request of its channel, which would otherwise be answered first.
            heapq.heappush(self._heap, (_RANK[Channel.SCORE], -1, rest))
            return True
