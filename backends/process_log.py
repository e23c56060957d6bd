"""What the model process prints: the last lines are kept for the day it dies."""

from __future__ import annotations

import os
import sys
import threading
from multiprocessing.connection import Connection

_KEEP_BYTES = 64 * 1024
_KEEP_LINES = 100


class ProcessLog:
    """A pipe and the thread that empties it, so that a chatty library never blocks."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        self._tail = b""
        self._thread = threading.Thread(target=self._run, name="model log", daemon=True)
        self._thread.start()

    def writing_end(self) -> Connection:
        """The end for the child, in a form that `multiprocessing` hands over. Close with
        `close_writing_end` once the child has it."""
        if sys.platform == "win32":
            import msvcrt
            from multiprocessing.connection import PipeConnection

            return PipeConnection(msvcrt.get_osfhandle(self._writer), readable=False)
        return Connection(self._writer, readable=False)

    def tail(self, timeout: float) -> str:
        """The last lines, at most 100; waits for the rest of a child that has just died."""
        self._thread.join(timeout)
        lines = self._tail.decode("utf-8", "replace").splitlines()
        return "\n".join(lines[-_KEEP_LINES:])

    def _run(self) -> None:
        while chunk := os.read(self._reader, 65536):
            self._tail = (self._tail + chunk)[-_KEEP_BYTES:]
        os.close(self._reader)
