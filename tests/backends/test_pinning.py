"""Threads on cores of their own, in a process of its own: pinning cannot be taken back."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="threads can be pinned on Linux only"
)

PROGRAM = """
import ctypes, json, os, sys, threading
from logitscope.backends.pinning import PINNING

cores = sorted(os.sched_getaffinity(0))
made, wanted = int(sys.argv[1]), int(sys.argv[2])
if sys.argv[3] == "allowed":
    PINNING.allow()
libc = ctypes.CDLL(None)
# A library's own thread, which Python knows nothing of: it sleeps until the process ends.
sleep = ctypes.cast(libc.sleep, ctypes.c_void_p)
handle = ctypes.c_ulong()
before = set(os.listdir("/proc/self/task"))
with PINNING.of_new_threads(wanted or len(cores)):
    for _ in range(made if made >= 0 else len(cores) - 1):
        libc.pthread_create(ctypes.byref(handle), None, sleep, ctypes.c_void_p(1000))
theirs = sorted(set(os.listdir("/proc/self/task")) - before, key=int)
found = {}

def work():
    PINNING.unpin()
    found["python"] = sorted(os.sched_getaffinity(0))

thread = threading.Thread(target=work)
thread.start()
thread.join()
places = [sorted(os.sched_getaffinity(int(task))) for task in (os.getpid(), *theirs)]
PINNING.hold(False)
alone = sorted(os.sched_getaffinity(0))
PINNING.hold(True)
again = sorted(os.sched_getaffinity(0))
print(json.dumps([cores, places, found["python"], alone, again]), flush=True)
os._exit(0)
"""


def places(made: int, wanted: int, allowed: str = "allowed") -> list[list]:
    """Cores of the process, of its main thread and the library's, of a thread of Python's, and of
    the main thread while it computes alone, and behind that."""
    arguments = [sys.executable, "-c", PROGRAM, str(made), str(wanted), allowed]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    found: list[list] = json.loads(done.stdout)
    return found


needs_two = pytest.mark.skipif(
    len(getattr(os, "sched_getaffinity", lambda _: [0])(0)) < 2, reason="there is one core only"
)


@needs_two
def test_each_thread_has_a_core_where_they_take_all() -> None:
    cores, threads, *_ = places(-1, 0)
    assert sorted(threads) == [[core] for core in cores]


@needs_two
def test_threads_of_python_run_on_all_cores() -> None:
    cores, _, python, *_ = places(-1, 0)
    assert python == cores


@needs_two
def test_where_the_main_thread_computes_alone_it_runs_on_any_core() -> None:
    """Else two models, one thread of each left, would share a core with another idle."""
    cores, threads, _, alone, again = places(-1, 0)
    assert alone == cores
    assert again == threads[0]
    assert len(again) == 1


@needs_two
@pytest.mark.parametrize(
    ("made", "wanted", "allowed"), [(-1, 1, "allowed"), (0, 0, "allowed"), (-1, 0, "not")]
)
def test_elsewhere_nothing_is_pinned(made: int, wanted: int, allowed: str) -> None:
    """A core is free; the library makes no threads, or others; the process does other things."""
    cores, threads, *_ = places(made, wanted, allowed)
    assert all(place == cores for place in threads)
