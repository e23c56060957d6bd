"""What the session has to say: a sentence for the person, and what a pass cost."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Notice:
    """One sentence for the person; ``detail`` is for "copy details"."""

    sentence: str
    detail: str = ""
    is_bug: bool = False
    can_load_again: bool = False
    """The model is gone or was not waited for: loading it once more can help."""


@dataclass(frozen=True, slots=True)
class PassCost:
    """What the last evaluation cost."""

    cached: int
    evaluated: int
    seconds: float
    kv_bytes: int
