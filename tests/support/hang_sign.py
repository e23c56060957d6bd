"""Proof that a fake model hangs: a named pipe that it writes into just before."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class HangSign:
    """The reading end of the pipe; ``path`` is for the model's setting ``sign``."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self.descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def is_given(self, timeout: float = 0.0) -> bool:
        """Whether it hangs for sure. What it has written stays, or a frozen one would go on."""
        return bool(select.select([self.descriptor], [], [], timeout)[0])


@contextmanager
def hang_sign(folder: Path) -> Iterator[HangSign]:
    made = HangSign(folder / "sign")
    try:
        yield made
    finally:
        os.close(made.descriptor)
