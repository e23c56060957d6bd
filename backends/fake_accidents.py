"""What can happen to a process that runs somebody else's model, on order."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Sequence

from logitscope.backends.base import BackendError, ChatMessage
from logitscope.backends.fake_settings import ACCIDENTS, FakeSettings

_FOREVER = 1_000_000
_MORE_THAN_A_PIPE = 8 << 20


class Accidents:
    """Counts the passes of each phase and lets the ordered accident happen in its turn."""

    def __init__(self, settings: FakeSettings) -> None:
        self._settings = settings
        self._passes = {"load": 0, "prefill": 0, "decode": 0}

    def may_happen(self, phase: str) -> None:
        """Called once a pass. Raises, ends the process, never returns, or does nothing."""
        self._passes[phase] += 1
        if self._passes[phase] <= self._settings.after:
            return
        for accident in ACCIDENTS:
            if getattr(self._settings, accident) == phase:
                _cause(accident, phase, self._settings.sign)


def _cause(accident: str, phase: str, sign: str) -> None:
    if accident == "fail":
        raise BackendError(f"The fake model failed in {phase} as it was told to.", "a detail")
    if accident == "bug":
        raise RuntimeError(f"a bug in {phase}")
    print(f"fake: about to {accident} in {phase}", file=sys.stderr, flush=True)
    if accident == "abort":
        os.abort()
    if accident == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if accident == "hang":
        _hang(sign)
    _freeze(sign)


def _hang(sign: str) -> None:
    if sign:
        os.write(os.open(sign, os.O_WRONLY), b"!")
    while True:
        time.sleep(_FOREVER)


def _freeze(sign: str = "") -> None:
    """Wait in native code with the interpreter lock held: no Python thread runs any more, and no
    signal handler either, because a mutex, unlike a sleep, is not left on a signal."""
    if sys.platform == "win32":
        ctypes.PyDLL("kernel32").Sleep(-1)
    library = ctypes.PyDLL(None)
    if sign:
        # Between two calls another thread could still run. This one tells of itself and does not
        # return as long as nobody empties the pipe, which holds far less.
        library.write(os.open(sign, os.O_WRONLY), bytes(_MORE_THAN_A_PIPE), _MORE_THAN_A_PIPE)
    mutex = ctypes.create_string_buffer(256)
    library.pthread_mutex_init(mutex, None)
    library.pthread_mutex_lock(mutex)
    library.pthread_mutex_lock(mutex)


def render_template(
    template: str, messages: Sequence[ChatMessage], add_generation_prompt: bool
) -> str:
    """The fake model's chat template, well-behaved or not."""
    if template == "none":
        raise BackendError("This model has no chat template; use a plain prompt.")
    if template == "error":
        raise BackendError("The model's chat template failed: roles must alternate.")
    while template == "loop":
        pass
    if template == "stuck":
        _freeze()
    turns = [f"<start_of_turn>{m.role}\n{m.content}<end_of_turn>\n" for m in messages]
    return "".join(turns) + ("<start_of_turn>assistant\n" if add_generation_prompt else "")
