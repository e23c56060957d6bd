"""llama.cpp as a library: import on first use, its log, and a stop that costs nothing.

Only this module knows how the bindings are imported; ``library()`` returns the module
whose functions are the C functions of ``llama.h`` by the same names.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections import deque
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from logitscope.backends.base import MissingBackend

LEVEL_INFO = 2
LEVEL_ERROR = 4
LEVEL_CONTINUED = 5
"""ggml_log_level of ggml.h."""

_NOISE = ("failed to load model", "failed to initialize the context", "exiting")


class LogTail:
    """The last lines that llama.cpp logged: where a load error's reason stands."""

    def __init__(self, size: int = 400) -> None:
        self._lines: deque[tuple[int, str]] = deque(maxlen=size)

    def add(self, level: int, text: str) -> None:
        """Keep a line; a continuation belongs to the line before it."""
        if level == LEVEL_CONTINUED and self._lines:
            before, begun = self._lines.pop()
            self._lines.append((before, begun + text))
        elif level >= LEVEL_INFO:
            self._lines.append((level, text))

    def clear(self) -> None:
        self._lines.clear()

    def lines(self) -> list[str]:
        """All kept lines, oldest first, without line ends."""
        return [text.rstrip() for _, text in self._lines if text.strip()]

    def reason(self) -> str:
        """The line that explains the last failure, without the name of the C function; "" if none.

        llama.cpp reports outwards from the cause, so the first error line is the cause and the
        following ones only say that loading failed.
        """
        errors = [text.strip() for level, text in self._lines if level == LEVEL_ERROR]
        telling = [line for line in errors if not any(noise in line for noise in _NOISE)]
        for line in telling or errors:
            head, _, tail = line.partition(": ")
            body = tail if tail and " " not in head else line
            return body.removeprefix("error loading model: ")
        return ""


LOG = LogTail()


@cache
def library() -> Any:
    """The functions of ``llama.h``, initialised once a process, logging into ``LOG``.

    Raises MissingBackend where it is not installed or its shared library cannot be loaded.
    """
    try:
        llama_cpp = _functions()
    except ImportError as error:
        raise MissingBackend(
            "Opening GGUF files needs llama.cpp, which is not installed here:"
            ' install it with  pip install "logitscope[llama]"',
            str(error),
        ) from error
    except (OSError, RuntimeError) as error:
        raise MissingBackend(
            "llama-cpp-python is installed but its library does not start on this machine:"
            " reinstall it, or see the details for what is missing.",
            str(error),
        ) from error
    _keep_for_ever.append(llama_cpp.llama_log_callback(_on_log))
    llama_cpp.llama_log_set(_keep_for_ever[0], ctypes.c_void_p(0))
    llama_cpp.llama_backend_init()
    return llama_cpp


def _functions() -> ModuleType:
    """The module of the C functions, without the package around it, whose classes nobody here uses:
    with them come Jinja and more, which is 40 ms of a load.
    """
    if "llama_cpp" in sys.modules:
        return import_module("llama_cpp.llama_cpp")
    found = find_spec("llama_cpp")
    if found is None or found.submodule_search_locations is None:
        raise ImportError("No module named 'llama_cpp'")
    package = ModuleType("llama_cpp")
    package.__path__ = list(found.submodule_search_locations)
    sys.modules["llama_cpp"] = package
    try:
        return import_module("llama_cpp.llama_cpp")
    finally:
        # Whoever imports the package shall get the whole one.
        del sys.modules["llama_cpp"]


# llama.cpp keeps the pointer until the process ends, so the callback must never be collected.
_keep_for_ever: list[Any] = []


def _on_log(level: int, text: bytes | None, _user_data: object) -> None:
    if level >= LEVEL_INFO and text:
        LOG.add(level, text.decode("utf-8", errors="replace"))


def path_bytes(path: os.PathLike[str]) -> bytes:
    """A path as llama.cpp wants it: UTF-8 on Windows, the file system's own bytes elsewhere."""
    return os.fsencode(path)


@cache
def native_flag_test() -> Any | None:
    """A C function pointer that returns true if the byte at its argument is not 0.

    That is ``strlen``, asked for the length of the two bytes (flag, 0). llama.cpp calls it
    before every node of the compute graph, 700 times a token for 18 layers, where a Python
    callback costs about 1 ms a token and this one nothing. None where it does not prove itself.
    """
    prototype = library().ggml_abort_callback
    try:
        libc = ctypes.cdll.msvcrt if sys.platform == "win32" else ctypes.CDLL(None)
        function = ctypes.cast(libc.strlen, prototype)
    except (OSError, AttributeError):
        return None
    flag = (ctypes.c_ubyte * 2)(0, 0)
    answers = []
    for value in (0, 1, 255):
        flag[0] = value
        answers.append(bool(function(ctypes.addressof(flag))))
    return function if answers == [False, True, True] else None


@cache
def never() -> Any:
    """The null abort callback."""
    return library().ggml_abort_callback()
