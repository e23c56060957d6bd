"""Which row of logits is on show, and asking the model for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from logitscope.backends.base import ChatMessage
from logitscope.backends.messages import Channel, Evaluated, PromptText, RowRef
from logitscope.document import Document
from logitscope.gui.engine import Engine
from logitscope.gui.shown import RowShelf, ShownRow
from logitscope.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Inspected:
    """A row of a text that is not the document: behind ``ids``, where ``next_id`` stands."""

    ids: tuple[int, ...]
    next_id: int | None


class Viewer(QObject):
    """The selected position and the row that belongs to it."""

    row_changed = Signal()
    ids_arrived = Signal()
    """The model's ids for the prompt are known."""
    trouble_changed = Signal()

    def __init__(self, engine: Engine, document: Document, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine = engine
        self._document = document
        self._live_number = 0
        self._when_ready: Callable[[], None] | None = None
        self.shelf = RowShelf()
        self.selected: int | None = None
        self.inspected: Inspected | None = None
        """A row of another text on show, until the document or the selection changes."""
        self.vocabulary: Vocabulary | None = None
        """Of the loaded model; without one nothing is asked."""
        self.context_length = 0
        """Most ids that the loaded model reads at once."""
        self.is_waiting_for_ids = False
        self._trouble = ""

    @property
    def position(self) -> int:
        end = len(self._document.ids)
        return end if self.selected is None else min(self.selected, end)

    @property
    def row_is_current(self) -> bool:
        """The row on show belongs to the selected position, not to an earlier state."""
        row, position = self.shelf.current, self.position
        if row is None or len(row.ids) != position:
            return False
        return row.ids == self._document.ids[:position]

    @property
    def _wanted(self) -> tuple[int, ...]:
        """Ids of the row that is to be shown."""
        if self.inspected is not None:
            return self.inspected.ids
        return self._document.ids[: self.position]

    @property
    def is_reading(self) -> bool:
        """The ids of the prompt are on their way, and nobody has stopped it."""
        return self.is_waiting_for_ids and not self._trouble

    @property
    def live_number(self) -> int:
        """Number of the newest request for the row behind the text; 0 where it was in vain."""
        return self._live_number

    @property
    def trouble(self) -> str:
        """Why the model does not read the text: one sentence. "" while it does, or has."""
        return self._trouble

    @property
    def is_beyond_context(self) -> bool:
        """The tokens before the selected position are more than the model reads at once."""
        return self.vocabulary is not None and self.position > self.context_length

    def select(self, position: int | None) -> bool:
        """Choose a position; False if it was chosen already. None follows the end."""
        if position is not None:
            position = max(1, position)
            if position >= len(self._document.ids):
                position = None
        if position == self.selected and self.inspected is None:
            return False
        self.selected = position
        return True

    def when_ready(self, action: Callable[[], None]) -> None:
        """Do this as soon as the ids of the prompt are known; the newest wish wins.

        Where reading the prompt was stopped, or has failed, the model is asked again.
        """
        if not self.is_waiting_for_ids:
            action()
            return
        if self._live_number == 0:
            self.evaluate_text()
        self._when_ready = action

    def forget_wishes(self) -> None:
        self._when_ready = None

    # -- asking -----------------------------------------------------------------------------

    def expect_ids(self) -> None:
        """Another text is to be read; until the model has answered for it no ids are known."""
        self.is_waiting_for_ids = self.vocabulary is not None
        self._set_trouble("")

    def evaluate_text(self) -> None:
        """Let the model read the prompt as it is now written."""
        if self.vocabulary is None:
            return
        state = self._document.state
        if not state.text and not self._bos_goes_in_front(self.vocabulary):
            self._document.set_prompt_ids(())
            self._ids_are_known()
            self.show(None)
            return
        self.expect_ids()
        messages = tuple(ChatMessage(block.role, block.text) for block in state.blocks)
        prompt = PromptText(messages, state.chat, state.add_special, state.parse_special)
        self._live_number = self._engine.evaluate(prompt, self._document.tail_ids)

    def look(self) -> None:
        """Show the row of the selected position, asking for it where it is not at hand.

        Until it arrives the old one stays on show, and ``row_is_current`` is False. Behind the
        context there is none.
        """
        self.inspected = None
        if not self.is_waiting_for_ids:
            self._set_trouble("")
        wanted = self._document.ids[: self.position]
        row = self.shelf.get(wanted)
        if row is not None or not wanted or self.is_beyond_context:
            self.show(row)
        elif self.vocabulary is not None and not self.is_waiting_for_ids:
            self._ask_for(wanted)

    def inspect(self, ids: tuple[int, ...], next_id: int | None) -> None:
        """Show the row behind any ids, whatever the document is."""
        if self.vocabulary is None or not ids:
            return
        self.inspected = Inspected(ids, next_id)
        row = self.shelf.get(ids)
        if row is not None:
            self.show(row)
        else:
            self._engine.evaluate(ids, channel=Channel.INSPECT)

    def show(self, row: ShownRow | None) -> None:
        if row is not self.shelf.current:
            self.shelf.current = row
            self.row_changed.emit()

    def fetch(self, ids: tuple[int, ...], ref: RowRef) -> ShownRow | None:
        """Take a row out of the shared memory; None where a newer one stands there."""
        logits = self._engine.row(ref)
        return None if logits is None else self.shelf.put(ids, logits)

    def adopt(self, vocabulary: Vocabulary, context_length: int) -> None:
        """A model is there; until it has read the prompt the ids may be another one's."""
        self.vocabulary = vocabulary
        self.context_length = context_length
        self.expect_ids()

    def forget(self) -> None:
        """The model is gone."""
        self.vocabulary = None
        self.inspected = None
        self._live_number = 0
        self.is_waiting_for_ids = False
        self._when_ready = None
        self._set_trouble("")
        self.shelf.clear()
        self.show(None)

    # -- answers ----------------------------------------------------------------------------

    def take(self, reply: Evaluated) -> None:
        if reply.channel is Channel.LIVE:
            if reply.number != self._live_number:
                return
            self._document.set_prompt_ids(reply.prompt_ids)
            self._ids_are_known()
        row = self.fetch(reply.prompt_ids + reply.tail, reply.row)
        if row is not None and row.ids == self._wanted:
            self.show(row)
        elif self.inspected is None and (
            reply.channel is Channel.LIVE or self.selected is not None
        ):
            # The text has changed behind its prompt while that was read (two quick undos), or a
            # position is selected, whose row a model that was loaded again owes.
            self.look()
        self._fulfil_wish()

    def take_failure(
        self, number: int, sentence: str, prompt_ids: tuple[int, ...] | None = None
    ) -> bool:
        """The request failed or was cancelled; False where it was not the newest of the prompt.

        Ids that were waited for stay unknown until the prompt changes or ``when_ready`` asks, and
        so long ``trouble`` is the sentence; but those of a text that is merely too long are known.
        """
        if number != self._live_number:
            return False
        self._live_number = 0
        self._when_ready = None
        if prompt_ids is None:
            self._set_trouble(sentence)
            self.show(None)
        else:
            self._document.set_prompt_ids(prompt_ids)
            self._ids_are_known()
            self.look()
        return True

    def _ask_for(self, wanted: tuple[int, ...]) -> None:
        if self.selected is None:
            state = self._document.state
            self._live_number = self._engine.evaluate(state.prompt_ids, self._document.tail_ids)
        else:
            self._engine.evaluate(wanted, channel=Channel.INSPECT)

    def _bos_goes_in_front(self, vocabulary: Vocabulary) -> bool:
        state = self._document.state
        return state.chat or (
            state.add_special and vocabulary.adds_bos and vocabulary.bos is not None
        )

    def _ids_are_known(self) -> None:
        self.is_waiting_for_ids = False
        self._set_trouble("")
        self.ids_arrived.emit()

    def _set_trouble(self, sentence: str) -> None:
        if sentence != self._trouble:
            self._trouble = sentence
            self.trouble_changed.emit()

    def _fulfil_wish(self) -> None:
        wish, self._when_ready = self._when_ready, None
        if wish is not None:
            wish()
