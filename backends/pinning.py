"""A core for each of a model library's threads, where they take all of them (Linux).

The threads wait for each other behind every operation. When something else has taken a core for a
moment, Linux may put two of them on one and leave them there, with a core idle beside them: single
tokens of llama.cpp then take 0.15 to 2.5 s instead of 16 ms. Kept on cores of their own they take
24 ms a token beside a program that is always busy, instead of 42; undisturbed it makes no
difference. PyTorch reads 512 tokens of a small model in 25 ms, and unpinned in 25 to 34.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TASKS = Path("/proc/self/task")


class Pinning:
    """Of one process. The library makes its threads in its first pass, and keeps them."""

    def __init__(self) -> None:
        self._is_due = False
        self._cores: list[int] = []
        """All of them, once threads are pinned; the first is the main thread's."""
        self._is_held = False
        """Whether the main thread stays on its core."""

    def allow(self) -> None:
        """The main thread of this process decodes and does nothing else."""
        self._is_due = hasattr(os, "sched_setaffinity") and TASKS.is_dir()

    @contextmanager
    def of_new_threads(self, threads: int) -> Iterator[None]:
        """Pin this thread and those that the library makes meanwhile, if it shall have ``threads``
        in all and there are so many cores."""
        cores = sorted(os.sched_getaffinity(0)) if self._is_due and threads > 1 else []
        if threads != len(cores):
            yield
            return
        self._is_due = False
        before = _foreign_threads()
        yield
        made = _foreign_threads() - before
        if len(made) == threads - 1:
            self._cores, self._is_held = cores, True
            for thread, core in zip((0, *made), cores, strict=True):
                os.sched_setaffinity(thread, {core})

    def hold(self, is_held: bool) -> None:
        """Keep the main thread on its core, or, where fewer threads compute, let it run on any: on
        its core there may be another model's."""
        if self._cores and is_held != self._is_held:
            self._is_held = is_held
            os.sched_setaffinity(0, self._cores[:1] if is_held else self._cores)

    def unpin(self) -> None:
        """Let this thread, which has its cores from the one that started it, run on any."""
        if self._cores:
            os.sched_setaffinity(0, self._cores)


PINNING = Pinning()


def _foreign_threads() -> set[int]:
    """Threads of this process that Python has not made."""
    ours = {thread.native_id for thread in threading.enumerate()}
    return {int(task.name) for task in TASKS.iterdir()} - ours
