"""Cancel flags that both processes see: one pair of bytes a request, and who is served.

The memory is an anonymous shared mapping of `multiprocessing`: it has no name, so no process can
leave it behind, however it ends.
"""

from __future__ import annotations

import ctypes
from multiprocessing.context import BaseContext

SLOTS = 64
"""Requests that can be with the child at once; request ``number`` owns slot ``number % SLOTS``."""

_CLEAR = 0
_CANCELLED = 1
_PAUSED = 2


class Flags:
    """``SLOTS`` pairs (flag, 0). The zero behind each flag makes it a C string of length 0 or 1,
    so that native code can poll it with nothing more than ``strlen``."""

    def __init__(self, context: BaseContext) -> None:
        self._bytes = context.RawArray(ctypes.c_ubyte, 2 * SLOTS)
        self._busy = context.RawValue(ctypes.c_longlong, 0)

    @property
    def busy(self) -> int:
        """Number of the request that is served now, 0 for none. Written by the child."""
        return int(self._busy.value)

    @busy.setter
    def busy(self, number: int) -> None:
        self._busy.value = number

    def address(self, number: int) -> int:
        """Address of the flag in the calling process."""
        return ctypes.addressof(self._bytes) + _place(number)

    def clear(self, number: int) -> None:
        """Let the request run."""
        self._bytes[_place(number)] = _CLEAR

    def cancel(self, number: int) -> None:
        """Ask the request to stop for good."""
        self._bytes[_place(number)] = _CANCELLED

    def pause(self, number: int) -> None:
        """Ask the request to stop and to go on later, unless it has to stop anyway."""
        if not self.raised(number):
            self._bytes[_place(number)] = _PAUSED

    def raised(self, number: int) -> bool:
        """Whether the request should stop, for good or for now."""
        return self._bytes[_place(number)] != _CLEAR

    def cancelled(self, number: int) -> bool:
        """Whether the request should stop for good."""
        return self._bytes[_place(number)] == _CANCELLED


def _place(number: int) -> int:
    return 2 * (number % SLOTS)
