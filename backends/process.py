"""The model process: a spawned child that owns exactly one backend.

It never imports Qt, ends itself when its parent is gone, and is expected to die at any time:
nothing in it is needed to keep what the person has. The window imports this module, to start it;
what only the child needs is imported there.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import io
import os
import signal
import sys
import threading
import time
from dataclasses import dataclass
from multiprocessing import parent_process
from multiprocessing.connection import wait

from logitscope.backends.base import Backend, Cancelled, Watch
from logitscope.backends.flags import Flags
from logitscope.backends.inbox import Inbox
from logitscope.backends.messages import Ending, Finished, Load, Loaded, Phase
from logitscope.backends.outbox import Outbox
from logitscope.backends.pinning import PINNING
from logitscope.backends.pipes import PipeEnd
from logitscope.backends.registry import open_backend
from logitscope.backends.rows import RowRing, slots_for
from logitscope.heap import keep_freed_blocks

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class Cancel:
    """Sent behind a raised flag: the child may just have overwritten it with a pause."""

    number: int


@dataclass(frozen=True, slots=True)
class Stop:
    """End when the current request has ended."""


@dataclass(frozen=True, slots=True)
class Start:
    """Everything a child is given when it is started; can be pickled only for that."""

    load: Load
    pipe: PipeEnd
    log: PipeEnd
    flags: Flags
    ring_name: str


def main(start: Start) -> None:
    """Entry point of the child; returns when it should end."""
    # Nothing made while a model loads is garbage, and looking for it takes 20 ms.
    gc.disable()
    # Every token and every scored row makes arrays of the vocabulary's size and frees them.
    keep_freed_blocks()
    PINNING.allow()
    _redirect_output(start.log)
    _die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    child = _Child(start)
    threading.Thread(target=child.listen, name="requests", daemon=True).start()
    child.run()
    sys.stdout.flush()
    sys.stderr.flush()
    # Libraries' own exit handlers have hung or crashed before; there is nothing left to save.
    os._exit(0)


class _Child:
    def __init__(self, start: Start) -> None:
        self._start = start
        self._inbox = Inbox(start.flags)
        self._outbox = Outbox(start.pipe)
        self._ring: RowRing | None = None

    def run(self) -> None:
        """Load, then serve until told to stop. A load that fails ends the process."""
        backend = self._load()
        if backend is None or self._ring is None:
            return
        gc.enable()
        from logitscope.backends.serving import Server

        Server(backend, self._ring, self._start.flags, self._inbox, self._outbox).run()
        backend.close()

    def _load(self) -> Backend | None:
        load, flags = self._start.load, self._start.flags
        flags.busy = load.number
        started = time.perf_counter()
        watch = Watch(
            is_cancelled=lambda: flags.raised(load.number),
            report=self._outbox.progress(load.number, Phase.LOAD),
            flag_address=flags.address(load.number),
        )
        try:
            backend = open_backend(load.backend, load.path, load.options, watch)
            slots = slots_for(backend.info.n_vocab)
            self._ring = RowRing.create(self._start.ring_name, slots, backend.info.n_vocab)
        except Cancelled:
            self._outbox.send(Finished(load.number, Ending.CANCELLED))
            return None
        except Exception as error:
            from logitscope.backends.serving import failure

            self._outbox.send(failure(load.number, error))
            return None
        self._outbox.send(
            Loaded(
                number=load.number,
                info=backend.info,
                vocabulary=backend.vocabulary,
                shared_rows=self._start.ring_name,
                slots=slots,
                seconds=time.perf_counter() - started,
            )
        )
        flags.busy = 0
        return backend

    def listen(self) -> None:
        """Read requests until the parent is gone; then end at once, whatever runs."""
        pipe = self._start.pipe
        parent = parent_process()
        assert parent is not None
        with contextlib.suppress(EOFError, OSError):
            while pipe in wait([pipe, parent.sentinel]):
                message = pipe.recv()
                match message:
                    case Cancel(number):
                        self._inbox.cancel(number)
                    case Stop():
                        self._inbox.put(None)
                    case _:
                        self._inbox.put(message)
        if self._ring is not None:
            self._ring.unlink()
        os._exit(0)


def _redirect_output(log: PipeEnd) -> None:
    """Let everything that anyone prints, native code too, flow to the parent's log."""
    descriptor = log.fileno()
    if sys.platform == "win32":
        import msvcrt

        descriptor = msvcrt.open_osfhandle(descriptor, os.O_WRONLY)
    for target in (1, 2):
        os.dup2(descriptor, target)
    sys.stdout, sys.stderr = _text_to(1), _text_to(2)
    faulthandler.enable(file=2, all_threads=True)


def _text_to(descriptor: int) -> io.TextIOWrapper:
    """Python's own streams may be None in a program without a console."""
    stream = io.BufferedWriter(io.FileIO(descriptor, "w", closefd=False))
    return io.TextIOWrapper(stream, encoding="utf-8", errors="replace", line_buffering=True)


def _die_with_parent() -> None:
    """Linux: have the kernel end this process with the parent's thread that started it, even
    while native code holds the interpreter lock. Elsewhere `_Child.listen` alone sees to it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        parent = parent_process()
        if parent is not None and os.getppid() != parent.pid:
            os._exit(0)
