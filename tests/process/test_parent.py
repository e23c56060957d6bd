"""A model process whose parent has vanished ends itself."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("vanishing_parent.py")


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


def start(arguments: list[str], stdin: int) -> subprocess.Popen:
    """The script in an interpreter of its own."""
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), *arguments], stdin=stdin, stdout=subprocess.PIPE, text=True
    )


@arguments
def test_the_child_ends_when_its_parent_is_killed(arguments, watch_end) -> None:
    with start(arguments, stdin=subprocess.DEVNULL) as parent:
        ended = watch_end(int(parent.stdout.readline()))
        parent.send_signal(signal.SIGKILL)
        assert ended.within(2)
    assert not list(Path("/dev/shm").glob(f"lgs-{parent.pid}-*"))


@arguments
def test_the_child_ends_when_its_parent_forgets_it(arguments, watch_end) -> None:
    with start(arguments, stdin=subprocess.PIPE) as parent:
        ended = watch_end(int(parent.stdout.readline()))
        parent.stdin.write("end\n")
        parent.stdin.flush()
        assert ended.within(5)
        assert parent.wait(5) == 0
    assert not list(Path("/dev/shm").glob(f"lgs-{parent.pid}-*"))
