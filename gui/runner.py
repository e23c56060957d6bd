"""One run at a time: tokens stream in, the window hears of them once a frame."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import QObject, QTimer, Signal

from logitscope.backends.messages import Finished, RowRef, Stepped
from logitscope.document import Document, State
from logitscope.gui.engine import Engine
from logitscope.gui.history import Change

FRAME_MS = 16
LONGEST_FRAME_MS = 250
MODELS_SHARE = 15
"""Of the time, the window draws at most a fifteenth. A model usually computes with every core, in
step: whatever the window takes from one of them delays all."""
Record = Callable[[State, State], Change]
"""Puts the step from one state to the next on the undo stack."""
SPEED_STEPS = 32
"""The speed shown is over this many steps: about a second at usual speeds."""


class Runner(QObject):
    """Appends the steps of the current run to the document."""

    frame = Signal()
    """The document has grown, or the run has ended; at most once a frame."""
    running_changed = Signal()

    def __init__(self, engine: Engine, document: Document, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine = engine
        self._document = document
        self._change: Change | None = None
        self._record: Record | None = None
        self._settings = document.state.settings
        """Of the run."""
        self._has_decoded = False
        self._seconds: deque[float] = deque(maxlen=SPEED_STEPS)
        self._timer = QTimer(self, interval=FRAME_MS, singleShot=True)
        self._timer.timeout.connect(self._begin_frame)
        self._worked = 0.0
        """Processor seconds of this thread when the last frame began."""
        engine.stepped.connect(self._take_step)
        self.number = 0
        self.newest: tuple[tuple[int, ...], RowRef] | None = None
        """The ids before the newest row, and where it is; taken by the session once a frame."""

    @property
    def is_running(self) -> bool:
        return self.number != 0

    @property
    def tokens_per_second(self) -> float | None:
        """Speed of the last steps in the model process; None before the first."""
        total = sum(self._seconds)
        return len(self._seconds) / total if total > 0 else None

    def forget_speed(self) -> None:
        """What was measured is another model's."""
        self._seconds.clear()

    def start(self, max_tokens: int, stop_texts: tuple[str, ...], record: Record) -> None:
        """``record`` is called when there is something to undo: a run may make no token."""
        state = self._document.state
        self._record = record
        self._settings = state.settings
        self._has_decoded = False
        self._worked = time.thread_time()
        self._timer.setInterval(FRAME_MS)
        self.number = self._engine.generate(
            self._document.ids,
            state.settings,
            max_tokens,
            prompt_length=len(state.prompt_ids),
            stop_texts=stop_texts,
        )
        self.running_changed.emit()

    def _take_step(self, reply: Stepped) -> None:
        if reply.number != self.number:
            return
        if reply.row is not None:
            self.newest = (self._document.ids[: reply.position], reply.row)
        before = self._document.state
        self._document.append(replace(reply.step, settings=self._settings))
        if self._change is None and self._record is not None:
            self._change = self._record(before, self._document.state)
        if self._has_decoded:
            self._seconds.append(reply.step.seconds)
        # The first row is usually at hand before the run: its time is no decode.
        self._has_decoded = True
        if not self._timer.isActive():
            self._timer.start()

    def go_on_in(self, change: Change, before: State) -> None:
        """Something was changed within the run, from ``before`` on: what the run writes from now on
        is behind that change, and is taken back and made again with it."""
        if self._change is not None:
            self._change.after = before
            self._change = change

    def _begin_frame(self) -> None:
        """What this thread has done since the last frame began tells how soon the next may come."""
        before, self._worked = self._worked, time.thread_time()
        cost_ms = 1000 * (self._worked - before)
        self._timer.setInterval(round(min(LONGEST_FRAME_MS, max(FRAME_MS, MODELS_SHARE * cost_ms))))
        self.frame.emit()

    def take_end(self, reply: Finished) -> None:
        if reply.row is not None and reply.position == len(self._document.ids):
            self.newest = (self._document.ids, reply.row)
        self.end()

    def cancel(self) -> None:
        """Stop now; what was generated stays."""
        if self.is_running:
            self._engine.cancel(self.number)
            self.end()

    def end(self) -> None:
        self.number = 0
        if self._change is not None:
            self._change.after = self._document.state
            self._change = None
        self._timer.stop()
        self.running_changed.emit()
        self.frame.emit()
