"""Undo for the document: a command is two states and a name."""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import IntEnum
from typing import cast

from PySide6.QtCore import QObject
from PySide6.QtGui import QUndoCommand, QUndoStack

from logitscope.document import State

Restore = Callable[[State], None]

UNDO_LIMIT = 1000
MERGE_SECONDS = 1.0
"""A pause of a second in typing or dragging starts a new undo step."""


class Kind(IntEnum):
    """Changes of one kind that follow each other closely are undone together."""

    OTHER = -1
    TYPING = 1
    SETTINGS = 2


class Change(QUndoCommand):
    """From one state to another.

    ``after`` may still grow while the change is going on: a run of many tokens is one change.
    """

    def __init__(self, title: str, before: State, after: State, restore: Restore) -> None:
        super().__init__(title)
        self.before = before
        self.after = after
        self.kind = Kind.OTHER
        self.merges = False
        self._restore = restore
        self._is_applied = True

    def id(self) -> int:
        return int(self.kind)

    def redo(self) -> None:
        if self._is_applied:
            self._is_applied = False
            return
        self._restore(self.after)

    def undo(self) -> None:
        self._restore(self.before)

    def mergeWith(self, other: QUndoCommand) -> bool:
        if not isinstance(other, Change) or not other.merges:
            return False
        self.after = other.after
        return True


class History(QObject):
    """The undo stack of one document."""

    def __init__(self, restore: Restore, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.stack = QUndoStack(self)
        self.stack.setUndoLimit(UNDO_LIMIT)
        self._restore = restore
        self._last_kind = Kind.OTHER
        self._last_time = 0.0

    def push(self, title: str, before: State, after: State, kind: Kind = Kind.OTHER) -> Change:
        """Record a change that has already been made; returns what undoes it."""
        now = time.monotonic()
        change = Change(title, before, after, self._restore)
        change.kind = kind
        change.merges = self._last_kind is kind and now - self._last_time < MERGE_SECONDS
        self._last_kind, self._last_time = kind, now
        self.stack.push(change)
        # It may have become a part of the one before.
        return cast(Change, self.stack.command(self.stack.index() - 1))

    def start_new_step(self) -> None:
        """Let the next change stand for itself."""
        self._last_kind = Kind.OTHER
