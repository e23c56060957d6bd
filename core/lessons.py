"""A lesson as it goes on: which step, what was predicted, whether it was done and came true."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from logitscope.lesson_checks import CHECKS
from logitscope.lesson_file import STEPS, Checkpoint, Lesson, LiveNumber, Step
from logitscope.lesson_moment import Moment
from logitscope.lesson_numbers import NUMBERS
from logitscope.lesson_parts import Setup
from logitscope.lesson_row_numbers import Value


def value_of(number: LiveNumber, start: Moment, now: Moment) -> Value:
    """The number at the present moment, or at the step's beginning; None where not known."""
    function = NUMBERS[number.call.name]
    if "start" in inspect.signature(function).parameters:
        return function(now, start, **number.call.parameters)
    moment = start if number.is_before else now
    return function(moment, **number.call.parameters)


@dataclass(frozen=True, slots=True)
class Verdict:
    """How an answer to a checkpoint compares with the model's own number."""

    given: float
    truth: float
    is_right: bool


class LessonRun:
    """One person in one lesson. It looks at moments and never changes the document."""

    def __init__(self, lesson: Lesson, index: int = 0) -> None:
        self.lesson = lesson
        self.enter(index)

    # -- where ------------------------------------------------------------------------------

    @property
    def step(self) -> Step:
        return self.lesson.steps[self.index]

    @property
    def is_last(self) -> bool:
        return self.index == len(self.lesson.steps) - 1

    def enter(self, index: int) -> None:
        """Begin a step from its start. Raises IndexError beyond the lesson."""
        if not 0 <= index < len(self.lesson.steps):
            raise IndexError(f"the lesson has no step {index + 1}")
        self.index = index
        self.start = Moment()
        """The moment from which the step counts what the person does."""
        self.now = Moment()
        self.chosen: int | None = None
        self.is_done = False
        self.verdict: Verdict | None = None
        self._has_begun = False

    @property
    def setup(self) -> Setup:
        """The document that the present step works on: its own, or the last one before it."""
        own = [s.setup for s in self.lesson.steps[: self.index + 1] if s.setup is not None]
        return own[-1]

    # -- doing ------------------------------------------------------------------------------

    @property
    def awaits_prediction(self) -> bool:
        return self.step.prediction is not None and self.chosen is None

    def predict(self, choice: int) -> None:
        """Pick what will come; what is done counts from now on. The first pick stays."""
        prediction = self.step.prediction
        if prediction is None or self.chosen is not None:
            return
        if not 0 <= choice < len(prediction.choices):
            raise IndexError(f"there is no choice {choice + 1}")
        self.chosen = choice
        self.observe(self.now)

    def observe(self, moment: Moment) -> None:
        """Look at the document as it is now; what was done stays done."""
        if self.awaits_prediction or (not self._has_begun and not moment.is_settled):
            self.now = moment
            return
        if not self._has_begun:
            self._has_begun = True
            self.start = moment
        if self.step.checkpoint is not None:
            self.now = moment
        elif moment.is_settled and self._holds(moment):
            self.now, self.is_done = moment, True
        elif not self.is_done:
            self.now = moment

    def answer(self, given: float) -> Verdict | None:
        """Compare with the live number; None while that is not known."""
        checkpoint = self.step.checkpoint
        if checkpoint is None:
            return None
        truth = value_of(checkpoint.number, self.start, self.now)
        if truth is None or isinstance(truth, str):
            return None
        self.verdict = Verdict(given, truth, is_close(checkpoint, given, truth))
        self.is_done = self.is_done or self.verdict.is_right
        return self.verdict

    # -- reading ----------------------------------------------------------------------------

    def came_true(self) -> int | None:
        """The choice that is true of the model; None where its numbers are not known."""
        prediction = self.step.prediction
        if prediction is None or not self.is_done:
            return None
        for index, choice in enumerate(prediction.choices):
            if choice.number is None:
                if choice.is_right:
                    return index
                continue
            value = value_of(choice.number, self.start, self.now)
            if isinstance(value, float | int) and choice.least <= value < choice.below:
                return index
        return None

    def values(self) -> dict[str, tuple[Value, str]]:
        """Name in the texts -> (value, how it is shown)."""
        return {
            name: (value_of(number, self.start, self.now), number.shown_as)
            for name, number in self.step.numbers.items()
        }

    def _holds(self, moment: Moment) -> bool:
        return all(
            CHECKS[check.name](self.start, moment, **check.parameters) for check in self.step.checks
        )


def is_close(checkpoint: Checkpoint, given: float, truth: float) -> bool:
    """Whether an answer is right. A number that is shown in percent is answered in percent."""
    if checkpoint.number.shown_as == "percent":
        given /= 100.0
    allowed = checkpoint.tolerance * (abs(truth) if checkpoint.is_relative else 1.0)
    # Rounding of the bound itself must not decide.
    return math.isfinite(given) and abs(given - truth) <= allowed * (1 + 1e-9)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far somebody came, by lesson. A step that was skipped is behind, but not done."""

    done: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """Indices of the steps that were done; all of them means the lesson is finished."""
    behind: Mapping[str, int] = field(default_factory=dict)
    """Steps done or skipped, counted from the first."""

    def of(self, lesson: Lesson) -> int:
        """Steps done of a lesson."""
        return len(self.done.get(lesson.id, frozenset()) & set(range(len(lesson.steps))))

    def is_finished(self, lesson: Lesson) -> bool:
        return self.of(lesson) == len(lesson.steps)

    def has_begun(self, lesson: Lesson) -> bool:
        return self.behind.get(lesson.id, 0) > 0

    def next_step(self, lesson: Lesson) -> int:
        """Where to go on: behind the last step; at the end, the first one that was skipped."""
        behind = self.behind.get(lesson.id, 0)
        if behind < len(lesson.steps):
            return behind
        done = self.done.get(lesson.id, frozenset())
        return next((index for index in range(len(lesson.steps)) if index not in done), 0)

    def with_step(self, lesson: Lesson, index: int, *, is_done: bool) -> Progress:
        """One more step behind; going back takes nothing away."""
        done = self.done.get(lesson.id, frozenset()) | ({index} if is_done else set())
        behind = max(index + 1, self.behind.get(lesson.id, 0))
        return Progress({**self.done, lesson.id: done}, {**self.behind, lesson.id: behind})

    def dumps(self) -> str:
        stored = {
            name: {"behind": behind, "done": sorted(self.done.get(name, ()))}
            for name, behind in self.behind.items()
        }
        return json.dumps(stored, sort_keys=True)

    @staticmethod
    def loads(text: str) -> Progress:
        """What was stored; nothing where that cannot be read. A bare number is of a version that
        took skipped steps for done."""
        try:
            stored = json.loads(text or "{}")
        except ValueError:
            stored = {}
        done: dict[str, frozenset[int]] = {}
        behind: dict[str, int] = {}
        for name, value in stored.items() if isinstance(stored, dict) else ():
            if isinstance(value, int):
                done[name], behind[name] = frozenset(range(min(value, STEPS[-1]))), max(value, 0)
            elif _is_progress(value):
                done[name], behind[name] = frozenset(value["done"]), value["behind"]
        return Progress(done, behind)


def _is_progress(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    behind, done = value.get("behind"), value.get("done")
    if not isinstance(behind, int) or behind < 0 or not isinstance(done, list):
        return False
    return all(isinstance(index, int) for index in done)
