"""One ``llama_decode``: how many threads it takes, how it is stopped from outside, and what its
failure is called."""

from __future__ import annotations

import ctypes
import time
from typing import Any, NoReturn

from logitscope.backends.base import UNWATCHED, BackendError, Cancelled, Watch
from logitscope.backends.llamacpp_lib import LOG, library, native_flag_test, never
from logitscope.backends.pinning import PINNING
from logitscope.backends.thread_choice import PassTime, ThreadChoice

POLLED_BATCH = 32
"""Tokens from which on a stop that only Python knows of is asked for inside a decode."""

TIMED_BATCH = 32
"""Tokens from which on passes are alike: they take as long a token."""

DECODED, NO_SLOT, ABORTED = 0, 1, 2
"""What ``llama_decode`` returns."""


class Decoder:
    """Decodes batches in one context, under a watch."""

    def __init__(self, context: Any, threads: int) -> None:
        """``threads``: what the context was made with, or 1 to leave it so."""
        self._lib = library()
        self._context = context
        self._one, self._many = ThreadChoice(threads), ThreadChoice(threads)
        """For passes of a single token, and for those of many."""
        self._all = threads
        self._threads = (threads, threads)
        self._armed: object = None
        self._callback: Any = None

    def decode(self, batch: Any, watch: Watch) -> int:
        """The status of ``llama_decode`` for a ``llama_batch``."""
        self._arm(watch, batch.n_tokens)
        if self._all == 1:
            return int(self._lib.llama_decode(self._context, batch))
        return self._timed(batch, batch.n_tokens)

    def _timed(self, batch: Any, tokens: int) -> int:
        """The same with as many threads as the time of earlier passes advises."""
        choice = self._one if tokens == 1 else self._many
        self._set_threads()
        PINNING.hold(choice.threads == self._all)
        begun, busy = time.perf_counter(), time.process_time()
        with PINNING.of_new_threads(choice.threads):
            status: int = self._lib.llama_decode(self._context, batch)
        if status == DECODED and (tokens == 1 or tokens >= TIMED_BATCH):
            now = time.perf_counter()
            choice.note(PassTime(tokens, now - begun, time.process_time() - busy, now))
        return status

    def _set_threads(self) -> None:
        wanted = self._one.threads, self._many.threads
        if wanted != self._threads:
            self._lib.llama_set_n_threads(self._context, *wanted)
            self._threads = wanted

    def _arm(self, watch: Watch, tokens: int) -> None:
        """Let llama.cpp ask between the nodes of its graph whether to stop (CPU only).

        Without a flag in memory it has to ask Python, which only pays in a prefill.
        """
        native = native_flag_test() if watch.flag_address else None
        asks_python = watch.is_cancelled is not UNWATCHED.is_cancelled and tokens >= POLLED_BATCH
        armed: object = None
        if native is not None:
            armed = watch.flag_address
        elif asks_python:
            armed = watch
        if armed == self._armed:
            return
        callback, argument = never(), 0
        if native is not None:
            callback, argument = native, watch.flag_address
        elif asks_python:
            callback = self._lib.ggml_abort_callback(lambda _: watch.is_cancelled())
        self._lib.llama_set_abort_callback(self._context, callback, ctypes.c_void_p(argument))
        self._armed, self._callback = armed, callback


def refuse(status: int, watch: Watch) -> NoReturn:
    """Raise Cancelled for a decode that was stopped, BackendError for one that failed."""
    if status == ABORTED:
        # What llama.cpp says about a stop must not pass for the reason of a later failure.
        LOG.clear()
        watch.check()
        raise Cancelled
    reason = LOG.reason() or f"llama_decode returned {status}"
    raise BackendError(
        f"The model could not evaluate the text ({reason}): load it again, with a shorter"
        " context if memory is short.",
        "\n".join(LOG.lines()[-20:]),
    )
