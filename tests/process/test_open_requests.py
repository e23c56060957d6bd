"""The books on both sides of the pipe: what is sent, what waits, what is paused."""

from __future__ import annotations

import ctypes
import multiprocessing
import threading

import pytest

from logitscope.backends.base import LoadOptions
from logitscope.backends.flags import SLOTS, Flags
from logitscope.backends.inbox import Inbox
from logitscope.backends.messages import (
    Channel,
    Ending,
    Evaluate,
    Failed,
    Finished,
    Generate,
    Load,
    Score,
    Tokenize,
    Tokenized,
)
from logitscope.backends.open_requests import OpenRequests
from logitscope.backends.process import Cancel, Stop
from logitscope.sampling import SamplerSettings


def evaluate(number: int, channel: Channel = Channel.LIVE) -> Evaluate:
    return Evaluate(number, (1,), (), channel)


def generate(number: int) -> Generate:
    return Generate(number, (1,), SamplerSettings(), 1)


def score(number: int) -> Score:
    return Score(number, (1, 2, 3), 1, 3)


@pytest.fixture
def flags() -> Flags:
    return Flags(multiprocessing.get_context("spawn"))


@pytest.fixture
def books(flags) -> OpenRequests:
    books = OpenRequests(flags, Load(1, "fake:", "", LoadOptions()))
    books.wanted(Failed(1, "closes the load"))
    return books


@pytest.fixture
def inbox(flags) -> Inbox:
    return Inbox(flags)


def test_a_flag_is_a_c_string_of_length_0_or_1(flags) -> None:
    def length(number: int) -> int:
        return len(ctypes.string_at(flags.address(number)))

    for number in (5, 5 + SLOTS - 1):
        assert length(number) == 0
        flags.cancel(number)
        assert (length(number), flags.cancelled(number)) == (1, True)
        flags.clear(number)
        flags.pause(number)
        assert (length(number), flags.raised(number), flags.cancelled(number)) == (1, True, False)
    flags.cancel(6)
    flags.pause(6)
    assert flags.cancelled(6)


def test_a_slot_is_not_used_by_two_requests_at_once(books) -> None:
    books.add(generate(7))
    books.add(Tokenize(7 + SLOTS, "later"))
    assert books.next_to_send() == generate(7)
    got = []
    thread = threading.Thread(target=lambda: got.append(books.next_to_send()))
    thread.start()
    books.cancel(7)
    thread.join(10)
    # The cancel is not held up by the request that waits for its slot.
    assert got == [Cancel(7)]
    thread = threading.Thread(target=lambda: got.append(books.next_to_send()))
    thread.start()
    assert books.wanted(Finished(7, Ending.CANCELLED))
    thread.join(10)
    assert got[1].number == 7 + SLOTS


def test_a_request_cancelled_before_it_is_sent_is_sent_with_its_flag_up(books, flags) -> None:
    books.add(generate(7))
    books.cancel(7)
    assert books.next_to_send() == generate(7)
    assert flags.cancelled(7)


def test_an_evaluation_replaced_before_it_is_sent_is_never_sent(books) -> None:
    for number in (7, 8, 9):
        books.add(evaluate(number))
    books.add(evaluate(10, Channel.INSPECT))
    assert books.next_to_send() == evaluate(9)
    assert books.next_to_send() == evaluate(10, Channel.INSPECT)


def test_replies_to_a_replaced_request_are_not_wanted(books) -> None:
    books.add(evaluate(7))
    books.add(generate(8))
    books.next_to_send()
    books.next_to_send()
    books.add(evaluate(9))
    books.add(generate(10))
    assert not books.wanted(Failed(7, "too late"))
    assert books.wanted(Finished(8, Ending.CANCELLED))
    assert not books.wanted(Finished(8, Ending.CANCELLED))
    assert not books.wanted(Tokenized(99, ()))
    assert books.numbers() == [9, 10]


def test_stop_is_behind_the_cancels_and_in_front_of_nothing(books) -> None:
    books.add(generate(7))
    books.next_to_send()
    books.add(evaluate(8))
    books.cancel_channel(None)
    books.stop()
    assert [books.next_to_send() for _ in range(3)] == [Cancel(7), Stop(), None]
    assert books.close() == [7, 8]
    assert not books.add(evaluate(9))


def test_the_most_urgent_work_comes_first(inbox) -> None:
    work = [score(1), generate(2), evaluate(3), evaluate(4, Channel.INSPECT), Tokenize(5, "a")]
    for item in work:
        inbox.put(item)
    assert [inbox.take().number for _ in work] == [5, 3, 4, 2, 1]


def test_only_what_is_more_urgent_comes_before(inbox) -> None:
    inbox.put(generate(1))
    assert inbox.take_before(Channel.GENERATE) is None
    inbox.put(evaluate(2))
    assert inbox.take_before(Channel.GENERATE) == evaluate(2)
    inbox.put(None)
    # An end waits for what runs; it does not come in between.
    assert inbox.take_before(Channel.GENERATE) is None
    assert inbox.take() is None


def test_scoring_is_paused_by_what_comes_and_by_what_waits(inbox, flags) -> None:
    inbox.scoring_begins(7)
    assert not flags.raised(7)
    inbox.put(generate(8))
    assert flags.raised(7)
    assert inbox.scoring_ends(score(7))
    assert not flags.raised(7)
    inbox.scoring_begins(7)
    assert flags.raised(7)


def test_paused_scoring_comes_before_newer_scoring(inbox) -> None:
    inbox.scoring_begins(7)
    inbox.put(score(8))
    inbox.put(evaluate(9))
    inbox.scoring_ends(score(7))
    assert [inbox.take().number for _ in range(3)] == [9, 7, 8]


def test_a_cancel_that_a_pause_has_overwritten_still_counts(inbox, flags) -> None:
    inbox.scoring_begins(7)
    flags.cancel(7)
    # The race: the child read the flag before the window's write and wrote after it.
    flags.clear(7)
    inbox.put(generate(8))
    inbox.cancel(7)
    flags.clear(7)
    assert not inbox.scoring_ends(score(7))
