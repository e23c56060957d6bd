"""The model process dies, hangs or fails at any place; the client says so and goes on."""

from __future__ import annotations

import os
import signal
import time

import pytest

from logitscope.backends.base import ChatMessage
from logitscope.backends.death import death_sentence
from logitscope.backends.messages import (
    Died,
    Ending,
    Evaluated,
    Failed,
    Finished,
    Loaded,
    Progress,
    PromptText,
    Stepped,
)
from logitscope.sampling import SamplerSettings

GREEDY = SamplerSettings(temperature=0)


def provoke(client, phase: str, settings: str):
    """Load and do what meets the accident; returns the number and its closing reply."""
    number = client.load(f"fake:{settings}")
    if phase == "load":
        return number, client.answer(number)
    assert isinstance(client.answer(number), Loaded)
    if phase == "prefill":
        number = client.evaluate([1, 70, 71])
    else:
        number = client.generate([1, 70, 71], GREEDY, 10)
    return number, client.answer(number)


@pytest.mark.parametrize("phase", ["load", "prefill", "decode"])
@pytest.mark.parametrize(("accident", "name"), [("abort", "SIGABRT"), ("crash", "SIGSEGV")])
def test_a_crash_is_told_and_a_reload_works(client, phase, accident, name) -> None:
    number, reply = provoke(client, phase, f"{accident}={phase}")
    assert isinstance(reply, Died)
    assert reply.number == number
    assert name in reply.sentence
    # Loading the same file again would end the same way; anything else can be tried again.
    assert ("load it again" in reply.sentence) is (phase != "load")
    assert ("probably damaged" in reply.sentence) is (phase == "load")
    assert reply.sentence.startswith(f"fake:{accident}=load ") is (phase == "load")
    assert f"fake: about to {accident} in {phase}" in reply.detail
    # The traceback of faulthandler: where the library was called.
    assert "fake_accidents.py" in reply.detail
    client.loaded("fake:")
    client.evaluated()


@pytest.mark.parametrize("phase", ["load", "prefill", "decode"])
@pytest.mark.parametrize(("accident", "expected"), [("fail", True), ("bug", False)])
def test_an_exception_is_told_and_the_process_goes_on(client, phase, accident, expected) -> None:
    number, reply = provoke(client, phase, f"{accident}={phase}")
    assert isinstance(reply, Failed)
    assert (reply.number, reply.expected) == (number, expected)
    assert phase in reply.sentence
    assert ("RuntimeError" in reply.detail) is not expected
    if phase == "load":
        client.loaded("fake:")
        client.evaluated()
    else:
        answer = client.answer(client.tokenize("still here"))
        assert not isinstance(answer, (Died, Failed))


def test_steps_before_an_exception_are_kept(client) -> None:
    client.loaded("fake:fail=decode,after=3")
    number = client.generate([1, 70, 71], GREEDY, 10)
    assert isinstance(client.answer(number), Failed)
    # The prefill gives the first row, three decodes three more.
    assert len([r for r in client.replies.of(number) if isinstance(r, Stepped)]) == 4


@pytest.mark.parametrize("accident", ["hang", "freeze"])
@pytest.mark.parametrize("phase", ["load", "prefill", "decode"])
def test_a_hang_is_ended_after_the_grace(client, watch_end, phase, accident) -> None:
    number = client.load(f"fake:{accident}={phase}")
    if phase != "load":
        assert isinstance(client.answer(number), Loaded)
        number = client.evaluate([1, 70]) if phase == "prefill" else client.evaluate([1])
    # The fake model reports its progress and then hangs.
    client.replies.until(lambda r: isinstance(r, Progress) and r.number == number)
    ended = watch_end(client.pid)
    client.cancel(number)
    client.stop_hard(grace=0.3)
    reply = client.answer(number)
    assert isinstance(reply, Died)
    assert reply.number == number
    assert "did not stop within 0.3 seconds" in reply.sentence
    assert ended.within(1)
    client.loaded("fake:")
    client.evaluated()


def test_stop_hard_spares_a_process_that_stops(client) -> None:
    client.loaded("fake:decode_ms=1,context=100000")
    number = client.generate([1, 70], GREEDY, 50_000)
    client.replies.until(lambda r: isinstance(r, Stepped))
    pid = client.pid
    client.stop_hard(grace=0.5)
    reply = client.answer(number)
    assert reply == Finished(number, Ending.CANCELLED)
    # The timer of the grace has run out when this is answered.
    client.answer(client.generate([1, 70], GREEDY, 600))
    client.evaluated()
    assert client.pid == pid
    assert not [r for r in client.replies.all if isinstance(r, Died)]


@pytest.mark.parametrize("accident", ["hang=load", "freeze=load", "hang=prefill", "freeze=prefill"])
def test_close_ends_a_hang_within_a_second(client, watch_end, accident) -> None:
    number = client.load(f"fake:{accident}")
    if "prefill" in accident:
        client.answer(number)
        number = client.evaluate([1, 70, 71])
    client.replies.until(lambda r: isinstance(r, Progress) and r.number == number)
    ended = watch_end(client.pid)
    started = time.monotonic()
    client.close()
    assert ended.within(0)
    assert time.monotonic() - started < 1


def test_a_hung_process_does_not_block_new_requests_or_a_load(client) -> None:
    client.loaded("fake:freeze=prefill")
    client.evaluate([1, 70, 71])
    started = time.monotonic()
    # More than any pipe holds, and more requests than there are cancel flags.
    for _ in range(200):
        client.evaluate([1] * 4000)
    numbers = [client.tokenize("x" * 10_000) for _ in range(100)]
    assert time.monotonic() - started < 2
    client.loaded("fake:")
    client.evaluated()
    for number in numbers:
        assert client.replies.of(number) == [Finished(number, Ending.CANCELLED)]


@pytest.mark.parametrize("busy", [True, False])
def test_killed_from_outside(client, busy) -> None:
    client.loaded("fake:decode_ms=5,context=100000")
    number = 0
    if busy:
        number = client.generate([1, 70], GREEDY, 50_000)
        client.replies.until(lambda r: isinstance(r, Stepped))
    os.kill(client.pid, signal.SIGKILL)
    reply = client.replies.until(lambda r: isinstance(r, Died))
    assert reply.number == number
    assert "killed" in reply.sentence
    assert "memory" in reply.sentence
    client.loaded("fake:")
    client.evaluated()


def test_rows_of_a_dead_process_can_still_be_read(client) -> None:
    client.loaded("fake:abort=decode")
    first = client.answer(client.evaluate([1, 70, 71]))
    row = client.row(first.row)
    assert isinstance(client.answer(client.evaluate([1, 70, 71, 72])), Died)
    assert row is not None
    assert (client.row(first.row) == row).all()


def test_a_request_after_a_death_fails_and_does_not_wait(client) -> None:
    client.loaded("fake:abort=prefill")
    assert isinstance(client.answer(client.evaluate([1, 70])), Died)
    number = client.evaluate([1, 70])
    assert isinstance(client.answer(number), Failed)


@pytest.mark.parametrize("template", ["loop", "stuck"])
def test_a_template_without_end_is_stopped(client, template) -> None:
    client.loaded(f"fake:template={template}")
    chat = PromptText((ChatMessage("user", "Hi"),), chat=True)
    reply = client.answer(client.evaluate(chat))
    assert "template did not end" in reply.sentence
    if template == "loop":
        assert isinstance(reply, Failed)
        assert reply.expected
    else:
        assert isinstance(reply, Died)
        client.loaded("fake:")
    assert isinstance(client.answer(client.evaluate([1, 70])), Evaluated)


@pytest.mark.parametrize("template", ["error", "none"])
def test_a_template_that_fails_is_a_sentence(client, template) -> None:
    client.loaded(f"fake:template={template}")
    chat = PromptText((ChatMessage("user", "Hi"),), chat=True)
    reply = client.answer(client.evaluate(chat))
    assert isinstance(reply, Failed)
    assert reply.expected
    assert "template" in reply.sentence


@pytest.mark.parametrize(
    ("exit_code", "words"),
    [
        (-signal.SIGKILL, "lack of memory"),
        (-signal.SIGTERM, "killed from outside"),
        (-signal.SIGBUS, "crashed"),
        (-signal.SIGUSR1, "SIGUSR1"),
        (-250, "signal 250"),
        (3, "exit code 3"),
        (None, "ended by itself"),
    ],
)
def test_an_exit_code_is_told_in_words(exit_code, words) -> None:
    sentence = death_sentence(exit_code, "working", "", "/models/some.gguf")
    assert words in sentence
    assert "load it again" in sentence


@pytest.mark.parametrize("number", [signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE])
def test_a_file_that_crashes_its_library_is_named(number) -> None:
    sentence = death_sentence(-number, "loading", "", "/models/some.GGUF")
    assert sentence == (
        f"some.GGUF made llama.cpp crash while loading ({number.name}): it is probably damaged, or "
        "made for another version of llama.cpp; get it again or choose another model."
    )
    folder = death_sentence(-number, "loading", "", "/models/folder")
    assert folder.startswith("folder made the model library crash")
    assert "llama.cpp" not in folder


@pytest.mark.parametrize(
    ("exit_code", "words"),
    [(-signal.SIGKILL, "lack of memory"), (-signal.SIGILL, "SIGILL"), (3, "exit code 3")],
)
def test_what_is_no_fault_of_the_file_keeps_its_advice(exit_code, words) -> None:
    sentence = death_sentence(exit_code, "loading", "", "/models/some.gguf")
    assert words in sentence
    assert "load it again" in sentence
    assert "damaged" not in sentence
