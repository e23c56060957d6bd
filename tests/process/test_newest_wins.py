"""Requests replace, cancel and interrupt each other as the channels say."""

from __future__ import annotations

import numpy as np
import pytest

from logitscope.backends.messages import (
    Channel,
    Ending,
    Evaluated,
    Finished,
    Progress,
    Scored,
    Stepped,
    Tokenized,
)
from logitscope.sampling import SamplerSettings

GREEDY = SamplerSettings(temperature=0)


@pytest.fixture(scope="module")
def slow(new_asker):
    """A client whose model needs 2 ms a token, so that requests meet each other."""
    asker = new_asker()
    asker.loaded("fake:vocab=1000,prefill_ms_per_token=2,decode_ms=2,context=100000")
    yield asker
    asker.close()


def marked(asker) -> None:
    """Wait until everything asked for before has been answered."""
    asker.answer(asker.score([1, 2], 1, 1))


def test_only_the_newest_evaluation_is_answered_after_a_burst(slow) -> None:
    numbers = [slow.evaluate([1, *range(10, 10 + n)]) for n in range(100, 140)]
    reply = slow.answer(numbers[-1])
    assert isinstance(reply, Evaluated)
    assert len(reply.prompt_ids) == 140
    seen = len(slow.replies.all)
    marked(slow)
    late = [r for r in slow.replies.all[seen:] if r.number in numbers]
    assert late == []
    answered = [r.number for r in slow.replies.all if isinstance(r, Evaluated)]
    assert answered == sorted(answered)


def test_channels_do_not_replace_each_other(slow) -> None:
    live = slow.evaluate([1] * 30)
    inspect = slow.evaluate([1] * 20, channel=Channel.INSPECT)
    text = slow.tokenize("a")
    marked(slow)
    for number, kind in ((live, Evaluated), (inspect, Evaluated), (text, Tokenized)):
        assert [type(r) for r in slow.replies.of(number)] == [kind]


def test_quick_questions_do_not_replace_each_other(slow) -> None:
    numbers = [slow.tokenize("abc" * n) for n in range(100)]
    slow.answer(numbers[-1])
    for n, number in enumerate(numbers):
        (reply,) = slow.replies.of(number)
        assert isinstance(reply, Tokenized)
        assert (len(reply.ids) == 0) == (n == 0)


def test_a_replaced_generation_ends_before_the_newer_one_begins(slow) -> None:
    old = slow.generate([1, 70], GREEDY, 10_000)
    slow.replies.until(lambda r: isinstance(r, Stepped) and r.number == old)
    new = slow.generate([1, 71], GREEDY, 3)
    slow.answer(new)
    mine = [r for r in slow.replies.all if r.number in (old, new) and not isinstance(r, Progress)]
    ending = mine.index(Finished(old, Ending.CANCELLED))
    assert all(r.number == old for r in mine[:ending])
    assert [type(r) for r in mine[ending + 1 :]] == [Stepped, Stepped, Stepped, Finished]


def test_queued_generations_that_were_replaced_are_closed_too(slow) -> None:
    slow.evaluate([1, *range(300, 400)])
    numbers = [slow.generate([1, 70], GREEDY, 3) for _ in range(10)]
    slow.answer(numbers[-1])
    for number in numbers[:-1]:
        assert slow.replies.of(number) == [Finished(number, Ending.CANCELLED)]


def test_a_cancelled_generation_keeps_its_steps(slow) -> None:
    number = slow.generate([1, 70], GREEDY, 10_000)
    for _ in range(3):
        slow.replies.until(lambda r: isinstance(r, Stepped))
    slow.cancel(number)
    assert slow.answer(number) == Finished(number, Ending.CANCELLED)
    steps = slow.replies.of(number)[:-1]
    assert [r.position for r in steps] == list(range(2, 2 + len(steps)))
    assert 3 <= len(steps) < 10_000
    slow.evaluated()


def test_a_prefill_stops_when_cancelled(slow) -> None:
    # 100 s of prefill if it is not stopped.
    number = slow.evaluate([1] * 50_000)
    slow.replies.until(lambda r: isinstance(r, Progress) and r.number == number)
    slow.cancel(number)
    assert slow.answer(number) == Finished(number, Ending.CANCELLED)


def test_a_load_stops_when_cancelled(client) -> None:
    number = client.load("fake:load_ms=60000")
    client.replies.until(lambda r: isinstance(r, Progress))
    client.cancel(number)
    assert client.answer(number) == Finished(number, Ending.CANCELLED)
    client.loaded("fake:")
    client.evaluated()


def test_cancel_of_a_channel_spares_the_others(slow) -> None:
    generate = slow.generate([1, 70], GREEDY, 10_000)
    score = slow.score([1] * 30, 1, 30)
    slow.cancel_channel(Channel.GENERATE)
    assert slow.answer(score) == Finished(score, Ending.DONE)
    assert slow.replies.of(generate)[-1] == Finished(generate, Ending.CANCELLED)


def test_cancelling_what_has_ended_changes_nothing(slow) -> None:
    done = slow.answer(slow.evaluate([1, 2, 3]))
    slow.cancel(done.number)
    slow.cancel(10**9)
    # 64 requests on, the same flag belongs to a request that nobody cancelled.
    for _ in range(63):
        assert isinstance(slow.answer(slow.tokenize("a")), Tokenized)
    reply = slow.answer(slow.evaluate([1, 2, 3, 4]))
    assert reply.number == done.number + 64
    assert isinstance(reply, Evaluated)


def gathered(asker, number: int) -> tuple[np.ndarray, ...]:
    chunks = [r for r in asker.replies.of(number) if isinstance(r, Scored)]
    covered = [c.start + np.arange(len(c.rank)) for c in chunks]
    names = ("log_probability", "rank", "entropy", "logit", "top_ids", "top_log_probability")
    return (
        np.concatenate(covered),
        *(np.concatenate([getattr(c, name) for c in chunks]) for name in names),
    )


def test_scoring_gives_way_and_resumes_with_the_same_numbers(slow) -> None:
    ids = [1, *(np.arange(400) % 700 + 270).tolist()]
    plain = slow.score(ids, 1, len(ids))
    assert slow.answer(plain).ending is Ending.DONE

    score = slow.score(ids, 1, len(ids))
    urgent = []
    for length in (3, 5, 7):
        slow.replies.until(lambda r: isinstance(r, Scored) and r.number == score)
        urgent.append(slow.evaluate([1] * length, channel=Channel.INSPECT))
        assert isinstance(slow.answer(urgent[-1]), Evaluated)
    generate = slow.generate([1, 70], GREEDY, 3)
    assert slow.answer(generate).ending is Ending.LENGTH
    assert Finished(score, Ending.DONE) not in slow.replies.all
    assert slow.answer(score) == Finished(score, Ending.DONE)

    done = [r.done for r in slow.replies.all if isinstance(r, Progress) and r.number == score]
    assert done == sorted(done)
    np.testing.assert_array_equal(gathered(slow, score)[0], np.arange(1, len(ids)))
    for ours, theirs in zip(gathered(slow, score), gathered(slow, plain), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_paused_scoring_can_be_cancelled_and_replaced(slow) -> None:
    ids = [1] * 400
    first = slow.score(ids, 1, 400)
    slow.replies.until(lambda r: isinstance(r, Scored) and r.number == first)
    generate = slow.generate([1, 70], GREEDY, 10_000)
    slow.replies.until(lambda r: isinstance(r, Stepped) and r.number == generate)
    second = slow.score(ids, 1, 10)
    slow.cancel(generate)
    assert slow.answer(second) == Finished(second, Ending.DONE)
    of_first = [slow.replies.all.index(r) for r in slow.replies.of(first)]
    of_second = [slow.replies.all.index(r) for r in slow.replies.of(second)]
    assert slow.replies.all[of_first[-1]] == Finished(first, Ending.CANCELLED)
    assert max(of_first) < min(of_second)


def test_a_look_elsewhere_does_not_wait_for_a_generation(slow) -> None:
    ids = (1, 70)
    quiet = slow.generate(ids, GREEDY, 200)
    assert slow.answer(quiet).ending is Ending.LENGTH

    number = slow.generate(ids, GREEDY, 200)
    for _ in range(5):
        slow.replies.until(lambda r: isinstance(r, Stepped))
        assert isinstance(slow.answer(slow.evaluate([1], channel=Channel.INSPECT)), Evaluated)
        assert isinstance(slow.answer(slow.tokenize("abc")), Tokenized)
    assert slow.answer(number).ending is Ending.LENGTH

    def chosen(n: int) -> list[int]:
        return [r.step.token_id for r in slow.replies.of(n) if isinstance(r, Stepped)]

    assert chosen(number) == chosen(quiet)
