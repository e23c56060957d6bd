"""Where an answer came from, asked over the pipe: replies, giving way, newest wins, cancel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from logitscope.attribution_units import GradientMethod
from logitscope.backends.base import LoadOptions
from logitscope.backends.fake import load
from logitscope.backends.hf import load as load_hf
from logitscope.backends.messages import (
    Channel,
    Ending,
    Evaluated,
    Failed,
    Finished,
    Phase,
    Progress,
    Scored,
    Stepped,
)
from logitscope.backends.origin_messages import Attributed, FreeRun, SecondOpinion, Task
from logitscope.origin_contexts import less
from logitscope.origin_types import Condition, Label, OriginCase, OriginReport, WordOrigin
from logitscope.sampling import SamplerSettings
from logitscope.surprisal import summarise

GREEDY = SamplerSettings(temperature=0)
SLOW = "fake:vocab=1000,seed=5,prefill_ms_per_token=1,decode_ms=1,context=100000"
CASE = OriginCase((1, *range(300, 340)), ((3, 9), (9, 20)), tuple(range(400, 406)))
LONG = OriginCase((1, *range(300, 420)), ((3, 60), (60, 100)), tuple(range(400, 440)))


@pytest.fixture(scope="module")
def slow(new_asker: Callable[[], Any]) -> Iterator[Any]:
    """A client whose model needs 1 ms a token, so that requests meet each other."""
    asker = new_asker()
    asker.loaded(SLOW)
    yield asker
    asker.close()


def reports(asker: Any, number: int) -> list[OriginReport]:
    return [r.report for r in asker.replies.of(number) if isinstance(r, Attributed)]


def labelled(asker: Any, case: OriginCase = CASE) -> OriginReport:
    number = asker.attribute(case, Task.LABELS)
    assert asker.answer(number) == Finished(number, Ending.DONE)
    (report,) = reports(asker, number)
    return report


def test_labels_are_sums_of_the_model_s_own_numbers(slow: Any) -> None:
    """The fake is a pure function of the ids, so a second one gives the expected values."""
    model = load(SLOW, LoadOptions())  # type: ignore[arg-type]
    report = labelled(slow)
    assert report.case == CASE
    assert report.words[0].tokens[0] == 0
    for condition, prompt in (
        (Condition.WITH, list(CASE.prompt_ids)),
        (Condition.DROP, list(less(CASE.prompt_ids, CASE.sources))),
    ):
        logs = []
        for index, token_id in enumerate(CASE.answer_ids):
            row = model.next_logits([*prompt, *CASE.answer_ids[:index]])
            logs.append(summarise(row, token_id).log_probability)
        for word in report.words:
            wanted = sum(logs[slice(*word.tokens)])
            assert word.log_probability[condition] == pytest.approx(wanted, abs=1e-4)


def test_sources_go_on_from_labels_and_come_in_parts(slow: Any) -> None:
    report = labelled(slow)
    number = slow.attribute(CASE, Task.SOURCES, report, words=[0])
    assert slow.answer(number).ending is Ending.DONE
    found = reports(slow, number)
    assert len(found) >= 1
    assert found[-1].words[0].sources is not None
    assert [each.span for each in found[-1].words[0].sources] == [0, 1]
    phases = {r.phase for r in slow.replies.all if isinstance(r, Progress) and r.number == number}
    assert phases == {Phase.ORIGIN}


def test_the_free_answer_is_what_the_model_says_to_the_rest(slow: Any) -> None:
    number = slow.attribute(CASE, Task.FREE, settings=GREEDY)
    slow.answer(number)
    ids = [r.ids for r in slow.replies.of(number) if isinstance(r, FreeRun)]
    assert [len(each) for each in ids] == [1, 2, 3, 4, 5, 6]
    other = slow.generate(less(CASE.prompt_ids, CASE.sources), GREEDY, 6, ignore_end=True)
    slow.answer(other)
    said = [r.step.token_id for r in slow.replies.of(other) if isinstance(r, Stepped)]
    assert list(ids[-1]) == said


def test_a_generation_does_not_wait_for_it(slow: Any) -> None:
    number = slow.attribute(LONG, Task.SOURCES, labelled(slow, LONG), words=range(5))
    slow.replies.until(lambda r: isinstance(r, Progress) and r.number == number)
    generate = slow.generate([1, 70], GREEDY, 5, ignore_end=True)
    assert slow.answer(generate).ending is Ending.LENGTH
    assert isinstance(slow.answer(slow.evaluate([1], channel=Channel.INSPECT)), Evaluated)
    assert not any(isinstance(r, Finished) for r in slow.replies.of(number))
    quiet = slow.answer(number)
    assert quiet == Finished(number, Ending.DONE)
    again = slow.attribute(LONG, Task.SOURCES, labelled(slow, LONG), words=range(5))
    slow.answer(again)
    assert reports(slow, again)[-1] == reports(slow, number)[-1]


def test_scoring_waits_for_it(slow: Any) -> None:
    score = slow.score([1] * 400, 1, 400)
    slow.replies.until(lambda r: isinstance(r, Scored) and r.number == score)
    number = slow.attribute(CASE, Task.LABELS)
    assert slow.answer(number) == Finished(number, Ending.DONE)
    assert Finished(score, Ending.DONE) not in slow.replies.all
    assert slow.answer(score) == Finished(score, Ending.DONE)


def test_the_newest_wins_and_the_old_one_is_closed(slow: Any) -> None:
    old = slow.attribute(LONG, Task.LABELS)
    slow.replies.until(lambda r: isinstance(r, Progress) and r.number == old)
    new = slow.attribute(CASE, Task.LABELS)
    assert slow.answer(old) == Finished(old, Ending.CANCELLED)
    assert slow.answer(new) == Finished(new, Ending.DONE)
    assert reports(slow, old) == []


def test_it_stops_when_cancelled_and_the_model_lives_on(slow: Any) -> None:
    report = labelled(slow, LONG)
    number = slow.attribute(LONG, Task.SOURCES, report, words=range(len(report.words)))
    slow.replies.until(lambda r: isinstance(r, Progress) and r.number == number)
    slow.cancel(number)
    assert slow.answer(number) == Finished(number, Ending.CANCELLED)
    slow.evaluated()


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (OriginCase((1, 2, 3), (), (5,)), "No part"),
        (OriginCase((1, 2, 3), ((0, 3),), (5,)), "All of the prompt"),
    ],
)
def test_a_case_without_anything_to_compare_is_refused(
    slow: Any, case: OriginCase, words: str
) -> None:
    reply = slow.answer(slow.attribute(case, Task.LABELS))
    assert isinstance(reply, Failed)
    assert reply.expected
    assert reply.sentence.startswith(words)
    slow.evaluated()


def test_an_empty_answer_has_no_words(slow: Any) -> None:
    assert labelled(slow, OriginCase(CASE.prompt_ids, CASE.sources, ())).words == ()


def test_labels_name_only_what_was_worked_out(slow: Any) -> None:
    known = {Label.PROMPT, Label.WEIGHTS, Label.UNCERTAIN}
    assert {word.label for word in labelled(slow).words} <= known


def test_a_model_without_gradients_says_so(slow: Any) -> None:
    report = labelled(slow)
    reply = slow.answer(slow.attribute(CASE, Task.GRADIENTS, report, words=[0]))
    assert isinstance(reply, Failed)
    assert reply.expected
    assert "no gradients" in reply.sentence


@pytest.mark.torch
def test_a_second_opinion_adds_up_over_the_tokens_of_a_word(
    new_asker: Callable[[], Any], tiny_hf: Path
) -> None:
    """Integrated gradients are complete: the sum is what the baseline lacks, for each token."""
    pytest.importorskip("torch", reason="the extra `torch` is not installed")
    asker = new_asker()
    try:
        options = LoadOptions(device="cpu", threads=1)
        asker.replies.closing(asker.load(str(tiny_hf), options=options), 120.0)
        case = OriginCase((0, 70, 71, 72, 73), ((1, 3),), (80, 81))
        word = WordOrigin((0, 2), "xy", {})
        known = OriginReport(case, (word,), 0.69)
        number = asker.attribute(
            case, Task.GRADIENTS, known, words=[0], method=GradientMethod.INTEGRATED_GRADIENTS
        )
        assert asker.replies.closing(number, 120.0) == Finished(number, Ending.DONE)
        (found,) = (r for r in asker.replies.of(number) if isinstance(r, SecondOpinion))
        model = load_hf(tiny_hf, options)
        singles = [
            model.attribute(
                [*case.prompt_ids, *case.answer_ids[:place]],
                case.answer_ids[place],
                GradientMethod.INTEGRATED_GRADIENTS,
            ).values[:5]
            for place in range(2)
        ]
        model.close()
        np.testing.assert_allclose(found.values, singles[0] + singles[1], atol=1e-5)
    finally:
        asker.close()
