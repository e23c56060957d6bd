"""A model process whose parent has vanished ends itself."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hang_sign import HangSign, hang_sign

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


@pytest.fixture
def sign(tmp_path: Path) -> Iterator[HangSign]:
    with hang_sign(tmp_path) as made:
        yield made


@contextmanager
def started(
    arguments: list[str], stdin: int, sign: HangSign
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The script in an interpreter of its own, and the id of its child, which hangs if told to."""
    path, *ids = arguments
    hangs = path != "fake:"
    command = [sys.executable, str(SCRIPT), f"{path},sign={sign.path}" if hangs else path, *ids]
    with subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, text=True) as parent:
        try:
            pid = int(parent.stdout.readline())
            if hangs:
                assert sign.is_given(TIMEOUT), "the child does not hang"
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
