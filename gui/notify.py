"""One road for messages: a bar for the expected, a dialog for bugs, a list of them all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import count

from PySide6.QtCore import QObject, Signal

from logitscope.gui.message import Action, Message, Severity, Topic
from logitscope.gui.notices import Notice
from logitscope.gui.reading import Stage
from logitscope.gui.session import Session
from logitscope.one_line import in_one_line

KEPT_MESSAGES = 200

WaysOut = Callable[[bool], Sequence[Action]]
"""Whether loading again can help -> buttons for a message that leaves no model."""


class Messages(QObject):
    """Takes messages from everywhere and hands them to who shows them.

    A message is open until one of its actions was called, or it is settled: what it says does
    not hold any more. Closing it on screen leaves it open, to be acted on from the list.
    """

    arrived = Signal(object)
    settled = Signal(object)
    """A message that is not open any more."""

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._kept: list[Message] = []
        self._open: dict[int, Message] = {}
        self._numbers = count(1)
        self.ways_out: WaysOut = lambda _again: ()
        session.noticed.connect(self._take_notice)
        session.model_changed.connect(self._settle_model)
        session.reading.changed.connect(self._settle_text)
        session.path_changed.connect(self._settle_room)

    @property
    def kept(self) -> tuple[Message, ...]:
        """The last messages, newest first."""
        return tuple(reversed(self._kept))

    def is_open(self, message: Message) -> bool:
        """Whether its actions still make sense."""
        return message.number in self._open

    def say(self, sentence: str, *actions: Action, topic: Topic = Topic.OTHER) -> None:
        """One sentence that goes by itself."""
        self.put(Message(sentence, actions=actions, topic=topic))

    def put(self, message: Message) -> None:
        """Show a message, and keep it."""
        self.arrived.emit(self._keep(message))

    def settle(self, topic: Topic) -> None:
        """What the messages about this say does not hold any more."""
        for message in [m for m in self._open.values() if m.topic is topic]:
            self._close(message.number)

    def _keep(self, message: Message) -> Message:
        number = next(self._numbers)
        actions = tuple(
            Action(action.title, partial(self._act, number, action)) for action in message.actions
        )
        stamped = replace(
            message,
            sentence=in_one_line(message.sentence),
            at=datetime.now(),
            number=number,
            actions=actions,
        )
        self._kept = [*self._kept[1 - KEPT_MESSAGES :], stamped]
        self._open[number] = stamped
        for forgotten in [n for n in self._open if n < self._kept[0].number]:
            self._close(forgotten)
        return stamped

    def _act(self, number: int, action: Action) -> None:
        self._close(number)
        action.call()

    def _close(self, number: int) -> None:
        message = self._open.pop(number, None)
        if message is not None:
            self.settled.emit(message)

    def _take_notice(self, notice: Notice) -> None:
        if notice.is_told_already:
            return
        model = self._session.model
        if model is not None and notice.sentence in model.notes:
            # Said at every load of this model, and beside its context length in the model bar.
            self._keep(Message(notice.sentence, notice.detail))
        elif notice.is_bug:
            self.put(Message(notice.sentence, notice.detail, Severity.BUG))
        elif notice.blames_model or self._has_lost_the_model():
            actions = tuple(self.ways_out(notice.can_load_again))
            # Each text that is typed is another try, and may have numbers.
            topic = Topic.TEXT if notice.blames_model else Topic.MODEL
            self.put(Message(notice.sentence, notice.detail, Severity.PROBLEM, actions, topic))
        else:
            self.put(Message(notice.sentence, notice.detail, topic=notice.topic))

    def _settle_model(self) -> None:
        self._settle_room()
        if not self._has_lost_the_model():
            self.settle(Topic.MODEL)

    def _settle_text(self) -> None:
        if self._session.reading.stage in (Stage.READING, Stage.READ, Stage.EMPTY):
            self.settle(Topic.TEXT)

    def _settle_room(self) -> None:
        model = self._session.model
        if model is None or len(self._session.ids) < model.context_length:
            self.settle(Topic.ROOM)

    def _has_lost_the_model(self) -> bool:
        """Its process died, or it could not be loaded."""
        session = self._session
        waits = session.model is not None or session.loading_path is not None
        return session.last_load is not None and not waits
