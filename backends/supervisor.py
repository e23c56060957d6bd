"""The window's side of one model process: starts it, passes messages, tells of its death."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import secrets
import threading
from collections.abc import Callable
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess

from logitscope.backends.death import death_sentence
from logitscope.backends.flags import Flags
from logitscope.backends.messages import Died, Ending, Failed, Finished, Load, Loaded, Reply
from logitscope.backends.open_requests import OpenRequests
from logitscope.backends.pipes import PipeEnd
from logitscope.backends.process import Start, main
from logitscope.backends.process_log import ProcessLog
from logitscope.backends.rows import RowRing, remove_block
from logitscope.backends.shielded import start_shielded

POLITE_SECONDS = 0.4
"""What an ending process gets before it is killed; together with the kill under a second."""
_KILL_SECONDS = 0.5
_LOG_SECONDS = 0.5
_RETIRED = "The model was closed."
_LOGGER = logging.getLogger(__name__)


def no_model(number: int) -> Failed:
    """The answer to what is asked of no model."""
    return Failed(number, "No model is loaded; open one first.", no_model=True)


class Supervisor:
    """One child from its start to its end.

    A single thread starts the child, reads its replies, and outlives it: on Linux the child is
    bound to the life of the thread that started it (see `backends.process`).
    """

    def __init__(
        self,
        load: Load,
        deliver: Callable[[Reply], None],
        previous: Supervisor | None,
    ) -> None:
        context = multiprocessing.get_context("spawn")
        self._flags = Flags(context)
        self._flags.clear(load.number)
        self.requests = OpenRequests(self._flags, load)
        self._load = load
        self._deliver = deliver
        self._previous = previous
        self._context = context
        self._ring_name = f"lgs-{os.getpid()}-{secrets.token_hex(4)}"
        self._ring: RowRing | None = None
        self._process: BaseProcess | None = None
        self._pid: int | None = None
        self._orphans: list[int] = []
        self._load_refused = False
        self._reason = ""
        self._ending = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="model process", daemon=True)
        self._thread.start()

    @property
    def pid(self) -> int | None:
        """Process id of the child, None before it is started."""
        return self._pid

    @property
    def ring(self) -> RowRing | None:
        """The rows of the loaded model; readable after a death too, until `end`."""
        return self._ring

    def kill(self, reason: str) -> None:
        """End the child at once; ``reason`` is the sentence of the Died that follows."""
        with self._lock:
            self._reason = self._reason or reason
            if self._process is not None:
                self._process.kill()

    def retire(self) -> None:
        """Begin to end the child: stop its work, deliver nothing more."""
        self._ending = True
        self.requests.cancel_channel(None)
        self.requests.stop()

    def end(self, polite_seconds: float = POLITE_SECONDS) -> None:
        """Retire and wait until the child is gone, killing it if it takes too long."""
        self.retire()
        if threading.current_thread() is self._thread:
            self.kill(_RETIRED)
            return
        self._thread.join(polite_seconds)
        if self._thread.is_alive():
            self.kill(_RETIRED)
            self._thread.join(_KILL_SECONDS)
        if self._ring is not None:
            self._ring.close()

    def leftovers(self) -> list[int]:
        """Numbers that nobody has answered, once this has ended."""
        return self._orphans + self.requests.close()

    def _run(self) -> None:
        if self._previous is not None:
            # Two models rarely fit into memory at once, so the old one goes first.
            self._previous.end()
            self._orphans = self._previous.leftovers()
            self._previous = None
        while self._orphans and not self._ending:
            self._pass_on(Finished(self._orphans.pop(0), Ending.CANCELLED))
        if not self._ending:
            self._live()

    def _live(self) -> None:
        log = ProcessLog()
        ours, theirs = self._context.Pipe()
        with ours:
            process = self._start_child(theirs, log)
            if process is None:
                return
            sender = threading.Thread(
                target=self._send, args=(ours,), name="model requests", daemon=True
            )
            sender.start()
            self._read(ours, process)
            process.kill()
            process.join()
            open_numbers = [] if self._ending else self.requests.close()
            self.requests.halt()
            sender.join()
        remove_block(self._ring_name)
        exit_code = process.exitcode
        with self._lock:
            self._process = None
            process.close()
        tail = log.tail(_LOG_SECONDS)
        if not self._ending:
            self._bury(open_numbers, exit_code, tail)

    def _start_child(self, theirs: PipeEnd, log: ProcessLog) -> BaseProcess | None:
        with theirs, log.writing_end() as writer:
            start = Start(self._load, theirs, writer, self._flags, self._ring_name)
            process = self._context.Process(
                target=main, args=(start,), name="logitscope model", daemon=True
            )
            try:
                start_shielded(process)
            except OSError as error:
                self._not_started(error)
                return None
        with self._lock:
            self._process = process
            self._pid = process.pid
            if self._reason:
                process.kill()
        return process

    def _not_started(self, error: OSError) -> None:
        for number in self.requests.close():
            self._pass_on(
                Failed(number, f"The model process could not be started ({error}); try again.")
            )

    def _send(self, pipe: PipeEnd) -> None:
        """In its own thread: a child that no longer reads must not block the window."""
        with contextlib.suppress(OSError):
            while (message := self.requests.next_to_send()) is not None:
                pipe.send(message)

    def _read(self, pipe: PipeEnd, process: BaseProcess) -> None:
        with contextlib.suppress(EOFError, OSError):
            while pipe in wait([pipe, process.sentinel]) or pipe.poll():
                for reply in pipe.recv():
                    self._receive(reply)

    def _receive(self, reply: Reply) -> None:
        if isinstance(reply, Loaded):
            self._ring = RowRing.attach(reply.shared_rows, reply.slots, reply.info.n_vocab)
            self._ring.unlink()
        elif reply.number == self._load.number and isinstance(reply, (Failed, Finished)):
            self._load_refused = True
        if not self._ending and self.requests.wanted(reply):
            self._pass_on(reply)

    def _bury(self, open_numbers: list[int], exit_code: int | None, tail: str) -> None:
        if self._load_refused:
            for number in open_numbers:
                self._pass_on(no_model(number))
            return
        busy = self._flags.busy
        number = busy if busy in open_numbers else 0
        doing = "loading" if self._ring is None else "working" if busy else "waiting"
        sentence = self._reason or death_sentence(exit_code, doing, tail, self._load.path)
        self._pass_on(Died(number, sentence, tail))

    def _pass_on(self, reply: Reply) -> None:
        try:
            self._deliver(reply)
        except Exception:
            _LOGGER.exception("The receiver of a reply failed")
