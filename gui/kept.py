"""Copies of texts that nobody saved: the folder they are in, and which of them nobody owns.

The name of a copy begins with the number of the process whose window writes it, or with ``kept-``
once it belongs to none any more.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import platformdirs

from logitscope import session_file
from logitscope.session_file import SessionFileError

SUFFIX = ".logitscope.json"
DELETED = ".deleted"
"""Behind the name of a copy that can still be had back."""
KEPT = "kept-"
"""Begins the name of a copy that no process owns any more."""
MOST_KEPT = 10
"""Copies that no window owns; the oldest go."""


def recovery_folder() -> Path:
    """Where recovery copies are."""
    return Path(platformdirs.user_data_path("logitscope", appauthor=False)) / "recovery"


def lost_sessions(folder: Path) -> Iterator[Path]:
    """Copies of closed windows and of processes that are gone, newest first, if they are whole."""
    with suppress(OSError):
        for file in _newest_first(folder.glob(f"*{SUFFIX}")):
            if (file.name.startswith(KEPT) or _is_orphan(file)) and _is_whole(file):
                yield file


def kept_name() -> str:
    """The name of a new copy that no window owns."""
    return f"{KEPT}{time.time_ns()}{SUFFIX}"


def prune(folder: Path) -> None:
    """Remove the oldest copies that no window owns."""
    with suppress(OSError):
        for file in _newest_first(folder.glob(f"{KEPT}*{SUFFIX}"))[MOST_KEPT:]:
            file.unlink(missing_ok=True)


def delete(copy: Path) -> Path:
    """Take a copy out of the list; returns the file that :func:`restore` has it back from."""
    return copy.replace(copy.with_name(copy.name + DELETED))


def restore(deleted: Path) -> None:
    """Undo :func:`delete`; nothing happens where :func:`purge` came first."""
    with suppress(OSError):
        deleted.replace(deleted.with_name(deleted.name.removesuffix(DELETED)))


def purge(folder: Path) -> None:
    """Remove for good what was deleted."""
    with suppress(OSError):
        for file in folder.glob(f"*{SUFFIX}{DELETED}"):
            file.unlink(missing_ok=True)


def _newest_first(files: Iterable[Path]) -> list[Path]:
    return sorted(files, key=lambda file: file.stat().st_mtime, reverse=True)


def _is_orphan(file: Path) -> bool:
    """The process that wrote the copy is gone; its number may be another one's by now."""
    # Behind the first painting: it takes 12 ms to import.
    import psutil

    process = file.name.partition("-")[0]
    if not process.isdigit():
        return False
    try:
        return bool(psutil.Process(int(process)).create_time() > file.stat().st_mtime)
    except psutil.NoSuchProcess:
        return True
    except psutil.Error:
        return False


def _is_whole(file: Path) -> bool:
    try:
        session_file.load(file)
    except (SessionFileError, OSError):
        return False
    return True
