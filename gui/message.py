"""Messages for the person, as records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Severity(StrEnum):
    INFO = "info"
    """Something to know; it goes by itself."""
    PROBLEM = "warning"
    """It stays until something is done about it."""
    BUG = "error"


class Topic(StrEnum):
    MODEL = "model"
    """Opening a model, or one that is gone: settled once another one is on its way."""
    SESSION = "session"
    """The document that was there before: settled once it is replaced again, or saved."""
    UNSAVED = "unsaved"
    """A session that was kept: settled once it is taken, or deleted."""
    TEXT = "text"
    """The text as it is: settled once another one, or the same again, is read."""
    ROOM = "room"
    """The context is full: settled once it is not."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Action:
    """A button on a message."""

    title: str
    call: Callable[[], object]


@dataclass(frozen=True, slots=True)
class Message:
    """What is shown, and kept in the list."""

    sentence: str
    detail: str = ""
    severity: Severity = Severity.INFO
    actions: tuple[Action, ...] = ()
    topic: Topic = Topic.OTHER
    at: datetime | None = None
    number: int = 0
    """Different for each message that was put on show."""
