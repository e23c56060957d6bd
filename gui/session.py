"""What the person can do with the document, and what the model process answers.

Panels read the properties of ``SessionView``; only the methods under "intents" change anything.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject
from PySide6.QtGui import QUndoStack

from logitscope.backends.base import LoadOptions
from logitscope.backends.messages import (
    Died,
    Ending,
    Evaluated,
    Failed,
    Finished,
    Loaded,
    Reply,
)
from logitscope.blocks import with_text
from logitscope.document import Block, State
from logitscope.gui import notices
from logitscope.gui.engine import Engine
from logitscope.gui.history import Change, History, Kind
from logitscope.gui.insertion import Insertion
from logitscope.gui.loading import Gone
from logitscope.gui.notices import Notice, PassCost
from logitscope.gui.session_view import SessionView
from logitscope.gui.step_queue import StepQueue
from logitscope.navigation import Landmark, find
from logitscope.placed import placed_step
from logitscope.sampling import SamplerSettings
from logitscope.sources import with_defaults
from logitscope.steps import Origin, StepRecord


class Session(SessionView):
    """The document of a window, with everything that changes it. One per window."""

    def __init__(self, engine: Engine, parent: QObject | None = None) -> None:
        super().__init__(engine, parent)
        self._history = History(self._restore, self)
        self.undo_stack: QUndoStack = self._history.stack
        self._runner.frame.connect(self._draw_frame)
        self._insertion = Insertion(engine, self.document, self)
        self._exploration.grown.connect(self.path_changed)
        self._exploration.ended.connect(self._exploration_ended)
        self._explored_from: Change | None = None
        engine.replied.connect(self._take)
        self.steps = StepQueue(self, self._runner, self._viewer)

    # -- intents: model ---------------------------------------------------------------------

    def open_model(self, path: str, backend: str = "", options: LoadOptions | None = None) -> None:
        """Load a model in place of the present one; the document stays."""
        self.stop()
        self._forget_model()
        self._loading.start(path, backend, options or LoadOptions())
        self.model_changed.emit()

    def reload_model(self) -> None:
        """Load the last model again, after its process died."""
        if self.last_load is not None:
            self.open_model(*self.last_load)

    # -- intents: text ----------------------------------------------------------------------

    def set_prompt(self, text: str) -> None:
        """Replace the text of a plain prompt (all blocks become one)."""
        first = self.state.blocks[0] if self.state.blocks else Block("")
        self.set_blocks((with_text(first, text),))

    def set_blocks(self, blocks: tuple[Block, ...]) -> None:
        """Replace the prompt's blocks."""
        if blocks == self.state.blocks:
            return
        self.stop()
        before = self.state
        self.document.set_blocks(blocks)
        is_typing = len(blocks) == len(before.blocks)
        self._push("Typing", before, Kind.TYPING if is_typing else Kind.OTHER)
        self._prompt_was_changed()

    def set_sources(self, blocks: tuple[Block, ...]) -> None:
        """Replace the prompt's blocks by the same ones with other sources."""
        before = self.state
        if blocks != before.blocks:
            self.document.set_blocks(blocks)
            self._push("Sources", before)
            self.sources_changed.emit()

    def set_wrapping(self, *, chat: bool, add_special: bool, parse_special: bool) -> None:
        """Change how the blocks become ids."""
        self.stop()
        before = self.state
        self.document.set_wrapping(chat=chat, add_special=add_special, parse_special=parse_special)
        if self.state is not before:
            if chat and not before.chat:
                self.document.set_blocks(with_defaults(before.blocks))
            self._push("Prompt format", before)
            self._prompt_was_changed()

    def select(self, position: int | None) -> None:
        """Look at a position; None follows the end."""
        if self._viewer.select(position):
            self.selection_changed.emit()
            self._viewer.look()

    def inspect_ids(self, ids: tuple[int, ...], next_id: int | None) -> None:
        """Show the row behind the ids of another text, in which ``next_id`` comes next.

        It stays on show until the document or the selection changes.
        """
        self._viewer.inspect(ids, next_id)

    def replace_document(self, state: State) -> None:
        """Show another document, as opened from a file; there is no undo across it."""
        self.stop()
        self.undo_stack.clear()
        self._restore(state)
        self.settings_changed.emit()

    # -- intents: sampler -------------------------------------------------------------------

    def set_settings(self, settings: SamplerSettings) -> None:
        """Change the sampler; the kept row is reshaped, the model is not asked."""
        if settings == self.settings:
            return
        before = self.state
        self.document.set_settings(settings)
        self._push("Sampling", before, Kind.SETTINGS)
        self.settings_changed.emit()

    # -- intents: generation ----------------------------------------------------------------

    def step(self) -> None:
        """One token; while one is under way, one more behind it."""
        self.steps.ask()

    def run(self, max_tokens: int, stop_texts: tuple[str, ...] = ()) -> None:
        """Generate behind the current path until a limit, an end token or a stop text."""
        if self.model is None or self.is_running:
            return
        if self._viewer.is_waiting_for_ids:
            self._viewer.when_ready(lambda: self.run(max_tokens, stop_texts))
            return
        if (refusal := self.refusal) is not None:
            self.noticed.emit(refusal)
            return
        self.select(None)
        self.steps.note_change()
        record = partial(self._history.push, "Run" if max_tokens > 1 else "Step")
        self._runner.start(max_tokens, stop_texts, record)

    def stop(self) -> None:
        """End the run now; what was generated stays."""
        self._viewer.forget_wishes()
        self.steps.forget()
        self._insertion.forget()
        self._exploration.stop()
        self._runner.cancel()

    def stop_all(self) -> None:
        """End whatever the model process is busy with, and the process where it does not obey."""
        # In this order: ending a run asks for the row behind it, which shall not be stopped.
        self.engine.stop_hard()
        self.stop()

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

    def name_branch(self, node: int, name: str) -> None:
        """Name a node of the tree; an empty name removes it."""
        self._change("Name branch", lambda: self.document.name(node, name))

    def delete_branch(self, node: int) -> None:
        """Hide a node and all that follows it."""
        self.stop()
        self._change("Delete branch", lambda: self.document.delete(node))

    def explore(self, width: int, depth: int) -> None:
        """Expand the tree behind the path by probability; ``explored`` tells how far it is."""
        if self.vocabulary is None or not self.is_ready or not self.ids:
            return
        self.stop()
        self._explored_from = self._push("Expand", self.state)
        self._exploration.start(width, depth, self.vocabulary.end_ids)

    def force(self, token_id: int) -> None:
        """Put this token at the selected position, whatever the sampler would choose.

        What stood there stays in the tree. While the row of that position is on its way, the
        token's numbers are not known: then nothing happens.
        """
        row = self.row
        if row is None or not self.row_is_current or row.position < self.prompt_length:
            return
        self.stop()
        step = placed_step(row.distribution.logits, token_id, Origin.FORCED)

        def put() -> None:
            self.document.go_to_position(row.position)
            self.document.append(step)

        self._viewer.selected = None
        self._change("Force token", put)

    @property
    def is_inserting(self) -> bool:
        """The numbers of a text to be inserted are on their way."""
        return self._insertion.is_running

    def insert_text(self, text: str) -> None:
        """Put a text behind the path, as the tokens the model's tokenizer makes of it."""
        if text and self.is_ready and self.ids:
            self.stop()
            self._insertion.ask(text, self._append_placed)

    def jump(self, landmark: Landmark, direction: int = 1) -> None:
        """Select the next generated position of a kind; nothing where there is none."""
        steps = self.document.steps
        found = find(steps, landmark, self.position - self.prompt_length, direction)
        if found is not None:
            self.select(self.prompt_length + found)

    def clear(self) -> None:
        """Forget all continuations; the prompt stays."""
        self.stop()
        self._change("Clear", self.document.clear_continuations)

    def undo(self) -> None:
        if self.undo_stack.canUndo():
            self.stop()
            self.undo_stack.undo()

    def end_undo_step(self) -> None:
        """What comes next is undone by itself, however soon it comes."""
        self._history.start_new_step()

    def redo(self) -> None:
        if self.undo_stack.canRedo():
            self.stop()
            self.undo_stack.redo()

    def _append_placed(self, steps: tuple[StepRecord, ...]) -> None:
        self._viewer.select(None)
        self._change("Insert text", lambda: [self.document.append(step) for step in steps])

    def _exploration_ended(self) -> None:
        if self._explored_from is not None:
            self._explored_from.after = self.state
            self._explored_from = None
        self.explored.emit(0, 0)
        self._path_was_changed()

    # -- changes ----------------------------------------------------------------------------

    def _change(self, title: str, action: Callable[[], object]) -> None:
        before = self.state
        action()
        self._push(title, before)
        self._path_was_changed()

    def _push(self, title: str, before: State, kind: Kind = Kind.OTHER) -> Change:
        self.steps.note_change()
        change = self._history.push(title, before, self.state, kind)
        self._runner.go_on_in(change, before)
        return change

    def _restore(self, state: State) -> None:
        before = self.state
        self.document.restore(state)
        if self.model is not None:
            self.document.adopt_model(self.model.header_hash)
        self._history.start_new_step()
        if before.settings != state.settings:
            self.settings_changed.emit()
        if before.blocks != state.blocks:
            self.sources_changed.emit()
        if before.said != state.said or before.prompt_ids != state.prompt_ids:
            self._prompt_was_changed()
        else:
            self._path_was_changed()

    def _prompt_was_changed(self) -> None:
        self._viewer.selected = None
        # Who reads the session on this signal must not take the ids for those of the new text.
        self._viewer.expect_ids()
        self.prompt_changed.emit()
        self._viewer.evaluate_text()

    def _path_was_changed(self) -> None:
        self.path_changed.emit()
        self._viewer.look()

    def _draw_frame(self) -> None:
        self.path_changed.emit()
        newest, self._runner.newest = self._runner.newest, None
        if newest is not None:
            row = self._viewer.fetch(*newest)
            if row is not None and self.is_running and self.follows_end:
                self._viewer.show(row)
        if not self.is_running:
            self._viewer.look()
        self.frames.flush()  # In one painting of the window with what follows the path.

    # -- replies ----------------------------------------------------------------------------

    def _take(self, reply: Reply) -> None:
        match reply:
            case Loaded():
                self._model_arrived(reply)
            case Evaluated():
                self._evaluation_arrived(reply)
            case Finished() if reply.number == self._runner.number:
                self._run_finished(reply)
            case Finished():
                self._request_cancelled(reply)
            case Failed():
                self._request_failed(reply)
            case Died():
                self._process_died(reply)

    def _model_arrived(self, reply: Loaded) -> None:
        before = self.state
        if before.model != reply.info.header_hash:
            # A place in another model's tokens means nothing in this one's.
            self._viewer.selected = None
        if self.document.adopt_model(reply.info.header_hash):
            self._push("Other model", before)
            self.noticed.emit(notices.PUT_ASIDE)
        self.model = reply.info
        self.vocabulary = reply.vocabulary
        self._last_vocabulary = (reply.info.header_hash, reply.vocabulary)
        self._loading.end()
        self._viewer.adopt(reply.vocabulary, reply.info.context_length)
        self.model_changed.emit()
        for note in reply.info.notes:
            self.noticed.emit(Notice(note))
        self._viewer.evaluate_text()

    def _evaluation_arrived(self, reply: Evaluated) -> None:
        self.cost = PassCost(reply.cached, reply.evaluated, reply.seconds, reply.kv_bytes)
        self.cost_changed.emit()
        self._viewer.take(reply)

    def _run_finished(self, reply: Finished) -> None:
        self._runner.take_end(reply)
        if reply.ending is Ending.CONTEXT_FULL:
            self.noticed.emit(notices.CONTEXT_FULL)

    def _request_cancelled(self, reply: Finished) -> None:
        if self._end_loading(reply.number, Gone.STOPPED):
            self.noticed.emit(notices.LOADING_STOPPED)
        if self._viewer.take_failure(reply.number, notices.READING_STOPPED.sentence):
            self.noticed.emit(notices.READING_STOPPED)

    def _end_loading(self, number: int, gone: Gone) -> bool:
        if not self._loading.is_ended_by(number):
            return False
        self._loading.end(gone)
        self.model_changed.emit()
        return True

    def _request_failed(self, reply: Failed) -> None:
        self._end_loading(reply.number, Gone.REFUSED)
        if self.is_running and reply.number == self._runner.number:
            self._runner.end()
        is_text = self._viewer.take_failure(reply.number, reply.sentence, reply.prompt_ids)
        self.noticed.emit(notices.of_failure(reply, is_about_text=is_text))

    def _process_died(self, reply: Died) -> None:
        self._forget_model()
        self._loading.end(Gone.DIED)
        if self.is_running:
            self._runner.end()
        self.model_changed.emit()
        self.noticed.emit(Notice(reply.sentence, reply.detail, can_load_again=True))

    def _forget_model(self) -> None:
        self.model = None
        self.vocabulary = None
        self._viewer.forget()
