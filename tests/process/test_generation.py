"""The generation loop, in this process, over rows that are made for the test."""

from __future__ import annotations

import os
import queue
import secrets
import threading

import numpy as np
import pytest

from logitscope.backends import generation
from logitscope.backends.base import NO_PASS, BackendError, Cancelled
from logitscope.backends.generation import Generation, Made, StepWriter, choose
from logitscope.backends.messages import Ending, Generate, Stepped
from logitscope.backends.rows import RowRing
from logitscope.sampling import Choice, SamplerSettings, draw, shape
from logitscope.vocabulary import TokenKind, Vocabulary

PIECES = [b"<bos>", b"<eos>", b"a", b"b", b" st", b"op", b"\xe4\xb8", b"\xad", b"stop it", b"x"]
KINDS = [TokenKind.CONTROL] * 2 + [TokenKind.NORMAL] * 8
VOCABULARY = Vocabulary.from_pieces(PIECES, KINDS, bos=0, eos=1, end_ids=frozenset({1}))
GREEDY = SamplerSettings(temperature=0)


@pytest.fixture
def ring():
    made = RowRing.create(f"lgs-{os.getpid()}-{secrets.token_hex(4)}", 64, len(PIECES))
    yield made
    made.unlink()
    made.close()


@pytest.fixture(params=[True, False], ids=["a core is free", "none is free"])
def run(request, ring):
    """Run a request over a script of ids which the model prefers one after the other."""

    def go(script, *, start=(0,), context=1000, next_row=None, between=lambda: None, **options):
        asked = []

        def scripted(ids):
            asked.append(list(ids))
            row = np.zeros(len(PIECES), dtype=np.float32)
            row[script[min(len(asked), len(script)) - 1]] = 5
            return row

        options = {"settings": GREEDY, "max_tokens": 20} | options
        steps = []
        asked_for = Generate(number=7, ids=tuple(start), **options)
        made = Generation(
            asked_for, VOCABULARY, context, ring, steps.extend, has_free_core=request.param
        )
        try:
            finished = made.run(next_row or scripted, between)
        except BackendError as error:
            finished = error
        rows = {s.position: ring.copy(s.row) for s in steps if s.row is not None}
        return [s.step.token_id for s in steps], finished, steps, rows, asked

    return go


def test_length(run) -> None:
    ids, finished, steps, rows, asked = run([2, 3, 2, 9], max_tokens=3)
    assert ids == [2, 3, 2]
    assert [s.position for s in steps] == [1, 2, 3]
    assert (finished.ending, finished.position) == (Ending.LENGTH, 4)
    # One pass a token and one for the row behind the last.
    assert asked == [[0], [0, 2], [0, 2, 3], [0, 2, 3, 2]]
    chosen = {position: int(row.argmax()) for position, row in rows.items()}
    # The newest of each message has its row, and the last is the newest of one.
    assert chosen.items() <= {1: 2, 2: 3, 3: 2}.items()
    assert 3 in chosen


@pytest.mark.parametrize("has_free_core", [True, False])
def test_the_first_step_is_told_at_once_with_its_row(ring, has_free_core) -> None:
    """The second row is not given before it."""
    told = threading.Event()
    sent: list[Stepped] = []

    def send(steps):
        sent.extend(steps)
        told.set()

    def next_row(ids):
        assert len(ids) == 1 or told.wait(20)
        return np.arange(10, dtype=np.float32)

    request = Generate(number=7, ids=(0,), settings=GREEDY, max_tokens=3)
    run = Generation(request, VOCABULARY, 1000, ring, send, has_free_core=has_free_core)
    run.run(next_row, lambda: None)
    assert [step.position for step in sent] == [1, 2, 3]
    assert sent[0].row is not None
    assert sent[-1].row is not None


def test_where_no_core_is_free_steps_are_told_together(ring, monkeypatch) -> None:
    """The first at once, then ten times a second: to be told wakes the window, which takes a
    core."""
    now = [100.0]
    monkeypatch.setattr(generation.time, "monotonic", lambda: now[0])
    sent: list[list[Stepped]] = []

    def next_row(ids):
        now[0] += 0.03
        return np.arange(10, dtype=np.float32)

    run = Generation(
        Generate(number=7, ids=(0,), settings=GREEDY, max_tokens=9),
        VOCABULARY,
        1000,
        ring,
        lambda steps: sent.append(list(steps)),
        has_free_core=False,
    )
    run.run(next_row, lambda: None)
    assert [[s.position for s in steps] for steps in sent] == [[1], [2, 3, 4, 5], [6, 7, 8, 9]]
    of_rows = [[s.position for s in steps if s.row is not None] for steps in sent]
    assert of_rows == [[1], [5], [9]]


def test_where_a_core_is_free_a_step_does_not_wait_for_the_next(ring) -> None:
    sent: queue.Queue[list[int]] = queue.Queue()
    writer = StepWriter(
        7, ring, lambda steps: sent.put([step.position for step in steps]), apart=True
    )
    told = []
    for position in (1, 2):
        row = np.arange(10, dtype=np.float32)
        writer.put(Made(position, row, Choice(9, 1.0, None), 0.01, NO_PASS))
        told.append(sent.get(timeout=20))
    writer.finish()
    assert told == [[1], [2]]


def test_no_tokens_gives_the_row_alone(run) -> None:
    ids, finished, *_, asked = run([2], max_tokens=0)
    assert (ids, finished.ending, finished.position) == ([], Ending.LENGTH, 1)
    assert asked == [[0]]


def test_end_token_is_kept(run) -> None:
    ids, finished, *_ = run([2, 1, 3])
    assert (ids, finished.ending, finished.position) == ([2, 1], Ending.END_TOKEN, 3)


def test_end_token_can_be_ignored(run) -> None:
    ids, finished, *_ = run([2, 1, 3, 2], ignore_end=True, max_tokens=4)
    assert (ids, finished.ending) == ([2, 1, 3, 2], Ending.LENGTH)


def test_context_full(run) -> None:
    ids, finished, *_ = run([2, 3, 2, 3], context=3)
    assert (ids, finished.ending, finished.position) == ([2, 3], Ending.CONTEXT_FULL, 3)


@pytest.mark.parametrize(
    ("stops", "start", "script", "expected"),
    [
        (("stop",), (0,), [2, 4, 5, 2, 2], [2, 4, 5]),  # " st" + "op"
        (("中",), (0,), [2, 6, 7, 2, 2], [2, 6, 7]),  # inside of one character
        (("top",), (0,), [2, 8, 2, 2, 2], [2, 8]),  # inside of one token
        (("zzz", "bb"), (0,), [3, 2, 3, 3, 2], [3, 2, 3, 3]),  # the second of two
        (("stop",), (0, 4), [5, 2, 4, 5, 2], [5]),  # begun before this request
        (("ab", "zzzzzz"), (0, 2, 3), [9, 9, 9, 9, 2], [9, 9, 9, 9, 2]),  # stopped at before
        (("a", "zzzzzz"), (0, 2), [1, 9, 9, 9, 9], [1, 9, 9, 9, 9]),  # a mark adds no text
        (("", "ab"), (0,), [2, 3, 2, 2, 2], [2, 3]),  # an empty text stops nothing
        (("<eos>",), (0,), [1, 2, 2, 2, 2], [1, 2, 2, 2, 2]),  # a mark is no text
    ],
)
def test_stop_texts_are_found_over_the_borders_of_tokens(run, stops, start, script, expected):
    ids, finished, *_ = run(
        script, start=start, prompt_length=1, stop_texts=stops, max_tokens=5, ignore_end=True
    )
    assert ids == expected
    stopped = len(expected) < 5
    assert (finished.ending is Ending.STOP_TEXT) == stopped
    assert finished.position == len(start) + len(expected)


def test_a_stop_text_in_the_prompt_does_not_stop(run) -> None:
    ids, finished, *_ = run(
        [5, 2, 2], start=(0, 8, 4), prompt_length=3, stop_texts=("stop",), max_tokens=3
    )
    # "op" completes "st" of the prompt: not a match behind the prompt.
    assert (ids, finished.ending) == ([5, 2, 2], Ending.LENGTH)


def test_cancel_keeps_what_was_generated(run) -> None:
    calls = []

    def between() -> None:
        calls.append(1)
        if len(calls) == 3:
            raise Cancelled

    ids, finished, *_ = run([2, 3, 2, 3], between=between)
    assert (ids, finished.ending, finished.row) == ([2, 3, 2], Ending.CANCELLED, None)


def test_an_error_comes_after_the_steps(run) -> None:
    def next_row(ids):
        if len(ids) == 3:
            raise BackendError("The library gave up.")
        return np.arange(10, dtype=np.float32)

    ids, error, *_ = run([], next_row=next_row)
    assert ids == [9, 9]
    assert str(error) == "The library gave up."


def test_an_error_in_the_numbers_reaches_the_caller(run) -> None:
    def next_row(_ids):
        row = np.zeros(10, dtype=np.float32)
        row[3] = np.nan
        return row

    with pytest.raises(ValueError, match="NaN"):
        run([], next_row=next_row)


@pytest.mark.parametrize("has_free_core", [True, False])
def test_an_error_on_the_way_to_the_window_reaches_the_caller(ring, has_free_core) -> None:
    def send(_steps):
        raise BrokenPipeError("nobody reads")

    request = Generate(number=7, ids=(0,), settings=GREEDY, max_tokens=50)
    run = Generation(request, VOCABULARY, 1000, ring, send, has_free_core=has_free_core)
    with pytest.raises(BrokenPipeError, match="nobody reads"):
        run.run(lambda _ids: np.arange(10, dtype=np.float32), lambda: None)


@pytest.mark.parametrize("has_free_core", [True, False])
def test_no_more_rows_wait_for_their_numbers_than_their_bound(
    ring, monkeypatch, has_free_core
) -> None:
    row = np.arange(10, dtype=np.float32)
    monkeypatch.setattr(generation, "_HELD_BYTES", 3 * row.nbytes)
    sent: list[int] = []
    request = Generate(number=7, ids=(0,), settings=GREEDY, max_tokens=500)
    run = Generation(
        request,
        VOCABULARY,
        1000,
        ring,
        lambda steps: sent.append(len(steps)),
        has_free_core=has_free_core,
    )
    run.run(lambda _ids: row, lambda: None)
    assert (sum(sent), max(sent)) == (500, 3)


@pytest.mark.parametrize(
    "settings",
    [
        GREEDY,
        SamplerSettings(temperature=0, repetition_penalty=1.5),
        SamplerSettings(temperature=0.7, top_k=5, seed=3),
        SamplerSettings(seed=12),
    ],
)
def test_a_choice_is_what_the_sampler_chain_gives(settings) -> None:
    generator = np.random.default_rng(4)
    for position in range(1, 30):
        # Few different values: ties happen.
        row = generator.integers(0, 4, 50).astype(np.float32)
        ids = generator.integers(0, 50, position).tolist()
        expected = draw(shape(row, settings, ids), settings.seed, position)
        assert choose(row, settings, ids) == expected
