"""A model process whose parent has vanished ends itself."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("vanishing_parent.py")
TIMEOUT = 30.0

arguments = pytest.mark.parametrize(
    "arguments",
    [
        ["fake:"],
        ["fake:hang=load"],
        ["fake:freeze=load"],
        ["fake:hang=prefill", "1", "70"],
        ["fake:freeze=prefill", "1", "70"],
    ],
)


class Sign:
    """The pipe in which a hanging child tells that it hangs, held open until the test is over."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self.descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def wait(self) -> None:
        """Wait until it hangs for sure. What it has written stays, or a frozen one would go on."""
        assert select.select([self.descriptor], [], [], TIMEOUT)[0], "the child does not hang"


@pytest.fixture
def sign(tmp_path: Path) -> Iterator[Sign]:
    made = Sign(tmp_path / "sign")
    yield made
    os.close(made.descriptor)


@contextmanager
def started(
    arguments: list[str], stdin: int, sign: Sign
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The script in an interpreter of its own, and the id of its child, which hangs if told to."""
    path, *ids = arguments
    hangs = path != "fake:"
    command = [sys.executable, str(SCRIPT), f"{path},sign={sign.path}" if hangs else path, *ids]
    with subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, text=True) as parent:
        try:
            pid = int(parent.stdout.readline())
            if hangs:
                sign.wait()
            yield parent, pid
        finally:
            parent.kill()


@arguments
def test_the_child_ends_when_its_parent_is_killed(arguments, watch_end, sign) -> None:
    with started(arguments, subprocess.DEVNULL, sign) as (parent, pid):
        ended = watch_end(pid)
        parent.send_signal(signal.SIGKILL)
        assert ended.within(2)
    assert not list(Path("/dev/shm").glob(f"lgs-{parent.pid}-*"))


@arguments
def test_the_child_ends_when_its_parent_forgets_it(arguments, watch_end, sign) -> None:
    with started(arguments, subprocess.PIPE, sign) as (parent, pid):
        ended = watch_end(pid)
        parent.stdin.write("end\n")
        parent.stdin.flush()
        assert ended.within(5)
        assert parent.wait(5) == 0
    assert not list(Path("/dev/shm").glob(f"lgs-{parent.pid}-*"))
