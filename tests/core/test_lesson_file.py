"""Files of lessons and examples: what is wrong is told in one sentence, with its place."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import resources
from typing import Any

import pytest

from logitscope import example_file, lesson_file
from logitscope.document import Block
from logitscope.lesson_parts import LessonFileError

Data = dict[str, Any]


def packaged(name: str) -> Data:
    file = resources.files("logitscope.resources") / name
    data: Data = json.loads(file.read_text("utf-8"))
    return data


def put(path: str, value: object) -> Callable[[Data], None]:
    """A change of one place, named by keys and indices with points between them."""

    def change(data: Any) -> None:
        *way, last = path.split(".")
        for key in way:
            data = data[int(key) if key.isdigit() else key]
        data[int(last) if last.isdigit() else last] = value

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (put("format", "other"), '"format": "logitscope-lesson"'),
        (put("version", 2), "version 2"),
        (put("steps", []), "0 steps"),
        (put("title", ""), 'a text "title"'),
        (put("extra", 1), '"extra"'),
        (put("steps.0.setup.blocks", []), "at least one block"),
        (put("steps.0.setup.settings", {"top_p": 3}), "top_p must be between 0 and 1"),
        (put("steps.0.setup.settings", {"hot": 3}), "step 1, setup: the settings are wrong"),
        (put("steps.0.checks.0.name", "guessed"), 'nothing here is called "guessed"'),
        (put("steps.0.checks.0", {"name": "view"}), 'needs "shows"'),
        (put("steps.0.checks.0.shows", 4), '"shows" cannot be 4'),
        (put("steps.0.checks", []), '"task" and "checks" together'),
        (put("steps.0.result", "{unknown}"), "speaks of {unknown}"),
        (put("steps.0.result", "{open"), "a brace is not closed"),
        (put("steps.0.numbers.p.show", "roman"), 'shown as "roman"'),
        (put("steps.0.numbers.p.rank", "first"), "\"rank\" cannot be 'first'"),
        (put("steps.1.prediction.choices.0.below", "x"), "\"below\" must be a number, not 'x'"),
        (put("steps.1.prediction.choices", [{"text": "one"}]), "at least two choices"),
        (put("steps.8.checkpoint.tolerance", -1), 'a "tolerance" of 0 or more'),
        (put("steps.8.checkpoint", None), "checkpoint must be an object"),
    ],
)
def test_what_is_wrong_with_a_lesson_is_told(change: Callable[[Data], None], words: str) -> None:
    data = packaged("lessons/1-distribution.json")
    lesson_file.loads(json.dumps(data))
    change(data)
    with pytest.raises(LessonFileError) as caught:
        lesson_file.loads(json.dumps(data), "one.json")
    sentence = str(caught.value)
    assert words in sentence
    assert sentence.startswith("one.json")
    assert sentence.endswith((".", '".')) and "\n" not in sentence


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000, " " * (1 << 20) + "{}"])
def test_what_is_no_lesson_is_refused(text: str) -> None:
    with pytest.raises(LessonFileError):
        lesson_file.loads(text)


def test_two_examples_of_one_name_are_refused() -> None:
    data = packaged("examples.json")
    data["examples"].append(data["examples"][0])
    with pytest.raises(LessonFileError, match="two examples"):
        example_file.loads(json.dumps(data))


def test_the_prompts_of_the_lessons_and_a_dozen_more_are_examples() -> None:
    file = resources.files("logitscope.resources") / "examples.json"
    examples = example_file.loads(file.read_text("utf-8"))
    used = {tuple(block.text for block in one.setup.blocks) for one in examples}
    asked: set[tuple[str, ...]] = set()
    for path in (resources.files("logitscope.resources") / "lessons").iterdir():
        lesson = lesson_file.loads(path.read_text("utf-8"), path.name)
        asked |= {tuple(b.text for b in s.setup.blocks) for s in lesson.steps if s.setup}
    checkpoint_of_loss = ("The capital of France is Paris.",)
    assert asked - used == {checkpoint_of_loss}
    assert len(used - asked) >= 12


def test_an_example_knows_its_sources() -> None:
    file = resources.files("logitscope.resources") / "examples.json"
    policy = next(e for e in example_file.loads(file.read_text("utf-8")) if e.id == "policy")
    rule, question = policy.setup.state().blocks
    assert rule == Block(
        "Policy: items in category C-40 may be returned within 45 days.\n", is_source=True
    )
    assert not question.is_source
