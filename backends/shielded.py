"""Starting a child that the Ctrl-C of its terminal does not reach."""

from __future__ import annotations

import signal
import sys
from multiprocessing.process import BaseProcess


def start_shielded(process: BaseProcess) -> None:
    """Start a child whose SIGINT is blocked from its first instruction on.

    A terminal sends Ctrl-C to all that runs in it. A child can ignore it only once it has imported
    what says so, and until then would print a traceback of its own. Raises OSError.
    """
    if sys.platform == "win32":
        process.start()
        return
    from multiprocessing.resource_tracker import ensure_running

    # `start` would start it, and that unblocks the signal again.
    ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
