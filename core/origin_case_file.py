"""Cases for ``logitscope origin``: JSON, or JSON Lines with one case a line."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

MAX_TOKENS = 32
_FIELDS = ("sources", "frame", "answer", "max_tokens")


class CaseError(ValueError):
    """``str()`` is a sentence: what is wrong with a case."""


@dataclass(frozen=True, slots=True)
class TextCase:
    """A case as it is written down; the prompt is the sources and the frame, end to end."""

    sources: tuple[str, ...]
    frame: str
    answer: str | None
    """None: what the model writes greedily."""
    max_tokens: int = MAX_TOKENS

    @property
    def prompt(self) -> str:
        return "".join((*self.sources, self.frame))

    @property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        """Characters of the prompt that each source takes."""
        made, at = [], 0
        for source in self.sources:
            made.append((at, at + len(source)))
            at += len(source)
        return tuple(made)


def read_cases(text: str) -> tuple[TextCase | CaseError, ...]:
    """The cases of a text: one JSON object, or one on each line.

    What is wrong with one line stands in its place, for the others can be worked out all the
    same. Raises CaseError where there is nothing else.
    """
    if not text.strip():
        raise CaseError("there is no case: write a JSON object with sources and frame")
    try:
        return (_case(json.loads(text)),)
    except json.JSONDecodeError as error:
        whole = error
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) == 1 or lines[0].strip() == "{":
        raise CaseError(f"this is no JSON ({whole})")
    found = tuple(map(_line, lines))
    if isinstance(found[0], CaseError) and not any(isinstance(each, TextCase) for each in found):
        raise CaseError(f"case 1: {found[0]}")
    return found


def _line(line: str) -> TextCase | CaseError:
    try:
        return _case(json.loads(line))
    except json.JSONDecodeError as error:
        return CaseError(f"this is no JSON ({error})")
    except CaseError as error:
        return error


def _case(value: Any) -> TextCase:
    if not isinstance(value, dict):
        raise CaseError("a case is a JSON object with sources and frame")
    unknown = [f'"{name}"' for name in value if name not in _FIELDS]
    if unknown:
        there = f"{', '.join(_FIELDS[:-1])} and {_FIELDS[-1]}"
        raise CaseError(f"a case has no field {', '.join(unknown)}: it has {there}")
    sources, frame = value.get("sources", []), value.get("frame")
    answer, most = value.get("answer"), value.get("max_tokens", MAX_TOKENS)
    if not isinstance(sources, list) or not all(isinstance(each, str) for each in sources):
        raise CaseError("sources is a list of texts")
    if frame is None:
        raise CaseError('a case has a frame, the text behind the sources: "" if there is none')
    for number, source in enumerate(sources, 1):
        if not source.strip():
            lacks = "holds nothing but blanks" if source else "is empty"
            raise CaseError(f"source {number} {lacks}: write a text, or leave it out")
    if not isinstance(frame, str) or not isinstance(answer, str | None):
        raise CaseError("frame and answer are texts")
    if answer == "":
        raise CaseError("the answer is empty: write one, or leave it out to have one generated")
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        raise CaseError("max_tokens is a whole number above 0")
    return TextCase(tuple(sources), frame, answer, most)
