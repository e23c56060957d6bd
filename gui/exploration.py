"""Expanding the tree: one evaluation after the other, each a branch behind the same text."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from logitscope.backends.messages import Channel, Evaluated, Failed, Finished, Reply
from logitscope.beam import Beam
from logitscope.document import Document
from logitscope.gui.engine import Engine


class Exploration(QObject):
    """At most one at a time; it grows the document's tree and leaves the path alone."""

    progressed = Signal(int, int)
    """Evaluations done, and how many there will be at most."""
    grown = Signal()
    ended = Signal()

    def __init__(self, engine: Engine, document: Document, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine = engine
        self._document = document
        self._beam: Beam | None = None
        self._before: tuple[int, ...] = ()
        self._number = 0
        engine.replied.connect(self._take)

    @property
    def is_running(self) -> bool:
        return self._beam is not None

    def start(self, width: int, depth: int, end_ids: frozenset[int]) -> None:
        """Explore behind the current path. Raises ValueError for a tree beyond the budget."""
        document = self._document
        self._beam = Beam(width, depth, document.state.leaf, end_ids, document.attach)
        self._before = document.ids
        self._ask()

    def stop(self) -> None:
        """End it; the branches found so far stay."""
        if self._beam is not None:
            self._engine.cancel(self._number)
            self._end()

    def _ask(self) -> None:
        wanted = self._beam.wanted if self._beam is not None else None
        if wanted is None:
            self._end()
            return
        self._number = self._engine.evaluate(self._before, wanted, channel=Channel.EXPLORE)

    def _take(self, reply: Reply) -> None:
        if self._beam is None or reply.number != self._number:
            return
        match reply:
            case Evaluated():
                self._take_row(reply, self._beam)
            case Failed() | Finished():
                self._end()

    def _take_row(self, reply: Evaluated, beam: Beam) -> None:
        logits = self._engine.row(reply.row)
        if logits is not None:
            beam.take(logits)
            self.progressed.emit(beam.done, beam.total)
            self.grown.emit()
        self._ask()

    def _end(self) -> None:
        self._beam = None
        self._number = 0
        self.ended.emit()
