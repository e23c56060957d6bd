"""The pseudo-path of the fake model: its syntax and its values."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from logitscope.backends.base import ModelFileError

PREFIX = "fake:"
PHASES = ("", "load", "prefill", "decode")
TEMPLATES = ("plain", "none", "error", "loop", "stuck")
ACCIDENTS = ("fail", "bug", "abort", "crash", "hang", "freeze")
SMALLEST_VOCABULARY, LARGEST_VOCABULARY = 300, 1_000_000


@dataclass(frozen=True)
class FakeSettings:
    """See `logitscope.backends.fake` for what each of them does."""

    text: str = PREFIX
    vocab: int = 1000
    seed: int = 1
    context: int = 4096
    decode_ms: float = 0.0
    prefill_ms_per_token: float = 0.0
    load_ms: float = 0.0
    end_after: int = 0
    nan_after: int = 0
    template: str = "plain"
    fail: str = ""
    bug: str = ""
    abort: str = ""
    crash: str = ""
    hang: str = ""
    freeze: str = ""
    sign: str = ""
    after: int = 0

    @classmethod
    def parse(cls, text: str) -> FakeSettings:
        """Read a pseudo-path. Raises ModelFileError that names the setting."""
        types = {field.name: field.type for field in fields(cls) if field.name != "text"}
        values: dict[str, Any] = {}
        for part in filter(None, text.removeprefix(PREFIX).split(",")):
            name, _, value = part.partition("=")
            if name not in types:
                raise ModelFileError(f'The fake model knows no setting "{name}"; see its help.')
            values[name] = _convert(name, str(types[name]), value)
        settings = cls(text=text, **values)
        settings._check()
        return settings

    def _check(self) -> None:
        if not SMALLEST_VOCABULARY <= self.vocab <= LARGEST_VOCABULARY:
            raise ModelFileError(
                f"The fake model has {SMALLEST_VOCABULARY} to {LARGEST_VOCABULARY} tokens, "
                f"not {self.vocab}."
            )
        for accident in ACCIDENTS:
            _check_choice(accident, getattr(self, accident), PHASES)
        _check_choice("template", self.template, TEMPLATES)


def _convert(name: str, kind: str, value: str) -> Any:
    try:
        return {"int": int, "float": float, "str": str}[kind](value)
    except ValueError as error:
        raise ModelFileError(f'The fake model needs a number for {name}, not "{value}".') from error


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ModelFileError(f'The fake model knows no {name}="{value}".')
