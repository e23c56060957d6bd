"""What the session has to say: a sentence for the person, and what a pass cost."""

from __future__ import annotations

from dataclasses import dataclass

from logitscope.backends.messages import Failed
from logitscope.gui.message import Topic


@dataclass(frozen=True, slots=True)
class Notice:
    """One sentence for the person; ``detail`` is for "copy details"."""

    sentence: str
    detail: str = ""
    is_bug: bool = False
    can_load_again: bool = False
    """The model is gone or was not waited for: loading it once more can help."""
    blames_model: bool = False
    """Its numbers are of no use: another model is what helps."""
    is_told_already: bool = False
    """The session asks a model that it has: it died meanwhile, which has its own notice."""
    topic: Topic = Topic.OTHER
    """What has to change for this to be over."""


PUT_ASIDE = Notice(
    "The continuations were another model's tokens and were put aside: "
    "load that model and undo to have them again."
)
CONTEXT_FULL = Notice(
    "The context is full: shorten the prompt or load with a longer context.", topic=Topic.ROOM
)
LOADING_STOPPED = Notice("Loading was stopped; your text is as it was.", can_load_again=True)
READING_STOPPED = Notice(
    "Reading the prompt was stopped: change it or step to go on.", topic=Topic.TEXT
)
NOTHING_TO_CONTINUE = Notice("Nothing to continue: type a prompt first.")


def of_failure(reply: Failed, *, is_about_text: bool) -> Notice:
    """Why the model process could not do what it was asked for."""
    topic = Topic.TEXT if is_about_text else Topic.OTHER
    return Notice(
        reply.sentence,
        reply.detail,
        is_bug=not reply.expected,
        blames_model=reply.blames_model,
        is_told_already=reply.no_model,
        topic=topic,
    )


@dataclass(frozen=True, slots=True)
class PassCost:
    """What the last evaluation cost."""

    cached: int
    evaluated: int
    seconds: float
    kv_bytes: int
