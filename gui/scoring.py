"""Scoring the text on screen while somebody looks at it: chunk by chunk, from the first unknown."""

from __future__ import annotations

from dataclasses import fields

from PySide6.QtCore import QObject, Signal

from logitscope.backends.messages import Failed, Finished, Reply, Scored
from logitscope.gui.session_view import SessionView
from logitscope.losses import LossTable
from logitscope.surprisal import TokenNumbers, Window, windows


class Scorer(QObject):
    """Keeps a LossTable of ``session.ids`` complete while it is active.

    Generated tokens bring their numbers with them. A text longer than the context is read in
    windows of the context, ``stride`` tokens apart.
    """

    changed = Signal(int, int)
    """Positions ``start <= p < stop`` have other numbers, or other tokens."""
    progressed = Signal(int, int)
    """Tokens with a loss, and all that can have one."""

    def __init__(self, session: SessionView, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._table = LossTable()
        self._is_active = False
        self._is_stopped = False
        self._model = ""
        self._number = 0
        self._window = Window(0, 0, 0)
        self._stride: int | None = None
        session.path_changed.connect(self._follow)
        session.model_changed.connect(self._follow_model)
        session.run_changed.connect(self._go_on)
        session.engine.replied.connect(self._take)

    @property
    def table(self) -> LossTable:
        return self._table

    @property
    def is_scoring(self) -> bool:
        return self._number != 0

    @property
    def stride(self) -> int | None:
        """Tokens from window to window; None is half the context."""
        return self._stride

    def set_active(self, active: bool) -> None:
        """Score from now on, or pause; what is known stays."""
        self._is_active = active
        if active:
            self._follow()
        else:
            self._cancel()

    def set_stride(self, stride: int | None) -> None:
        """Other windows; only a text longer than the context is scored again."""
        if stride == self._stride:
            return
        self._stride = stride
        if self._model_context and len(self._table) > self._model_context:
            self._cancel()
            self._table.forget()
            self.changed.emit(0, len(self._table))
        self._go_on()

    def stop(self) -> None:
        """Stop scoring until the text changes or ``resume``; what is known stays."""
        self._is_stopped = True
        self._cancel()

    def resume(self) -> None:
        self._is_stopped = False
        self._go_on()

    # -- following --------------------------------------------------------------------------

    @property
    def _model_context(self) -> int:
        model = self._session.model
        return 0 if model is None else model.context_length

    def _follow_model(self) -> None:
        model = self._session.model
        if model is None:
            self._number = 0
        elif model.header_hash != self._model:
            self._model = model.header_hash
            self._table.forget()
            self.changed.emit(0, len(self._table))
        self._go_on()

    def _follow(self) -> None:
        if not self._is_active:
            return
        ids = self._session.ids
        before = len(self._table)
        first = self._table.follow(ids)
        self._take_steps(max(first, self._session.prompt_length))
        if first < max(before, len(ids)):
            self._is_stopped = False
            if first < self._window.end:
                self._cancel()
            self.changed.emit(first, max(before, len(ids)))
        self._go_on()

    def _take_steps(self, first: int) -> None:
        steps = self._session.document.steps
        for position in range(first, len(self._table)):
            self._table.put_step(position, steps[position - self._session.prompt_length])

    # -- asking -----------------------------------------------------------------------------

    def _go_on(self) -> None:
        if self.is_scoring or not self._may_score():
            return
        start = self._table.first_unknown
        if start >= len(self._table):
            return
        window = self._window_of(start)
        ids = self._session.ids[window.begin : window.end]
        self._window = Window(window.begin, window.end, start)
        self._number = self._session.engine.score(ids, start - window.begin, len(ids))
        self._tell_progress()

    def _may_score(self) -> bool:
        session = self._session
        wanted = self._is_active and not self._is_stopped
        return wanted and session.is_ready and not session.is_running

    def _window_of(self, position: int) -> Window:
        """The pass that scores a position; a window scores at most up to its first known token."""
        cut = windows(len(self._table), max(self._model_context, 2), self._stride)
        return next(window for window in cut if window.end > position)

    def _cancel(self) -> None:
        if self.is_scoring:
            self._session.engine.cancel(self._number)
            self._number = 0

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
                self._go_on()
            case Failed():
                # The session has told the person; asking again would fail again.
                self._number = 0
                self._is_stopped = True

    def _put(self, reply: Scored) -> None:
        start = self._window.begin + reply.start
        numbers = TokenNumbers(**{f.name: getattr(reply, f.name) for f in fields(TokenNumbers)})
        self._table.put(start, numbers)
        self.changed.emit(start, start + len(reply.rank))
        self._tell_progress()

    def _tell_progress(self) -> None:
        self.progressed.emit(self._table.known, max(len(self._table) - 1, 0))
