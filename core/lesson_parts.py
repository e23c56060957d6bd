"""Reading parts of a lesson or example file: every wrong part is one sentence with its place."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from logitscope.document import Block, State
from logitscope.sampling import SamplerSettings

MAX_FILE_BYTES = 1 << 20
Data = Mapping[str, Any]


class LessonFileError(Exception):
    """One sentence: what is wrong with the file, and where."""


@dataclass(frozen=True, slots=True)
class Setup:
    """A document and a view of it: what an example or a step of a lesson puts on the screen."""

    blocks: tuple[Block, ...]
    settings: SamplerSettings
    chat: bool = False
    run: int = 0
    """Tokens to generate at once."""
    panels: tuple[str, ...] = ()
    """Ids of panels to bring into sight."""
    views: tuple[str, ...] = ()
    """What the panels shall show, such as ``tab:how``."""

    def state(self) -> State:
        """A document that nobody has changed yet."""
        return State(blocks=self.blocks, chat=self.chat, settings=self.settings)


@dataclass(frozen=True, slots=True)
class Call:
    """A named function with its keyword parameters."""

    name: str
    parameters: Data = field(default_factory=dict)


def loads(text: str, kind: str, version: int, name: str) -> dict[str, Any]:
    """The JSON object of a file of this format. Raises LessonFileError."""
    if len(text) > MAX_FILE_BYTES:
        raise LessonFileError(f"{name} is larger than 1 MB: it is no {kind} file.")
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise LessonFileError(f"{name} is no JSON ({error}): correct it.") from error
    if not isinstance(whole, dict) or whole.get("format") != f"logitscope-{kind}":
        raise LessonFileError(f'{name} has no "format": "logitscope-{kind}": choose another file.')
    if whole.get("version") != version:
        raise LessonFileError(
            f"{name} is written in version {whole.get('version')}, this Logitscope reads "
            f"version {version}."
        )
    return whole


def words(data: Data, key: str, place: str, default: str | None = None) -> str:
    """A text that is there and not empty, or the default."""
    value = data.get(key, default)
    if not isinstance(value, str) or (not value and default is None):
        raise LessonFileError(f'{place} needs a text "{key}".')
    return value


def number(data: Data, key: str, place: str) -> float | None:
    """A number, or None where there is none."""
    value = data.get(key)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise LessonFileError(f'{place}: "{key}" must be a number, not {value!r}.')
    return value


def listed(data: Data, key: str, place: str) -> list[Any]:
    """A list, empty where there is none."""
    value = data.get(key, [])
    if not isinstance(value, list):
        raise LessonFileError(f'{place}: "{key}" must be a list.')
    return value


def only(data: object, known: set[str], place: str) -> Data:
    """The object itself; LessonFileError where it is none, or has a key that nobody reads."""
    if not isinstance(data, dict):
        raise LessonFileError(f"{place} must be an object in braces.")
    unknown = sorted(set(data) - known)
    if unknown:
        raise LessonFileError(f'{place} has "{unknown[0]}", which means nothing here.')
    return data


_SETUP = {"blocks", "settings", "chat", "run", "panels", "views"}
_BLOCK = {"text", "role", "source"}


def setup(data: object, place: str) -> Setup:
    """A document with its settings and views."""
    given = only(data, _SETUP, place)
    blocks = tuple(_block(one, f"{place}, block") for one in listed(given, "blocks", place))
    if not blocks:
        raise LessonFileError(f'{place} needs at least one block in "blocks".')
    try:
        settings = SamplerSettings(**given.get("settings", {}))
    except (TypeError, ValueError) as error:
        raise LessonFileError(f"{place}: the settings are wrong ({error}).") from error
    run = number(given, "run", place) or 0
    return Setup(
        blocks,
        settings,
        chat=bool(given.get("chat", False)),
        run=int(run),
        panels=tuple(str(one) for one in listed(given, "panels", place)),
        views=tuple(str(one) for one in listed(given, "views", place)),
    )


def _block(data: object, place: str) -> Block:
    given = only(data, _BLOCK, place)
    role = words(given, "role", place, default="user")
    return Block(words(given, "text", place), role, bool(given.get("source", False)))


_KINDS = {"float": (int, float), "int": (int,), "str": (str,), "bool": (bool,)}


def call(
    data: object, table: Mapping[str, Callable[..., object]], place: str, more: set[str]
) -> Call:
    """A function of a table and its parameters; ``more`` are keys that are none of them."""
    if not isinstance(data, dict) or data.get("name") not in table:
        name = data.get("name") if isinstance(data, dict) else data
        raise LessonFileError(f'{place}: nothing here is called "{name}".')
    takes = {
        key: parameter
        for key, parameter in inspect.signature(table[data["name"]]).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }
    given = {key: value for key, value in data.items() if key != "name" and key not in more}
    only(given, set(takes), f'{place}, "{data["name"]}",')
    for key, parameter in takes.items():
        if key not in given:
            if parameter.default is inspect.Parameter.empty:
                raise LessonFileError(f'{place}, "{data["name"]}", needs "{key}".')
        elif not isinstance(given[key], _KINDS[parameter.annotation]):
            raise LessonFileError(f'{place}, "{data["name"]}": "{key}" cannot be {given[key]!r}.')
    return Call(data["name"], given)
