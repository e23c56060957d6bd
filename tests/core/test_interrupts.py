"""Ctrl-C while results are at hand."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from logitscope.interrupts import Interrupts


@pytest.fixture
def interrupts() -> Iterator[Interrupts]:
    made = Interrupts()
    with made.heard():
        yield made


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def test_the_first_ends_the_work_and_the_third_everything(interrupts: Interrupts) -> None:
    with pytest.raises(KeyboardInterrupt), interrupts.stoppable():
        press()
    press()
    with pytest.raises(KeyboardInterrupt):
        press()
    assert interrupts.came


def test_a_second_one_on_the_heels_of_the_first_ends_nothing(interrupts: Interrupts) -> None:
    finished = False
    with pytest.raises(KeyboardInterrupt), interrupts.stoppable():
        try:
            press()
        finally:
            press()
            finished = True
    assert finished


def test_one_outside_of_the_work_lets_nothing_new_begin(interrupts: Interrupts) -> None:
    press()
    assert interrupts.came
    begun = False
    with pytest.raises(KeyboardInterrupt), interrupts.stoppable():
        begun = True
    assert not begun


def test_afterwards_pythons_own_way_is_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Interrupts().heard():
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before
