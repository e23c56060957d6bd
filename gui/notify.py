"""One road for messages: a bar for the expected, a dialog for bugs, a list of them all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from PySide6.QtCore import QObject, Signal

from logitscope.gui.message import Action, Message, Severity
from logitscope.gui.notices import Notice
from logitscope.gui.session import Session

KEPT_MESSAGES = 200


class Messages(QObject):
    """Takes messages from everywhere and hands them to who shows them."""

    arrived = Signal(object)
    settled = Signal()
    """The problem on show is solved: a model is there again, or on its way."""

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._kept: list[Message] = []
        self.recovery: Sequence[Action] = ()
        """Buttons for a message that leaves the window without a model."""
        session.noticed.connect(self._take_notice)
        session.model_changed.connect(self._settle)

    @property
    def kept(self) -> tuple[Message, ...]:
        """The last messages, newest first."""
        return tuple(reversed(self._kept))

    def say(self, sentence: str, *actions: Action) -> None:
        """One sentence that goes by itself."""
        self.put(Message(sentence, actions=actions))

    def put(self, message: Message) -> None:
        """Show a message, and keep it."""
        self.arrived.emit(self._keep(message))

    def _keep(self, message: Message) -> Message:
        stamped = replace(message, at=datetime.now())
        self._kept = [*self._kept[1 - KEPT_MESSAGES :], stamped]
        return stamped

    def _take_notice(self, notice: Notice) -> None:
        model = self._session.model
        if model is not None and notice.sentence in model.notes:
            # Said at every load of this model, and beside its context length in the model bar.
            self._keep(Message(notice.sentence, notice.detail))
        elif notice.is_bug:
            self.put(Message(notice.sentence, notice.detail, Severity.BUG))
        elif self._has_lost_the_model():
            actions = tuple(self.recovery)
            self.put(Message(notice.sentence, notice.detail, Severity.PROBLEM, actions))
        else:
            self.put(Message(notice.sentence, notice.detail))

    def _settle(self) -> None:
        if not self._has_lost_the_model():
            self.settled.emit()

    def _has_lost_the_model(self) -> bool:
        """Its process died, or it could not be loaded."""
        session = self._session
        waits = session.model is not None or session.loading_path is not None
        return session.last_load is not None and not waits
