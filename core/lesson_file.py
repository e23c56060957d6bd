"""Lessons as data: JSON files of version 1, read into records and checked.

A lesson has 6 to 10 steps. A step says what to expect (``prediction``, which the person picks
first), what to do (``task`` and the ``checks`` that tell whether it was done) and what came of it
(``result``, with live numbers in braces). The last one is a ``checkpoint``, whose answer is
computed from the loaded model. Texts may hold **bold** and `code`.
"""

from __future__ import annotations

import string
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from logitscope import lesson_parts as parts
from logitscope.lesson_checks import CHECKS
from logitscope.lesson_numbers import NUMBERS
from logitscope.lesson_parts import Call, Data, LessonFileError, Setup

VERSION = 1
STEPS = range(6, 11)
SHOWN_AS = ("plain", "percent", "count", "times", "bytes", "text")


@dataclass(frozen=True, slots=True)
class LiveNumber:
    """A number of the loaded model."""

    call: Call
    shown_as: str
    is_before: bool = False
    """Whether it is that of the moment at which the step began."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer to a prediction. It comes true where its number lies in ``least <= n < below``;
    one without a number is true or false with every model."""

    text: str
    is_right: bool = False
    number: LiveNumber | None = None
    least: float = float("-inf")
    below: float = float("inf")


@dataclass(frozen=True, slots=True)
class Prediction:
    question: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A question whose answer is a live number, right within ``tolerance``."""

    question: str
    number: LiveNumber
    tolerance: float
    is_relative: bool
    """Whether the tolerance is a share of the answer."""


@dataclass(frozen=True, slots=True)
class Step:
    title: str
    text: str
    setup: Setup | None
    prediction: Prediction | None
    task: str
    highlight: str
    """Name of the control meant; "" for none."""
    checks: tuple[Call, ...]
    result: str
    numbers: dict[str, LiveNumber]
    checkpoint: Checkpoint | None


@dataclass(frozen=True, slots=True)
class Lesson:
    id: str
    title: str
    summary: str
    minutes: int
    steps: tuple[Step, ...]


def loads(text: str, name: str = "the lesson") -> Lesson:
    """The lesson in a JSON text. Raises LessonFileError."""
    data = parts.only(
        parts.loads(text, "lesson", VERSION, name),
        {"format", "version", "id", "title", "summary", "minutes", "steps"},
        name,
    )
    steps = tuple(
        _step(one, f"{name}, step {number}")
        for number, one in enumerate(parts.listed(data, "steps", name), start=1)
    )
    if len(steps) not in STEPS:
        raise LessonFileError(f"{name} has {len(steps)} steps: a lesson has 6 to 10.")
    if steps[-1].checkpoint is None:
        raise LessonFileError(f'{name}: the last step needs a "checkpoint".')
    if steps[0].setup is None:
        raise LessonFileError(f'{name}: the first step needs a "setup".')
    return Lesson(
        id=parts.words(data, "id", name),
        title=parts.words(data, "title", name),
        summary=parts.words(data, "summary", name),
        minutes=int(parts.number(data, "minutes", name) or 0),
        steps=steps,
    )


def texts(lesson: Lesson) -> Iterator[str]:
    """Every text of a lesson that a person reads, for translators."""
    yield from (lesson.title, lesson.summary)
    for step in lesson.steps:
        yield from (step.title, step.text, step.task, step.result)
        if step.prediction is not None:
            yield step.prediction.question
            yield from (choice.text for choice in step.prediction.choices)
        if step.checkpoint is not None:
            yield step.checkpoint.question


_STEP = {
    "title", "text", "setup", "prediction", "task", "highlight", "checks", "result", "numbers",
    "checkpoint",
}  # fmt: skip


def _step(data: object, place: str) -> Step:
    given = parts.only(data, _STEP, place)
    numbers = parts.only(given.get("numbers", {}), set(given.get("numbers", {})), place)
    live = {key: _number(one, f'{place}, number "{key}"') for key, one in numbers.items()}
    checks = tuple(
        parts.call(one, CHECKS, f"{place}, check", set())
        for one in parts.listed(given, "checks", place)
    )
    step = Step(
        title=parts.words(given, "title", place),
        text=parts.words(given, "text", place),
        setup=parts.setup(given["setup"], f"{place}, setup") if "setup" in given else None,
        prediction=_prediction(given["prediction"], place) if "prediction" in given else None,
        task=parts.words(given, "task", place, default=""),
        highlight=parts.words(given, "highlight", place, default=""),
        checks=checks,
        result=parts.words(given, "result", place, default=""),
        numbers=live,
        checkpoint=_checkpoint(given["checkpoint"], place) if "checkpoint" in given else None,
    )
    _check_step(step, place)
    return step


def _check_step(step: Step, place: str) -> None:
    if bool(step.task) is not bool(step.checks):
        raise LessonFileError(f'{place} needs "task" and "checks" together, or neither.')
    if step.prediction is None and not step.checks and step.checkpoint is None:
        raise LessonFileError(f"{place} asks nothing: give it a prediction, a task or a question.")
    question = step.checkpoint.question if step.checkpoint is not None else ""
    for text in (step.text, step.task, step.result, question):
        try:
            names = {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}
        except ValueError as error:
            raise LessonFileError(f"{place}: a brace is not closed ({error}).") from error
        missing = sorted(names - set(step.numbers))
        if missing:
            raise LessonFileError(f'{place} speaks of {{{missing[0]}}}, which "numbers" lacks.')


def _number(data: object, place: str) -> LiveNumber:
    call = parts.call(data, NUMBERS, place, {"show", "before"})
    assert isinstance(data, dict)
    shown = parts.words(data, "show", place, default="plain")
    if shown not in SHOWN_AS:
        raise LessonFileError(f'{place} cannot be shown as "{shown}".')
    return LiveNumber(call, shown, bool(data.get("before", False)))


def _prediction(data: object, place: str) -> Prediction:
    given = parts.only(data, {"question", "choices"}, f"{place}, prediction")
    choices = tuple(
        _choice(one, f"{place}, choice") for one in parts.listed(given, "choices", place)
    )
    if len(choices) < 2:
        raise LessonFileError(f"{place}: a prediction needs at least two choices.")
    if not any(choice.is_right or choice.number for choice in choices):
        raise LessonFileError(f"{place}: no choice of the prediction can come true.")
    return Prediction(parts.words(given, "question", place), choices)


def _choice(data: object, place: str) -> Choice:
    given = parts.only(data, {"text", "right", "number", "least", "below"}, place)
    least, below = parts.number(given, "least", place), parts.number(given, "below", place)
    return Choice(
        parts.words(given, "text", place),
        bool(given.get("right", False)),
        _number(given["number"], place) if "number" in given else None,
        float("-inf") if least is None else least,
        float("inf") if below is None else below,
    )


def _checkpoint(data: Any, place: str) -> Checkpoint:
    keys = {"question", "number", "tolerance", "relative"}
    given: Data = parts.only(data, keys, f"{place}, checkpoint")
    tolerance = parts.number(given, "tolerance", place)
    if tolerance is None or tolerance < 0:
        raise LessonFileError(f'{place}: the checkpoint needs a "tolerance" of 0 or more.')
    return Checkpoint(
        parts.words(given, "question", place),
        _number(given.get("number"), f"{place}, checkpoint"),
        tolerance,
        bool(given.get("relative", False)),
    )
