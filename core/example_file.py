"""Examples as data: documents to try, each with its sources, settings and panels (version 1)."""

from __future__ import annotations

from dataclasses import dataclass

from logitscope import lesson_parts as parts
from logitscope.lesson_parts import LessonFileError, Setup

VERSION = 1


@dataclass(frozen=True, slots=True)
class Example:
    id: str
    group: str
    """Under which heading it stands in the menu."""
    title: str
    tip: str
    """One sentence: what to look at."""
    setup: Setup


def loads(text: str, name: str = "the examples") -> tuple[Example, ...]:
    """The examples in a JSON text, in their order. Raises LessonFileError."""
    data = parts.only(
        parts.loads(text, "examples", VERSION, name), {"format", "version", "examples"}, name
    )
    examples = tuple(
        _example(one, f"{name}, example {number}")
        for number, one in enumerate(parts.listed(data, "examples", name), start=1)
    )
    ids = [example.id for example in examples]
    twice = sorted({one for one in ids if ids.count(one) > 1})
    if twice:
        raise LessonFileError(f'{name} has two examples "{twice[0]}".')
    return examples


def _example(data: object, place: str) -> Example:
    given = parts.only(data, {"id", "group", "title", "tip", "setup"}, place)
    return Example(
        id=parts.words(given, "id", place),
        group=parts.words(given, "group", place),
        title=parts.words(given, "title", place),
        tip=parts.words(given, "tip", place),
        setup=parts.setup(given.get("setup"), f"{place}, setup"),
    )
