"""What the model process prints: the last lines are kept for the day it dies."""

from __future__ import annotations

import os
import sys
import threading

from logitscope.backends.pipes import PipeEnd

_KEEP_BYTES = 64 * 1024
_KEEP_LINES = 100


class ProcessLog:
    """A pipe and the thread that empties it, so that a chatty library never blocks."""

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        self._tail = b""
        self._thread = threading.Thread(target=self._run, name="model log", daemon=True)
        self._thread.start()

    def writing_end(self) -> PipeEnd:
        """The end for the child, in a form that `multiprocessing` hands over. The caller closes
        it once the child has it: only then does the child's end end the log."""
        handle = self._writer
        if sys.platform == "win32":
            import msvcrt

            handle = msvcrt.get_osfhandle(handle)
        return PipeEnd(handle, readable=False)

    def tail(self, timeout: float) -> str:
        """The last lines, at most 100; waits for the rest of a child that has just died."""
        self._thread.join(timeout)
        lines = self._tail.decode("utf-8", "replace").splitlines()
        return "\n".join(lines[-_KEEP_LINES:])

    def _run(self) -> None:
        while chunk := os.read(self._reader, 65536):
            self._tail = (self._tail + chunk)[-_KEEP_BYTES:]
        os.close(self._reader)
