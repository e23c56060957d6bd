"""The start of the program, up to the window or the command line.

Imports no more than a window on one model needs: reading options takes Typer a tenth of a second.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import multiprocessing
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

from logitscope.backends.base import BackendError, LoadOptions, ModelFileError
from logitscope.interrupts import INTERRUPTED, unwind
from logitscope.one_line import in_one_line

FAILED = 1
WRONG_USAGE = 2
PACKAGED_NAME = "gemma"
COMMANDS = frozenset({"open", "next", "score", "origin", "info", "models"})
SHOW_TRACEBACK = "LOGITSCOPE_TRACEBACK"
"""Environment variable for reports of bugs."""


class WrongUsage(BackendError):
    """What was written cannot be meant; ``str()`` is a sentence."""


def main() -> int:
    """Run the command line; ends with SystemExit."""
    # In a bundled program the model process starts the same executable again.
    multiprocessing.freeze_support()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    words = sys.argv[1:]
    with failures():
        if is_plain_start(words):
            sys.exit(open_window(_only_word(words[0]) if words else None, "", LoadOptions()))
        if sys.stdout is None and words[0] in COMMANDS - {"open"}:
            raise BackendError("standard output is closed: send what is printed somewhere")
        from logitscope.cli import app

        app(prog_name="logitscope")
    return 0


def is_plain_start(words: list[str]) -> bool:
    """Nothing but a model at most."""
    if not words:
        return True
    return len(words) == 1 and not words[0].startswith("-") and words[0] not in COMMANDS


def _only_word(word: str) -> str:
    """The model that a word on its own means. Raises ModelFileError, and WrongUsage for a slip of a
    command."""
    try:
        return find_model(word)
    except ModelFileError as error:
        from difflib import get_close_matches

        meant = get_close_matches(word, sorted(COMMANDS), n=1)
        if not meant:
            raise
        slip = f'there is no command or model "{word}": did you mean {meant[0]}?'
        raise WrongUsage(slip) from error


@contextlib.contextmanager
def failures() -> Iterator[None]:
    """Turn what a person can act on into a line on standard error and an exit code."""
    try:
        yield
    except WrongUsage as error:
        sys.exit(complain(f"{error} (see logitscope --help)", WRONG_USAGE))
    except BackendError as error:
        sys.exit(complain(str(error), FAILED))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:
        if _is_of_output(error):
            reason = f"what is printed cannot be written ({error.strerror})"
            sys.exit(complain(f"{reason}: free space there, or send it elsewhere", FAILED))
        if os.environ.get(SHOW_TRACEBACK):
            raise
        bug = f"unexpected {type(error).__name__} ({error}): set {SHOW_TRACEBACK}=1 and report it"
        sys.exit(complain(bug, FAILED))


def _is_of_output(error: Exception) -> TypeGuard[OSError]:
    """Whether a stream took no more, such as a file on a full disk; errors of files name them."""
    reasons = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
    return isinstance(error, OSError) and error.filename is None and error.errno in reasons


def open_window(model: str | None, backend: str, options: LoadOptions) -> int:
    """Stay until the window is closed; returns the exit code."""
    # Nothing made at the start is garbage, and looking for it takes a tenth of the start. The
    # window collects by itself (see ``gui.garbage``).
    gc.disable()
    path = None if model is None else find_model(model)
    try:
        from logitscope.gui.app import run
    except ImportError as error:
        if _is_missing_ours(error):
            raise
        raise BackendError(
            f"The window cannot start, because a library of Qt is missing ({error}): on Debian or "
            "Ubuntu run apt install libegl1 libgl1 libxkbcommon0 libdbus-1-3 libfontconfig1 "
            "libxcb-cursor0"
        ) from error
    return run(path, backend, options)


def _is_missing_ours(error: ImportError) -> bool:
    """Whether a module of this program is missing, which is a bug and not a missing library."""
    return (error.name or "").startswith("logitscope")


def complain(sentence: str, code: int) -> int:
    """Print a sentence on standard error; returns the exit code."""
    print(f"logitscope: {in_one_line(sentence)}", file=sys.stderr)
    return code


def find_model(model: str) -> str:
    """The absolute path that MODEL means: a file, a folder, or a name of the library.

    Raises ModelFileError where it is none of them, and WrongUsage for "", which as a path is the
    folder that one is in; puts the packaged model together if needed.
    """
    if not model:
        raise WrongUsage("MODEL is empty: give a file, a folder or a name of `logitscope models`")
    if model.startswith("fake:"):
        return model
    path = Path(model).expanduser().absolute()
    if path.exists() or path.is_symlink():
        return str(path)
    from logitscope.backends.library import find_models
    from logitscope.backends.packaged import assemble

    for entry in find_models():
        alias = PACKAGED_NAME if entry.source == "packaged" else entry.title
        if model.casefold() in {alias.casefold(), entry.title.casefold()}:
            if entry.ready:
                return str(entry.path)
            unwind()
            return str(assemble())
    raise ModelFileError(
        f"{model}: there is no such file or folder, and `logitscope models` lists no such name: "
        "check the path"
    )
