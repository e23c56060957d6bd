"""A lesson's way through predictions, checks and the checkpoint, on moments made by hand."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from importlib import resources
from typing import Any

import numpy as np
import pytest

from logitscope import lesson_file, lesson_row_numbers, lesson_text_numbers
from logitscope.distribution import Distribution
from logitscope.document import Block, State
from logitscope.lesson_file import Lesson
from logitscope.lesson_moment import Moment
from logitscope.lessons import LessonRun, Progress, value_of
from logitscope.sampling import SamplerSettings, shape
from logitscope.steps import Draw, Origin, StepRecord
from logitscope.vocabulary import TokenKind, Vocabulary

LN = np.log(np.array([0.5, 0.25, 0.125, 0.125], dtype=np.float64)).astype(np.float32)
"""Four tokens with these probabilities."""


def moment(temperature: float = 1.0, **more: Any) -> Moment:
    settings = SamplerSettings(temperature=temperature)
    state = State(blocks=(Block("The sky is"),), settings=settings, prompt_ids=(1, 2))
    made = Moment(
        state=state, distribution=Distribution(LN), shaped=shape(LN, settings, ()), position=2
    )
    return replace(made, **more)


def step(token: int = 1, p: float = 0.25, origin: Origin = Origin.SAMPLED) -> StepRecord:
    draw = Draw(0.6, 0.5, 0.75) if origin is Origin.SAMPLED else None
    return StepRecord(token, origin, math.log(p), token + 1, 1.0, p, draw, (0,), (-0.7,), 0.0)


def lesson(*steps: dict[str, Any]) -> Lesson:
    """The given steps, then trivial ones, then a checkpoint."""
    setup = {"blocks": [{"text": "The sky is"}]}
    filler = {"title": "t", "text": "x", "task": "do", "checks": [{"name": "stepped"}]}
    end = {
        "title": "t", "text": "x",
        "checkpoint": {
            "question": "?", "tolerance": 0.01,
            "number": {"name": "at_temperature", "temperature": 0.5, "show": "percent"},
        },
    }  # fmt: skip
    all_steps = [dict(one) for one in (*steps, *[filler] * (5 - len(steps)), end)]
    all_steps[0]["setup"] = setup
    whole = {
        "format": "logitscope-lesson", "version": 1, "id": "one", "title": "t", "summary": "s",
        "minutes": 3, "steps": all_steps,
    }  # fmt: skip
    return lesson_file.loads(json.dumps(whole))


PREDICTED = {
    "title": "t",
    "text": "x",
    "task": "drag",
    "checks": [{"name": "temperature", "least": 1.5}],
    "prediction": {
        "question": "?",
        "choices": [
            {"text": "low", "number": {"name": "shaped_probability"}, "below": 0.45},
            {"text": "high", "number": {"name": "shaped_probability"}, "least": 0.45},
        ],
    },
    "result": "{p}",
    "numbers": {
        "p": {"name": "shaped_probability", "show": "percent"},
        "was": {"name": "shaped_probability", "before": True},
    },
}


def test_what_is_done_before_the_prediction_does_not_count() -> None:
    run = LessonRun(lesson(PREDICTED))
    run.observe(moment(temperature=1.5))
    assert run.awaits_prediction and not run.is_done
    run.observe(moment(temperature=1.0))
    run.predict(1)
    assert not run.is_done
    run.observe(moment(temperature=2.0))
    assert run.is_done


def test_the_truth_of_a_prediction_is_the_models_number() -> None:
    run = LessonRun(lesson(PREDICTED))
    run.observe(moment())
    run.predict(1)
    run.observe(moment(temperature=2.0))
    # Square roots of the probabilities, over their sum.
    exact = math.sqrt(0.5) / (math.sqrt(0.5) + math.sqrt(0.25) + 2 * math.sqrt(0.125))
    assert exact < 0.45
    assert run.chosen == 1
    assert run.came_true() == 0
    assert run.values()["p"][0] == pytest.approx(exact, rel=1e-6)
    assert run.values()["was"][0] == pytest.approx(0.5, rel=1e-6)


def test_a_pick_stays_and_what_is_done_stays_done() -> None:
    run = LessonRun(lesson(PREDICTED))
    run.observe(moment())
    run.predict(0)
    run.predict(1)
    assert run.chosen == 0
    run.observe(moment(temperature=1.6))
    run.observe(moment(temperature=0.3))
    assert run.is_done
    assert run.now.settings.temperature == 1.6


def test_a_step_begins_only_with_a_row() -> None:
    run = LessonRun(lesson({**PREDICTED, "prediction": PREDICTED["prediction"]}))
    run.observe(Moment())
    run.predict(0)
    run.observe(moment(temperature=2.0, is_running=True))
    assert not run.is_done
    run.observe(moment(temperature=1.0))
    run.observe(moment(temperature=2.0))
    assert run.values()["was"][0] == pytest.approx(0.5, rel=1e-6)


def test_steps_count_from_the_beginning_of_the_step() -> None:
    run = LessonRun(lesson())
    old = (step(),)
    run.observe(moment(path=old))
    assert not run.is_done
    run.observe(moment(path=(*old, step(2))))
    assert run.is_done


@pytest.mark.parametrize(
    ("given", "is_right"), [("72.7", True), ("73.7", True), ("73.8", False), ("0.727", False)]
)
def test_the_checkpoint_is_answered_in_the_unit_it_is_shown_in(given: str, is_right: bool) -> None:
    run = LessonRun(lesson(), 5)
    run.observe(moment())
    verdict = run.answer(float(given))
    # Squares over their sum: 0.25 / (0.25 + 0.0625 + 2 * 0.015625) = 8 / 11 is T = 0.5 of these.
    assert verdict is not None
    assert verdict.truth == pytest.approx(8 / 11, rel=1e-6)
    assert verdict.is_right is is_right
    assert run.is_done is is_right


def test_without_a_row_there_is_nothing_to_compare_with() -> None:
    run = LessonRun(lesson(), 5)
    assert run.answer(50.0) is None
    assert not run.is_done


def test_the_chance_of_what_is_said_leaves_out_what_is_not_quoted() -> None:
    pieces, kinds = [b"45", b" days", b".", b"</s>"], [0, 0, 0, TokenKind.CONTROL]
    words = Vocabulary.from_pieces(pieces, kinds, bos=None, eos=3)
    path = (step(0, 0.9), step(1, 0.8), step(2, 0.5), step(3, 0.25))
    now = moment(vocabulary=words, path=path)
    assert now.generated == "45 days."
    assert lesson_text_numbers.said_probability(now) == pytest.approx(0.9 * 0.8 * 0.5, rel=1e-12)
    assert lesson_text_numbers.said_probability(moment(vocabulary=words, path=path[3:])) is None


def test_the_setup_of_a_step_is_the_last_one_before_it() -> None:
    run = LessonRun(lesson(), 4)
    assert run.setup.blocks == (Block("The sky is"),)


def test_progress_only_grows_and_survives_storing() -> None:
    one = lesson()
    progress = Progress()
    for index in (0, 1, 2, 0):
        progress = progress.with_step(one, index, is_done=True)
    again = Progress.loads(progress.dumps())
    assert again == progress
    assert (again.of(one), again.next_step(one)) == (3, 3)
    for index in (3, 4, 5):
        assert not again.is_finished(one)
        again = again.with_step(one, index, is_done=True)
    assert again.is_finished(one)
    assert again.next_step(one) == 0


def test_a_skipped_step_is_behind_but_not_done() -> None:
    one = lesson()
    progress = Progress()
    for index in range(6):
        progress = progress.with_step(one, index, is_done=index != 2)
        assert progress.next_step(one) == (index + 1 if index < 5 else 2)
    assert progress.of(one) == 5
    assert not progress.is_finished(one)
    assert progress.with_step(one, 2, is_done=True).is_finished(one)
    skipped = Progress().with_step(one, 0, is_done=False)
    assert skipped.of(one) == 0
    assert skipped.has_begun(one) and not Progress().has_begun(one)


def test_progress_of_an_older_version_is_read() -> None:
    one = lesson()
    progress = Progress.loads('{"one": 4}')
    assert (progress.of(one), progress.next_step(one)) == (4, 4)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "[1]",
        '{"one": "two"}',
        '{"one": -1}',
        '{"one": {}}',
        '{"one": {"behind": 2, "done": ["x"]}}',
    ],
)
def test_progress_that_cannot_be_read_is_none(text: str) -> None:
    assert Progress.loads(text).of(lesson()) == 0


# -- the packaged ones ----------------------------------------------------------------------------


def packaged() -> list[Lesson]:
    folder = resources.files("logitscope.resources") / "lessons"
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".json")), key=lambda f: f.name)
    return [lesson_file.loads(f.read_text("utf-8"), f.name) for f in files]


def test_there_are_four_lessons_of_six_to_ten_steps() -> None:
    assert [len(one.steps) in range(6, 11) for one in packaged()] == [True] * 4
    assert len({one.id for one in packaged()}) == 4


def test_how_sure_the_model_is_here_is_judged_where_the_step_began() -> None:
    """The step that is asked for moves on to a row with a sharper first choice."""
    run = LessonRun(next(one for one in packaged() if one.id == "origin"))
    run.observe(moment())
    run.predict(1)
    sharp = np.log(np.array([0.01, 0.97, 0.01, 0.01], dtype=np.float64)).astype(np.float32)
    run.observe(moment(path=(step(0, 0.5),), distribution=Distribution(sharp), position=3))
    assert run.is_done
    assert run.came_true() == 1
    assert run.values()["p"][0] == pytest.approx(0.5, rel=1e-6)


def test_every_question_about_the_present_row_is_judged_where_the_step_began() -> None:
    """What the person does meanwhile may put another row on show."""
    asked = []
    for one in packaged():
        for part in one.steps:
            choices = part.prediction.choices if part.prediction else ()
            numbers = [choice.number for choice in choices]
            numbers.append(part.checkpoint.number if part.checkpoint else None)
            asked += [n for n in numbers if n and hasattr(lesson_row_numbers, n.call.name)]
    assert len(asked) >= 13
    assert all(number.is_before for number in asked)


def test_every_number_of_every_lesson_can_be_asked_of_any_moment() -> None:
    """Unknown is None and never an exception: the document may be anything at any time."""
    moments = (Moment(), moment(), moment(path=(step(), step(2, 0.01, Origin.FORCED))))
    asked = 0
    for one in packaged():
        for part in one.steps:
            for number in part.numbers.values():
                for now in moments:
                    value = value_of(number, moments[0], now)
                    assert value is None or isinstance(value, float | int | str)
                    asked += 1
    assert asked > 100
