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
    at: datetime | None = None
