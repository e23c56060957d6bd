"""A model process whose parent has vanished ends itself."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("vanishing_parent.py")


@pytest.mark.parametrize(
    "arguments",
    [
        ["fake:"],
        ["fake:hang=load"],
        ["fake:freeze=load"],
        ["fake:hang=prefill", "1", "70"],
        ["fake:freeze=prefill", "1", "70"],
    ],
)
def test_the_child_ends_when_its_parent_is_killed(arguments, watch_end) -> None:
    with subprocess.Popen(
        [sys.executable, str(SCRIPT), *arguments], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        ended = watch_end(pid)
        parent.send_signal(signal.SIGKILL)
        assert ended.within(2)
    assert not list(Path("/dev/shm").glob(f"lgs-{parent.pid}-*"))
