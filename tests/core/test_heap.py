"""The kernel counts the pages that a process had to be given."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

ROUNDS = 20
ROWS = 10
"""As many arrays of the size of a vocabulary live while a frame is worked out."""
ROW_BYTES = 2 << 20
PROGRAM = f"""
import resource, sys
import numpy as np
from logitscope.heap import keep_freed_blocks

if "keep" in sys.argv:
    assert keep_freed_blocks()

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def work():
    rows = [np.ones({ROW_BYTES // 8}) for _ in range({ROWS})]

work()
before = faults()
for _ in range({ROUNDS}):
    work()
print((faults() - before) * resource.getpagesize())
"""


def bytes_given(*arguments: str) -> int:
    command = [sys.executable, "-c", PROGRAM, *arguments]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the GNU C library alone is told")
def test_freed_rows_are_used_again_instead_of_being_asked_for_anew() -> None:
    # Without it the system gives all of them in each round: 400 MB.
    assert bytes_given("keep") < ROWS * ROW_BYTES
