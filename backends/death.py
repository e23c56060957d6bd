"""Why the model process ended, in one sentence for people."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

_AGAIN = "load it again to go on; nothing of your text is lost."
_CRASHES = {"SIGABRT", "SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE"}
_WINDOWS_CRASHES = {
    0xC0000005: "access violation",
    0xC000001D: "illegal instruction",
    0xC00000FD: "stack overflow",
    0xC0000409: "abort",
}
_TIMEOUT_MARK = "Timeout ("
"""How `faulthandler` begins its report when `deadline.time_limit` ends the process."""
_NO_FAULT_OF_A_FILE = {"SIGILL", "illegal instruction"}
"""The library was built for another processor."""


def death_sentence(exit_code: int | None, doing: str, log_tail: str, path: str) -> str:
    """``exit_code`` as `multiprocessing` gives it (minus the signal's number on POSIX);
    ``doing`` is what the model of ``path`` was at: loading, working, or waiting."""
    if exit_code == 1 and _TIMEOUT_MARK in log_tail:
        return f"The model's chat template did not end and the model was stopped; {_AGAIN}"
    crash = _crash_name(exit_code)
    if crash in {"SIGKILL", "SIGTERM"}:
        memory = ", perhaps by the system for lack of memory" if crash == "SIGKILL" else ""
        return f"The model was killed from outside while {doing}{memory}; {_AGAIN}"
    if crash in _CRASHES or crash in _WINDOWS_CRASHES.values():
        if doing == "loading" and crash not in _NO_FAULT_OF_A_FILE:
            return _bad_file(path, crash)
        return f"The model library crashed while {doing} ({crash}); {_AGAIN}"
    if crash:
        return f"The model was ended by {crash} while {doing}; {_AGAIN}"
    return f"The model process ended by itself while {doing} (exit code {exit_code}); {_AGAIN}"


def _bad_file(path: str, crash: str) -> str:
    """What a library checks by aborting is what its files hold: it would abort again."""
    library = "llama.cpp" if path.lower().endswith(".gguf") else "the model library"
    return (
        f"{Path(path).name} made {library} crash while loading ({crash}): it is probably damaged, "
        f"or made for another version of {library}; get it again or choose another model."
    )


def _crash_name(exit_code: int | None) -> str:
    if exit_code is None:
        return ""
    if sys.platform == "win32":
        return _WINDOWS_CRASHES.get(exit_code & 0xFFFFFFFF, "")
    if exit_code >= 0:
        return ""
    try:
        return signal.Signals(-exit_code).name
    except ValueError:
        return f"signal {-exit_code}"
