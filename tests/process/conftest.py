"""A client, a recorder of its replies, and proofs that nothing stays behind."""

from __future__ import annotations

import os
import queue
import select
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from logitscope.backends.client import ModelClient
from logitscope.backends.messages import (
    Died,
    Evaluated,
    Failed,
    Finished,
    Loaded,
    Progress,
    Reply,
    Tokenized,
    Unembedded,
)

TIMEOUT = 30.0
CLOSING = (Loaded, Evaluated, Tokenized, Unembedded, Finished, Failed, Died)


class Recorder:
    """Keeps every reply in order; tests wait for the one they need."""

    def __init__(self) -> None:
        self.all: list[Reply] = []
        self._queue: queue.Queue[Reply] = queue.Queue()

    def __call__(self, reply: Reply) -> None:
        self._queue.put(reply)

    def until(self, matches: Callable[[Reply], bool], timeout: float = TIMEOUT) -> Reply:
        """The next reply that matches; what comes before it is recorded too."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                reply = self._queue.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                pytest.fail(f"no such reply within {timeout} s; got {self.all[-5:]}")
            self.all.append(reply)
            if matches(reply):
                return reply

    def closing(self, number: int, timeout: float = TIMEOUT) -> Reply:
        """The reply that ends a request, or the death of the process."""
        return self.until(
            lambda r: isinstance(r, CLOSING) and (r.number == number or isinstance(r, Died)),
            timeout,
        )

    def of(self, number: int) -> list[Reply]:
        """Everything recorded for one request, but its progress."""
        return [r for r in self.all if r.number == number and not isinstance(r, Progress)]


class Asker(ModelClient):
    """A client whose replies are recorded, and which can wait for them."""

    def __init__(self) -> None:
        self.replies = Recorder()
        super().__init__(self.replies)

    def loaded(self, path: str) -> Loaded:
        """Load and wait."""
        reply = self.replies.closing(self.load(path))
        assert isinstance(reply, Loaded), reply
        return reply

    def answer(self, number: int) -> Reply:
        """Wait for the closing reply of a request."""
        return self.replies.closing(number)

    def evaluated(self, ids: tuple[int, ...] = (1, 70, 71)) -> Evaluated:
        """Evaluate and wait: the proof that the process works."""
        reply = self.answer(self.evaluate(ids))
        assert isinstance(reply, Evaluated), reply
        return reply


class Gone:
    """Waits for the end of a process that need not be a child of this one."""

    def __init__(self, pid: int) -> None:
        self._descriptor = os.pidfd_open(pid)

    def within(self, seconds: float) -> bool:
        """Whether it ends in time; a process that nobody has reaped counts as ended."""
        try:
            return bool(select.select([self._descriptor], [], [], seconds)[0])
        finally:
            os.close(self._descriptor)


def shared_blocks(pid: int) -> set[str]:
    """Names of the blocks of shared memory which a client in this process has made."""
    return {path.name for path in Path("/dev/shm").glob(f"lgs-{pid}-*")}


def client_threads() -> set[threading.Thread]:
    """Threads of clients that still run."""
    return {t for t in threading.enumerate() if t.name.startswith("model ")}


@pytest.fixture(scope="session", autouse=True)
def _light_children() -> Iterator[None]:
    """Spawned children import the main module again; here that would be the whole of pytest."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules["__main__"], "__spec__", None, raising=False)
        patch.delattr(sys.modules["__main__"], "__file__", raising=False)
        yield


@pytest.fixture
def client() -> Iterator[Asker]:
    """A client without a model. Afterwards neither process, thread nor memory may be left."""
    before = client_threads()
    asker = Asker()
    yield asker
    pid = asker.pid
    gone = Gone(pid) if pid is not None and Path(f"/proc/{pid}").exists() else None
    asker.close()
    assert gone is None or gone.within(0)
    assert not client_threads() - before
    assert not shared_blocks(os.getpid())


@pytest.fixture(scope="module")
def shared_client() -> Iterator[Asker]:
    """A client with a small fast model, for tests that leave it as it is."""
    asker = Asker()
    asker.loaded("fake:vocab=1000,seed=3,context=256")
    yield asker
    asker.close()


@pytest.fixture(scope="session")
def watch_end() -> type[Gone]:
    """The class that waits for a process's end."""
    return Gone


@pytest.fixture(scope="session")
def new_asker() -> type[Asker]:
    """The class of the client, for tests that need to make their own."""
    return Asker
