"""Undo for the document: a command is two states and a name."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtGui import QUndoCommand

from logitscope.document import State

Restore = Callable[[State], None]

TYPING = 1
SETTINGS = 2


class Change(QUndoCommand):
    """From one state to another.

    ``after`` may still grow while the change is going on (a run of many tokens is one change).
    Changes of the same ``kind`` that follow each other closely are merged: a burst of typing, a
    drag of a slider.
    """

    def __init__(
        self, title: str, before: State, after: State, restore: Restore, kind: int, merges: bool
    ) -> None:
        super().__init__(title)
        self.before = before
        self.after = after
        self._restore = restore
        self._kind = kind
        self._merges = merges
        self._is_applied = True

    def id(self) -> int:
        return self._kind

    def redo(self) -> None:
        if self._is_applied:
            self._is_applied = False
            return
        self._restore(self.after)

    def undo(self) -> None:
        self._is_applied = False
        self._restore(self.before)

    def mergeWith(self, other: QUndoCommand) -> bool:
        if not isinstance(other, Change) or not other._merges:
            return False
        self.after = other.after
        return True
