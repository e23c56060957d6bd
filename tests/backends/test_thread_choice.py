"""How many threads compute, over passes whose times are those of a made-up machine."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from logitscope.backends.thread_choice import RETRY_SHARE, PassTime, ThreadChoice


@dataclass
class Machine:
    """What a pass takes, by the number of threads, and which share of it they work."""

    choice: ThreadChoice
    seconds: dict[int, float]
    working: float
    now: float = 0.0
    used: list[int] = field(default_factory=list)

    def decode(self, passes: int, tokens: int = 1) -> list[int]:
        """Threads of each pass."""
        begun = len(self.used)
        for _ in range(passes):
            threads = self.choice.threads
            taken = tokens * self.seconds[threads]
            self.now += taken
            busy = self.working * threads * taken
            self.choice.note(PassTime(tokens, taken, busy, self.now))
            self.used.append(threads)
        return self.used[begun:]


QUIET = {2: 0.016, 1: 0.026}
BUSY = {2: 0.190, 1: 0.030}


def machine(threads: int = 2) -> Machine:
    return Machine(ThreadChoice(threads), QUIET, 0.99)


def test_undisturbed_all_threads_compute() -> None:
    assert set(machine().decode(1000)) == {2}


def test_a_core_that_is_taken_costs_two_slow_passes() -> None:
    m = machine()
    m.decode(10)
    m.seconds, m.working = BUSY, 0.5
    assert m.decode(5) == [2, 2, 1, 1, 1]


def test_the_window_drawing_changes_nothing() -> None:
    m = machine()
    for _ in range(50):
        m.seconds, m.working = {2: 0.033, 1: 0.026}, 0.6
        assert m.decode(2) == [2, 2]
        m.seconds, m.working = QUIET, 0.99
        assert m.decode(10) == [2] * 10


def test_all_threads_compute_again_once_nothing_disturbs_them() -> None:
    m = machine()
    m.seconds, m.working = BUSY, 0.5
    assert m.decode(10)[-1] == 1
    m.seconds, m.working = QUIET, 0.99
    begun = m.now
    while set(m.decode(5)) != {2}:
        assert m.now - begun < 10
    assert set(m.decode(1000)) == {2}


@pytest.mark.parametrize("slow", [0.06, 0.19, 2.5])
def test_trying_all_threads_again_costs_a_twentieth_at_most(slow: float) -> None:
    m = machine()
    m.seconds, m.working = {2: slow, 1: 0.026}, 0.4
    m.decode(20)
    m.used.clear()
    begun = m.now
    m.decode(10_000)
    assert m.used.count(2) * slow <= 1.2 * RETRY_SHARE * (m.now - begun) + slow
    assert m.used.count(2) > 1


def test_where_fewer_do_not_help_all_go_on() -> None:
    """As with a slow disk under mapped weights: the threads wait, but not for a core."""
    m = machine()
    m.seconds, m.working = {2: 0.2, 1: 0.4}, 0.3
    assert m.decode(500).count(1) < 20


def test_passes_of_different_length_are_compared_by_the_token() -> None:
    m = machine()
    m.seconds, m.working = {2: 0.0019, 1: 0.0003}, 0.5
    m.decode(2, tokens=256)
    assert m.decode(4, tokens=64) == [1, 1, 1, 1]


@pytest.mark.parametrize(("threads", "fewer"), [(2, 1), (3, 2), (4, 3), (8, 6), (16, 12)])
def test_one_thread_of_four_is_given_up(threads: int, fewer: int) -> None:
    m = Machine(ThreadChoice(threads), {threads: 0.2, fewer: 0.02}, 0.5)
    assert m.decode(3) == [threads, threads, fewer]


def test_one_thread_stays_one() -> None:
    m = Machine(ThreadChoice(1), {1: 0.2}, 0.3)
    assert set(m.decode(100)) == {1}
