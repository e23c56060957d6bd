"""Scoring a text while somebody looks at it: chunk by chunk, from the first unknown token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from functools import partial

from PySide6.QtCore import QObject, Signal

from logitscope.backends.messages import Ending, Failed, Finished, Phase, Reply, Scored
from logitscope.gui.background import Background
from logitscope.gui.session_view import SessionView
from logitscope.gui.subjects import ScreenText, Subject
from logitscope.losses import LossTable
from logitscope.surprisal import TokenNumbers, Window
from logitscope.window_ids import window_ids, window_of

LEAST_WINDOW = 2
LONG_TEXT = 50_000
"""So many new tokens at once get their table in a thread: that of a million takes 200 ms."""


class Scorer(QObject):
    """Keeps a LossTable of a subject's ids complete while it is active.

    Generated tokens bring their numbers with them. A text longer than a window is read in windows,
    ``stride`` tokens apart. Of several scorers on one session only one should be active: the model
    process answers one request of this kind at a time.
    """

    changed = Signal(int, int)
    """Positions ``start <= p < stop`` have other numbers, or other tokens."""
    progressed = Signal(int, int)
    """Tokens with a loss, and all that can have one."""
    state_changed = Signal()
    """``is_scoring`` or ``is_stopped`` is another."""

    def __init__(
        self,
        session: SessionView,
        subject: Subject | None = None,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._session = session
        self._subject = subject or ScreenText(session, self)
        self._table = LossTable()
        self._background = Background(self)
        self._awaited: Sequence[int] | None = None
        """The ids whose table is being made."""
        self._is_active = False
        self._is_stopped = False
        self._model = ""
        self._number = 0
        self._pass = Window(0, 0, 0)
        self._window_size: int | None = None
        self._stride: int | None = None
        self._subject.changed.connect(self._follow)
        session.model_changed.connect(self._follow_model)
        session.engine.replied.connect(self._take)
        session.engine.activity_changed.connect(self._go_on)

    @property
    def subject(self) -> Subject:
        return self._subject

    @property
    def table(self) -> LossTable:
        return self._table

    @property
    def is_scoring(self) -> bool:
        return self._number != 0

    @property
    def is_stopped(self) -> bool:
        """Scoring was stopped or has failed, and waits for ``resume`` or another text."""
        return self._is_stopped

    @property
    def window_size(self) -> int:
        """Tokens the model reads at once; never more than its context. 0 without a model."""
        context = self._model_context
        return min(self._window_size or context, context)

    @property
    def stride(self) -> int:
        """Tokens from window to window: at most half a window, which is also the default."""
        most = max(self.window_size // 2, 1)
        return min(self._stride or most, most)

    def set_active(self, active: bool) -> None:
        """Score from now on, or pause; what is known stays."""
        self._is_active = active
        if active:
            self._follow_model()
            self._follow()
        else:
            self._cancel()

    def set_windows(self, size: int | None, stride: int | None) -> None:
        """Other windows; None is the context, or half a window.

        A text that is longer than the old or the new window is scored again.
        """
        before = self.window_size, self.stride
        self._window_size, self._stride = size, stride
        after = self.window_size, self.stride
        if after == before:
            return
        if len(self._table) > min(before[0], after[0]):
            self._forget()
        self._go_on()

    def set_stride(self, stride: int | None) -> None:
        """Another stride with the same windows."""
        self.set_windows(self._window_size, stride)

    def stop(self) -> None:
        """Stop scoring until the text changes or ``resume``; what is known stays."""
        self._is_stopped = True
        self._cancel()
        self.state_changed.emit()

    def resume(self) -> None:
        self._is_stopped = False
        self._go_on()
        self.state_changed.emit()

    def context_of(self, position: int) -> tuple[int, ...]:
        """The ids from which the token at a position is predicted: of its window, up to it."""
        window = self._window_of(position)
        return window_ids(self._table.ids, window.begin, position, self._bos)

    # -- following --------------------------------------------------------------------------

    @property
    def _model_context(self) -> int:
        model = self._session.model
        return 0 if model is None else model.context_length

    @property
    def _bos(self) -> int | None:
        vocabulary = self._session.vocabulary
        return None if vocabulary is None else vocabulary.bos

    def _follow_model(self) -> None:
        model = self._session.model
        if model is None:
            self._number = 0
        elif model.header_hash != self._model:
            self._model = model.header_hash
            self._is_stopped = False
            self._forget()
        self._go_on()

    def _forget(self) -> None:
        self._cancel()
        self._table.forget()
        self.changed.emit(0, len(self._table))

    def _follow(self) -> None:
        if not self._is_active:
            return
        ids = self._subject.ids
        if ids is self._awaited:
            return
        self._awaited = None
        before = len(self._table)
        if len(ids) - before > LONG_TEXT:
            self._await_table(ids)
            return
        first = self._table.follow(ids)
        self._take_steps(max(first, self._subject.first_step))
        if first < max(before, len(ids)):
            self._is_stopped = False
            if first < self._pass.end:
                self._cancel()
            self.changed.emit(first, max(before, len(ids)))
        self._go_on()

    def _await_table(self, ids: Sequence[int]) -> None:
        before = len(self._table)
        self._cancel()
        self._awaited, self._table = ids, LossTable()
        self._is_stopped = False
        self.changed.emit(0, before)
        self._background.start(partial(LossTable.of, ids), partial(self._take_table, ids), _raise)

    def _take_table(self, ids: Sequence[int], table: LossTable) -> None:
        if ids is self._awaited:
            self._awaited, self._table = None, table
            self._take_steps(self._subject.first_step)
            self.changed.emit(0, len(table))
            self._go_on()

    def _take_steps(self, first: int) -> None:
        steps, offset = self._subject.steps, self._subject.first_step
        for position in range(first, len(self._table)):
            self._table.put_step(position, steps[position - offset])

    # -- asking -----------------------------------------------------------------------------

    def _go_on(self) -> None:
        if self.is_scoring or not self._may_score():
            return
        start = self._table.first_unknown
        if start >= len(self._table):
            return
        window = self._window_of(start)
        ids = window_ids(self._table.ids, window.begin, window.end, self._bos)
        self._pass = Window(window.begin, window.end, start)
        known, whole = self._progress
        self._number = self._session.engine.score(
            ids, start - window.begin, len(ids), known=known, of=whole
        )
        self._tell_progress()
        self.state_changed.emit()

    def _may_score(self) -> bool:
        wanted = self._is_active and not self._is_stopped and self._subject.is_ready
        wanted = wanted and self._awaited is None
        # Somebody else's request would be replaced by ours.
        return wanted and self._session.engine.activity.phase is not Phase.SCORE

    def _window_of(self, position: int) -> Window:
        """The pass that scores a position; a window scores at most up to its first known token."""
        size = max(self.window_size, LEAST_WINDOW)
        return window_of(position, len(self._table), size, self.stride)

    def _cancel(self) -> None:
        if self.is_scoring:
            self._session.engine.cancel(self._number)
            self._number = 0
            self.state_changed.emit()

    # -- answers ----------------------------------------------------------------------------

    def _take(self, reply: Reply) -> None:
        if not self.is_scoring or reply.number != self._number:
            return
        match reply:
            case Scored():
                self._put(reply)
            case Finished():
                self._number = 0
                self._tell_progress()
                if reply.ending is Ending.CANCELLED:
                    # By another request of this kind, after which we go on; or by the person.
                    self._is_stopped = self._session.engine.activity.phase is not Phase.SCORE
                self._go_on()
                self.state_changed.emit()
            case Failed():
                # The session has told the person; asking again would fail again.
                self._number = 0
                self._is_stopped = True
                self.state_changed.emit()

    def _put(self, reply: Scored) -> None:
        start = self._pass.begin + reply.start
        numbers = TokenNumbers(**{f.name: getattr(reply, f.name) for f in fields(TokenNumbers)})
        self._table.put(start, numbers)
        self.changed.emit(start, start + len(reply.rank))
        self._tell_progress()

    @property
    def _progress(self) -> tuple[int, int]:
        """Tokens whose loss is known, and all that have one."""
        return self._table.known, max(len(self._table) - 1, 0)

    def _tell_progress(self) -> None:
        self.progressed.emit(*self._progress)


def _raise(error: Exception) -> None:
    raise error
