"""Texts to guess at, as data: JSON, version 1."""

from __future__ import annotations

from dataclasses import dataclass

from logitscope import lesson_parts as parts

VERSION = 1


@dataclass(frozen=True, slots=True)
class GuessText:
    title: str
    text: str


def loads(text: str, name: str = "the texts") -> tuple[GuessText, ...]:
    """The texts in a JSON text, in their order. Raises LessonFileError."""
    data = parts.only(
        parts.loads(text, "guess-texts", VERSION, name), {"format", "version", "texts"}, name
    )
    return tuple(
        _text(one, f"{name}, text {number}")
        for number, one in enumerate(parts.listed(data, "texts", name), start=1)
    )


def _text(data: object, place: str) -> GuessText:
    given = parts.only(data, {"title", "text"}, place)
    return GuessText(parts.words(given, "title", place), parts.words(given, "text", place))
