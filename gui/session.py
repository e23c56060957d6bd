"""The document as the window sees it: signals when it changes, and what the person can do.

Panels read properties and call the methods under "intents"; nothing else changes anything.
``position`` is the index of the predicted token: the row shown for it follows ``ids[:position]``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtGui import QUndoStack

from logitscope import sampling
from logitscope.backends.base import ChatMessage, LoadOptions, ModelInfo
from logitscope.backends.messages import (
    Channel,
    Died,
    Ending,
    Evaluated,
    Failed,
    Finished,
    Loaded,
    PromptText,
    Reply,
    RowRef,
    Stepped,
)
from logitscope.document import Block, Document, State
from logitscope.gui.engine import Engine
from logitscope.gui.history import SETTINGS, TYPING, Change
from logitscope.gui.shown import RowShelf, ShownRow
from logitscope.sampling import SamplerSettings, Shaped
from logitscope.steps import Origin, StepRecord
from logitscope.vocabulary import Vocabulary

FRAME_MS = 16
UNDO_LIMIT = 1000
MERGE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Notice:
    """One sentence for the person; ``detail`` is for "copy details"."""

    sentence: str
    detail: str = ""
    is_bug: bool = False


@dataclass(frozen=True, slots=True)
class PassCost:
    """What the last evaluation cost."""

    cached: int
    evaluated: int
    seconds: float
    kv_bytes: int


class Session(QObject):
    """The document, the model and the selected position. One per window."""

    model_changed = Signal()
    """A model was loaded, is gone, or is being loaded."""
    prompt_changed = Signal()
    """The blocks or their wrapping changed; the ids follow with ``path_changed``."""
    path_changed = Signal()
    """The ids on screen changed, at most once a frame."""
    selection_changed = Signal()
    row_changed = Signal()
    """The row of the selected position is another one, or became known or unknown."""
    settings_changed = Signal()
    """The sampler settings changed: ``shaped`` is another one."""
    run_changed = Signal()
    """A run began or ended."""
    cost_changed = Signal()
    noticed = Signal(object)

    def __init__(self, engine: Engine, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.engine = engine
        self.document = Document()
        self.undo_stack = QUndoStack(self)
        self.undo_stack.setUndoLimit(UNDO_LIMIT)
        self.model: ModelInfo | None = None
        self.vocabulary: Vocabulary | None = None
        self.loading_path: str | None = None
        self.last_load: tuple[str, str, LoadOptions] | None = None
        self.cost: PassCost | None = None
        self._shelf = RowShelf()
        self._row: ShownRow | None = None
        self._shaped: Shaped | None = None
        self._selected: int | None = None
        self._run_number = 0
        self._run_change: Change | None = None
        self._live_number = 0
        self._is_waiting_for_ids = False
        self._when_evaluated: Callable[[], None] | None = None
        self._pending_row: tuple[tuple[int, ...], RowRef] | None = None
        self._last_change = (0, 0.0)
        self._frame = QTimer(self, interval=FRAME_MS, singleShot=True)
        self._frame.timeout.connect(self._draw_frame)
        engine.replied.connect(self._take)

    # -- reading ----------------------------------------------------------------------------

    @property
    def state(self) -> State:
        return self.document.state

    @property
    def settings(self) -> SamplerSettings:
        return self.document.state.settings

    @property
    def ids(self) -> tuple[int, ...]:
        """Ids on screen: prompt and path."""
        return self.document.ids

    @property
    def prompt_length(self) -> int:
        return len(self.document.state.prompt_ids)

    @property
    def is_running(self) -> bool:
        return self._run_number != 0

    @property
    def is_ready(self) -> bool:
        """A model is loaded and its ids for the prompt are known."""
        return self.model is not None and not self._is_waiting_for_ids

    @property
    def position(self) -> int:
        """The selected position; ``len(ids)`` is the next token."""
        end = len(self.ids)
        return end if self._selected is None else min(self._selected, end)

    @property
    def follows_end(self) -> bool:
        """Nothing older is selected: the row shown is that of the next token."""
        return self._selected is None

    @property
    def row(self) -> ShownRow | None:
        """The row of the selected position; None while it is not known.

        During a run it is the newest row there is, one frame old at most.
        """
        return self._row

    @property
    def shaped(self) -> Shaped | None:
        """What the sampler chain makes of ``row``."""
        if self._shaped is None and self._row is not None:
            self._shaped = sampling.shape(
                self._row.distribution.logits, self.settings, self._row.ids
            )
        return self._shaped

    # -- intents: model ---------------------------------------------------------------------

    def open_model(self, path: str, backend: str = "", options: LoadOptions | None = None) -> None:
        """Load a model in place of the present one; the document stays."""
        chosen = options or LoadOptions()
        self.stop()
        self._forget_model()
        self.last_load = (path, backend, chosen)
        self.loading_path = path
        self.engine.load(path, backend, chosen)
        self.model_changed.emit()

    def reload_model(self) -> None:
        """Load the last model again, after its process died."""
        if self.last_load is not None:
            self.open_model(*self.last_load)

    # -- intents: text ----------------------------------------------------------------------

    def set_prompt(self, text: str) -> None:
        """Replace the text of a plain prompt (all blocks become one)."""
        first = self.state.blocks[0] if self.state.blocks else Block("")
        self.set_blocks((replace(first, text=text),))

    def set_blocks(self, blocks: tuple[Block, ...]) -> None:
        """Replace the prompt's blocks."""
        if blocks == self.state.blocks:
            return
        self.stop()
        before = self.state
        self.document.set_blocks(blocks)
        self._push("Typing", before, TYPING)
        self._prompt_was_changed()

    def set_wrapping(self, *, chat: bool, add_special: bool, parse_special: bool) -> None:
        """Change how the blocks become ids."""
        self.stop()
        before = self.state
        self.document.set_wrapping(chat=chat, add_special=add_special, parse_special=parse_special)
        if self.state is not before:
            self._push("Prompt format", before)
            self._prompt_was_changed()

    def select(self, position: int | None) -> None:
        """Look at a position; None follows the end."""
        if position is not None:
            position = max(1, position)
            if position >= len(self.ids):
                position = None
        if position == self._selected:
            return
        self._selected = position
        self.selection_changed.emit()
        self._look()

    # -- intents: sampler -------------------------------------------------------------------

    def set_settings(self, settings: SamplerSettings) -> None:
        """Change the sampler; the kept row is reshaped, the model is not asked."""
        if settings == self.settings:
            return
        before = self.state
        self.document.set_settings(settings)
        self._push("Sampling", before, SETTINGS)
        self._shaped = None
        self.settings_changed.emit()

    # -- intents: generation ----------------------------------------------------------------

    def step(self) -> None:
        """One token."""
        self.run(1)

    def run(self, max_tokens: int, stop_texts: tuple[str, ...] = ()) -> None:
        """Generate behind the current path until a limit, an end token or a stop text."""
        if self.model is None or self.is_running:
            return
        if self._is_waiting_for_ids:
            self._when_evaluated = lambda: self.run(max_tokens, stop_texts)
            return
        if not self.ids:
            self.noticed.emit(Notice("Nothing to continue: type a prompt first."))
            return
        self.select(None)
        before = self.state
        self._run_change = self._push("Run" if max_tokens > 1 else "Step", before)
        self._run_number = self.engine.generate(
            self.ids,
            self.settings,
            max_tokens,
            prompt_length=self.prompt_length,
            stop_texts=stop_texts,
        )
        self.run_changed.emit()

    def stop(self) -> None:
        """End the run now; what was generated stays."""
        self._when_evaluated = None
        if self.is_running:
            self.engine.cancel(self._run_number)
            self._end_run()

    def rewind_one(self) -> None:
        """Take the last generated token back; the tree keeps it."""
        if self.document.path:
            self.rewind_to(len(self.ids) - 1)

    def rewind_to(self, position: int) -> None:
        """Let the path end before ``position``; ValueError within the prompt."""
        self.stop()
        self._change("Rewind", lambda: self.document.go_to_position(position))

    def go_to(self, node: int) -> None:
        """Walk to a node of the tree."""
        self.stop()
        self._change("Branch", lambda: self.document.go_to(node))

    def force(self, token_id: int) -> None:
        """Put this token at the selected position, whatever the sampler would choose.

        What stood there stays in the tree. Without the row of that position its numbers are
        not known yet: then nothing happens.
        """
        row = self._row
        if row is None or row.position < self.prompt_length or self.model is None:
            return
        self.stop()
        numbers = row.distribution.summarise(token_id)
        step = StepRecord(
            token_id=token_id,
            origin=Origin.FORCED,
            log_probability=numbers.log_probability,
            rank=numbers.rank,
            entropy=numbers.entropy,
            shaped_probability=None,
            draw=None,
            top_ids=numbers.top_ids,
            top_log_probabilities=numbers.top_log_probabilities,
            seconds=0.0,
        )

        def put() -> None:
            self.document.go_to_position(row.position)
            self.document.append(step)

        self._selected = None
        self._change("Force token", put)

    def clear(self) -> None:
        """Forget all continuations; the prompt stays."""
        self.stop()
        self._change("Clear", self.document.clear_continuations)

    def undo(self) -> None:
        self.stop()
        self.undo_stack.undo()

    def redo(self) -> None:
        self.stop()
        self.undo_stack.redo()

    # -- changes ----------------------------------------------------------------------------

    def _change(self, title: str, action: Callable[[], object]) -> None:
        before = self.state
        action()
        self._push(title, before)
        self._path_was_changed()

    def _push(self, title: str, before: State, kind: int = -1) -> Change:
        now = time.monotonic()
        merges = self._last_change[0] == kind and now - self._last_change[1] < MERGE_SECONDS
        self._last_change = (kind, now)
        change = Change(title, before, self.state, self._restore, kind, merges)
        self.undo_stack.push(change)
        return change

    def _restore(self, state: State) -> None:
        before = self.state
        self.document.restore(state)
        self._last_change = (0, 0.0)
        self._shaped = None
        if before.settings != state.settings:
            self.settings_changed.emit()
        if before.blocks != state.blocks or before.prompt_ids != state.prompt_ids:
            self._prompt_was_changed()
        else:
            self._path_was_changed()

    def _prompt_was_changed(self) -> None:
        self._selected = None
        self._is_waiting_for_ids = self.model is not None
        self.prompt_changed.emit()
        self._evaluate_text()

    def _path_was_changed(self) -> None:
        self.path_changed.emit()
        self._look()

    # -- rows -------------------------------------------------------------------------------

    def _evaluate_text(self) -> None:
        if self.model is None:
            return
        state = self.state
        messages = tuple(ChatMessage(block.role, block.text) for block in state.blocks)
        if not state.text and not self._puts_bos_in_front():
            self._is_waiting_for_ids = False
            self.document.set_prompt_ids(())
            self._path_was_changed()
            return
        self._is_waiting_for_ids = True
        prompt = PromptText(messages, state.chat, state.add_special, state.parse_special)
        self._live_number = self.engine.evaluate(prompt, self.document.tail_ids)

    def _puts_bos_in_front(self) -> bool:
        vocabulary = self.vocabulary
        adds = vocabulary is not None and vocabulary.adds_bos and vocabulary.bos is not None
        return self.state.chat or (self.state.add_special and adds)

    def _look(self) -> None:
        """Show the row of the selected position, asking for it where it is not at hand."""
        wanted = self.ids[: self.position]
        row = self._shelf.get(wanted)
        self._show(row)
        if row is None and wanted and self.is_ready and not self.is_running:
            if self.follows_end:
                self._live_number = self.engine.evaluate(
                    self.state.prompt_ids, self.document.tail_ids
                )
            else:
                self.engine.evaluate(wanted, channel=Channel.INSPECT)

    def _show(self, row: ShownRow | None) -> None:
        if row is not self._row:
            self._row = row
            self._shaped = None
            self.row_changed.emit()

    def _fetch(self, ids: tuple[int, ...], ref: RowRef) -> None:
        logits = self.engine.row(ref)
        if logits is None:
            return
        row = self._shelf.put(ids, logits)
        if ids == self.ids[: self.position] or self.is_running:
            self._show(row)

    def _draw_frame(self) -> None:
        self.path_changed.emit()
        if self._pending_row is not None:
            self._fetch(*self._pending_row)
            self._pending_row = None

    # -- replies ----------------------------------------------------------------------------

    def _take(self, reply: Reply) -> None:
        match reply:
            case Loaded():
                self._model_arrived(reply)
            case Evaluated():
                self._evaluation_arrived(reply)
            case Stepped() if reply.number == self._run_number:
                self._step_arrived(reply)
            case Finished() if reply.number == self._run_number:
                self._run_finished(reply)
            case Failed():
                self._request_failed(reply)
            case Died():
                self._process_died(reply)
            case _:
                pass

    def _model_arrived(self, reply: Loaded) -> None:
        self.model = reply.info
        self.vocabulary = reply.vocabulary
        self.loading_path = None
        self.model_changed.emit()
        for note in reply.info.notes:
            self.noticed.emit(Notice(note))
        self._evaluate_text()

    def _evaluation_arrived(self, reply: Evaluated) -> None:
        self.cost = PassCost(reply.cached, reply.evaluated, reply.seconds, reply.kv_bytes)
        self.cost_changed.emit()
        if reply.channel is Channel.LIVE:
            if reply.number != self._live_number:
                return
            self._is_waiting_for_ids = False
            if reply.prompt_ids != self.state.prompt_ids:
                self.document.set_prompt_ids(reply.prompt_ids)
            self.path_changed.emit()
        self._fetch(reply.prompt_ids + reply.tail, reply.row)
        waiting, self._when_evaluated = self._when_evaluated, None
        if waiting is not None:
            waiting()

    def _step_arrived(self, reply: Stepped) -> None:
        self._pending_row = (self.ids[: reply.position], reply.row)
        self.document.append(reply.step)
        if not self._frame.isActive():
            self._frame.start()

    def _run_finished(self, reply: Finished) -> None:
        if reply.row is not None and reply.position == len(self.ids):
            self._pending_row = (self.ids, reply.row)
        if reply.ending is Ending.CONTEXT_FULL:
            self.noticed.emit(
                Notice("The context is full: shorten the prompt or load with a longer context.")
            )
        self._end_run()

    def _end_run(self) -> None:
        self._run_number = 0
        if self._run_change is not None:
            self._run_change.after = self.state
            self._run_change = None
        self._frame.stop()
        self._draw_frame()
        self.run_changed.emit()
        self._look()

    def _request_failed(self, reply: Failed) -> None:
        if self.loading_path is not None:
            self.loading_path = None
            self.model_changed.emit()
        if reply.number == self._run_number:
            self._end_run()
        if reply.number == self._live_number:
            self._is_waiting_for_ids = False
            self._when_evaluated = None
            self._show(None)
        self.noticed.emit(Notice(reply.sentence, reply.detail, is_bug=not reply.expected))

    def _process_died(self, reply: Died) -> None:
        if self.is_running:
            self._end_run()
        self._forget_model()
        self.model_changed.emit()
        self.noticed.emit(Notice(reply.sentence, reply.detail))

    def _forget_model(self) -> None:
        self.model = None
        self.vocabulary = None
        self.loading_path = None
        self._is_waiting_for_ids = False
        self._when_evaluated = None
        self._shelf.clear()
        self._show(None)
