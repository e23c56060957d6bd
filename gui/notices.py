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
    is_about_text: bool = False
    """The text as it is could not be read, or was not; with another one this is over."""
    is_about_room: bool = False
    """The context holds no further token; with a shorter text this is over."""


PUT_ASIDE = Notice(
    "The continuations were another model's tokens and were put aside: "
    "load that model and undo to have them again."
)
CONTEXT_FULL = Notice(
    "The context is full: shorten the prompt or load with a longer context.", is_about_room=True
)
LOADING_STOPPED = Notice("Loading was stopped; your text is as it was.", can_load_again=True)
READING_STOPPED = Notice(
    "Reading the prompt was stopped: change it or step to go on.", is_about_text=True
)
NOTHING_TO_CONTINUE = Notice("Nothing to continue: type a prompt first.")


@dataclass(frozen=True, slots=True)
class PassCost:
    """What the last evaluation cost."""

    cached: int
    evaluated: int
    seconds: float
    kv_bytes: int
