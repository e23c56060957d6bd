"""The window's books on the requests that the model process has not answered to the end."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass

from logitscope.backends.flags import SLOTS, Flags
from logitscope.backends.inbox import Work
from logitscope.backends.messages import (
    Attribute,
    Channel,
    Evaluated,
    Failed,
    Finished,
    Generate,
    Load,
    Loaded,
    Reply,
    Score,
    Tokenized,
    Unembedded,
)
from logitscope.backends.process import Cancel, Stop

_CLOSING = (Loaded, Evaluated, Tokenized, Unembedded, Finished, Failed)


@dataclass(slots=True)
class _Open:
    request: Load | Work
    sent: bool = False
    cancelled: bool = False
    replaced: bool = False


class OpenRequests:
    """Decides what is sent, what is cancelled, and which replies are still of interest."""

    def __init__(self, flags: Flags, load: Load) -> None:
        self._flags = flags
        self._open: dict[int, _Open] = {load.number: _Open(load, sent=True)}
        self._outgoing: deque[Work | Cancel | Stop | None] = deque()
        self._closed = False
        self._changed = threading.Condition()

    def add(self, work: Work) -> bool:
        """Queue a request; it replaces the older ones of its channel, or follows them. False once
        closed."""
        follows = isinstance(work, Score) and work.follows
        with self._changed:
            if self._closed:
                return False
            if work.channel is not Channel.AUXILIARY and not follows:
                for number, entry in self._open.items():
                    if _channel(entry) is work.channel and not entry.replaced:
                        entry.replaced = True
                        self._cancel(number, entry)
            self._open[work.number] = _Open(work)
            self._outgoing.append(work)
            self._changed.notify_all()
            return True

    def cancel(self, number: int) -> None:
        """Ask one request to stop; an unknown number is ignored."""
        with self._changed:
            entry = self._open.get(number)
            if entry is not None:
                self._cancel(number, entry)

    def cancel_channel(self, channel: Channel | None) -> None:
        """Ask the requests of a channel to stop, or all of them and the loading for None."""
        with self._changed:
            for number, entry in self._open.items():
                if channel is None or _channel(entry) is channel:
                    self._cancel(number, entry)

    def stop(self) -> None:
        """Send nothing but what cancels and a Stop from now on."""
        with self._changed:
            cancels = [message for message in self._outgoing if isinstance(message, Cancel)]
            self._outgoing = deque([*cancels, Stop(), None])
            self._changed.notify_all()

    def close(self) -> list[int]:
        """Take no more requests. Returns the numbers that were open."""
        with self._changed:
            self._closed = True
            numbers = self._numbers()
            self._open.clear()
            return numbers

    def halt(self) -> None:
        """End the sending: nobody reads any more."""
        with self._changed:
            self._outgoing = deque([None])
            self._changed.notify_all()

    def numbers(self) -> list[int]:
        """Open numbers that someone waits for, oldest first."""
        with self._changed:
            return self._numbers()

    def _numbers(self) -> list[int]:
        return [number for number, entry in self._open.items() if not _silent(entry)]

    def next_to_send(self) -> Work | Cancel | Stop | None:
        """Wait for the next message; None ends the sending."""
        with self._changed:
            while True:
                self._changed.wait_for(lambda: self._outgoing)
                message = self._outgoing[0]
                if not isinstance(message, Work):
                    self._outgoing.popleft()
                    return message
                entry = self._open[message.number]
                if _silent(entry):
                    self._outgoing.popleft()
                    del self._open[message.number]
                elif self._slot_is_taken(message.number):
                    self._changed.wait()
                else:
                    self._outgoing.popleft()
                    self._mark_sent(message.number, entry)
                    return message

    def wanted(self, reply: Reply) -> bool:
        """Enter a reply; whether it goes on to the window.

        Of a replaced request only the end of a Generate, Score or Attribute does.
        """
        with self._changed:
            entry = self._open.get(reply.number)
            if entry is None:
                return False
            closing = isinstance(reply, _CLOSING)
            if closing:
                del self._open[reply.number]
                self._changed.notify_all()
            if not entry.replaced:
                return True
            return isinstance(reply, (Finished, Failed)) and not _silent(entry)

    def _cancel(self, number: int, entry: _Open) -> None:
        if entry.cancelled:
            return
        entry.cancelled = True
        if entry.sent:
            self._flags.cancel(number)
            self._outgoing.appendleft(Cancel(number))
            self._changed.notify_all()

    def _mark_sent(self, number: int, entry: _Open) -> None:
        entry.sent = True
        if entry.cancelled:
            self._flags.cancel(number)
        else:
            self._flags.clear(number)

    def _slot_is_taken(self, number: int) -> bool:
        return any(
            entry.sent and other % SLOTS == number % SLOTS for other, entry in self._open.items()
        )


def _channel(entry: _Open) -> Channel | None:
    return None if isinstance(entry.request, Load) else entry.request.channel


def _silent(entry: _Open) -> bool:
    """A replaced Evaluate or Unembed vanishes; a stream of replies always has an end."""
    return entry.replaced and not isinstance(entry.request, (Generate, Score, Attribute))
