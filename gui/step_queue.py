"""Steps asked for while one is under way: every press makes its token, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from logitscope.backends.messages import Died, Ending, Failed, Finished, Reply
from logitscope.gui.runner import Runner
from logitscope.gui.viewer import Viewer

if TYPE_CHECKING:
    from logitscope.gui.session import Session

MOST_WAITING = 32
"""More presses than that are not counted by anyone, and a slow model would go on for minutes."""


class StepQueue(QObject):
    """Counts presses; any edit, another selected position, a stop and a failure forget them."""

    def __init__(self, session: Session, runner: Runner, viewer: Viewer) -> None:
        super().__init__(session)
        self._session = session
        self._runner = runner
        self._viewer = viewer
        self._waiting = 0
        self._number = 0
        """Of the last step's run."""
        self._is_starting = False
        session.selection_changed.connect(self._follow_selection)
        runner.running_changed.connect(self._follow_runs)
        # Behind the session, which has then taken the step and shown its row.
        session.engine.replied.connect(self._take)

    @property
    def waiting(self) -> int:
        """Steps that will follow the one that is under way."""
        return self._waiting

    @property
    def can_ask(self) -> bool:
        """A step can be made, or can wait for the one before it."""
        return self._session.model is not None and (self._is_stepping or not self._is_running)

    @property
    def _is_running(self) -> bool:
        return self._runner.is_running

    @property
    def _is_stepping(self) -> bool:
        # Who hears that a step begins asks this before its number is known here.
        return self._is_running and (self._is_starting or self._runner.number == self._number)

    def ask(self) -> None:
        """One more token: now, or as soon as the text is read and the step before is done."""
        if not self.can_ask:
            return
        self._waiting = min(self._waiting + 1, MOST_WAITING)
        if not self._is_running:
            self._viewer.when_ready(self._start_next)

    def forget(self) -> None:
        """What waits is not wanted any more; the step that is under way goes on."""
        self._waiting = 0

    def _start_next(self) -> None:
        if not self._waiting:
            return
        self._waiting -= 1
        self._is_starting = True
        self._session.run(1)
        self._is_starting = False
        self._number = self._runner.number

    def note_change(self) -> None:
        """The document is another one: by a step of its own, or by something else."""
        if not self._is_starting:
            self.forget()

    def _follow_selection(self) -> None:
        """A step goes to the end, away from what the person has chosen to look at."""
        if not self._session.follows_end:
            self.forget()

    def _follow_runs(self) -> None:
        if self._is_running:
            self.note_change()

    def _take(self, reply: Reply) -> None:
        match reply:
            case Finished() if self._number and reply.number == self._number:
                if reply.ending is Ending.CONTEXT_FULL:
                    self.forget()
                elif not self._is_running:
                    self._viewer.when_ready(self._start_next)
            case Failed() | Died():
                self.forget()
