"""Hundreds of starts, questions, cancels and replacements at random leave nothing behind."""

from __future__ import annotations

import gc
import os
import random
import threading
from pathlib import Path

import psutil
import pytest

from logitscope.backends.messages import (
    Channel,
    Died,
    Evaluated,
    Loaded,
    Progress,
    Reply,
    Scored,
    Stepped,
)
from logitscope.sampling import SamplerSettings

PATHS = (
    "fake:vocab=20000",
    "fake:vocab=1000,load_ms=200",
    "fake:prefill_ms_per_token=1,decode_ms=1",
    "fake:abort=decode,after=3",
)


class Monkey:
    """Does one random thing after another, always the same ones for a seed."""

    def __init__(self, client, seed: int) -> None:
        self.client = client
        self.random = random.Random(seed)
        self.loads = [client.load(PATHS[0])]
        self.numbers = list(self.loads)
        self.evaluations: set[int] = set()

    def act(self) -> None:
        """One cycle."""
        actions = (self.evaluate, self.generate, self.score, self.tokenize, self.cancel, self.wait)
        self.random.choices((*actions, self.load), weights=(8, 4, 3, 2, 4, 2, 1))[0]()

    def ids(self) -> list[int]:
        return [1] + [self.random.randrange(256) for _ in range(self.random.randrange(60))]

    def evaluate(self) -> None:
        channel = self.random.choice((Channel.LIVE, Channel.INSPECT))
        self.numbers.append(self.client.evaluate(self.ids(), channel=channel))
        self.evaluations.add(self.numbers[-1])

    def generate(self) -> None:
        settings = SamplerSettings(seed=self.random.randrange(100))
        self.numbers.append(self.client.generate(self.ids(), settings, 30))

    def score(self) -> None:
        ids = self.ids()
        self.numbers.append(self.client.score(ids, 1, len(ids)))

    def tokenize(self) -> None:
        self.numbers.append(self.client.tokenize("a text"))

    def cancel(self) -> None:
        if self.random.random() < 0.5:
            self.client.cancel(self.random.choice(self.numbers[-10:]))
        else:
            self.client.cancel_channel(self.random.choice(list(Channel)))

    def wait(self) -> None:
        """Until the newest request is answered."""
        self.generate()
        self.client.answer(self.numbers[-1])

    def load(self) -> None:
        self.loads.append(self.client.load(self.random.choice(PATHS)))
        self.numbers.append(self.loads[-1])
        if self.random.random() < 0.7:
            self.client.answer(self.numbers[-1])

    def finish(self) -> None:
        """End on a model that works."""
        self.loads.append(self.client.loaded(PATHS[0]).number)
        self.client.evaluated()


def resources() -> tuple[int, int, int]:
    """Threads, open files and bytes of this process."""
    gc.collect()
    process = psutil.Process()
    return threading.active_count(), process.num_fds(), process.memory_info().rss


def model_processes() -> list[psutil.Process]:
    """Children of this process that own a model."""
    children = psutil.Process().children()
    return [c for c in children if "multiprocessing.spawn" in " ".join(c.cmdline())]


@pytest.mark.timeout(600)
def test_500_random_cycles_leave_nothing(client) -> None:
    before = len(model_processes())
    monkey = Monkey(client, seed=11)
    for _ in range(100):
        monkey.act()
    monkey.finish()
    threads, files, memory = resources()
    for _ in range(400):
        monkey.act()
    monkey.finish()

    assert len(model_processes()) == before + 1
    assert not list(Path("/dev/shm").glob(f"lgs-{os.getpid()}-*"))
    threads_now, files_now, memory_now = resources()
    assert threads_now == threads
    assert files_now == files
    # The recorder keeps every reply: some MB; a ring or a vocabulary a load would be 20 times it.
    assert memory_now - memory < 40e6
    check_replies(client.replies.all, monkey)


def check_replies(replies: list[Reply], monkey: Monkey) -> None:
    """Each request ended once; only a replaced evaluation, or what a death closed, did not."""
    endings = [r for r in replies if not isinstance(r, (Progress, Stepped, Scored, Died))]
    closed = [r.number for r in endings]
    assert len(closed) == len(set(closed))
    lives_that_ended = set()
    for reply in replies:
        if isinstance(reply, Loaded):
            life = reply.number
        elif isinstance(reply, Died):
            lives_that_ended.add(life)
    assert lives_that_ended, "the seed should meet a crash"
    for number in set(monkey.numbers) - set(closed) - monkey.evaluations:
        assert max(load for load in monkey.loads if load <= number) in lives_that_ended
    rows = [r.number for r in replies if isinstance(r, Evaluated)]
    assert rows == sorted(rows)
