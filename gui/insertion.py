"""Putting a text behind the path as tokens: ask for its ids, score them, append them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import QObject

from logitscope.backends.messages import Finished, Reply, Scored, Tokenized
from logitscope.document import Document
from logitscope.gui.engine import Engine
from logitscope.placed import placed_steps
from logitscope.steps import Origin, StepRecord
from logitscope.surprisal import TokenNumbers

Arrived = Callable[[tuple[StepRecord, ...]], None]


class Insertion(QObject):
    """One text at a time; a newer one replaces it, and so does any change of the ids."""

    def __init__(self, engine: Engine, document: Document, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine = engine
        self._document = document
        self._arrived: Arrived | None = None
        self._before: tuple[int, ...] = ()
        self._ids: tuple[int, ...] = ()
        self._chunks: list[Scored] = []
        self._number = 0
        engine.replied.connect(self._take)

    @property
    def is_running(self) -> bool:
        """A text was asked for and its numbers are on their way."""
        return self._arrived is not None

    def ask(self, text: str, arrived: Arrived) -> None:
        """Call ``arrived`` with the records of the text's tokens behind the present ids."""
        self._arrived = arrived
        self._before = self._document.ids
        self._number = self._engine.tokenize(text)

    def forget(self) -> None:
        self._arrived = None
        self._number = 0

    def _take(self, reply: Reply) -> None:
        if self._arrived is None or reply.number != self._number:
            return
        match reply:
            case Tokenized():
                self._score(reply.ids)
            case Scored():
                self._chunks.append(reply)
            case Finished():
                self._finish()

    def _score(self, ids: tuple[int, ...]) -> None:
        self._ids, self._chunks = ids, []
        if ids and self._before:
            start = len(self._before)
            whole = self._before + ids
            self._number = self._engine.score(whole, start, len(whole))
        else:
            self.forget()

    def _finish(self) -> None:
        arrived = self._arrived
        self.forget()
        scored = sum(len(chunk.rank) for chunk in self._chunks)
        if arrived is None or scored != len(self._ids) or self._document.ids != self._before:
            return
        names = TokenNumbers.__dataclass_fields__
        numbers = TokenNumbers(
            **{name: np.concatenate([getattr(c, name) for c in self._chunks]) for name in names}
        )
        arrived(placed_steps(self._ids, numbers, Origin.INSERTED))
