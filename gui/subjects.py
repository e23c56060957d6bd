"""Texts whose tokens are scored: the one on screen, or one that was opened or pasted."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal

from logitscope.backends.messages import Failed, Finished, Reply, Tokenized
from logitscope.gui.session import Session
from logitscope.gui.session_view import SessionView
from logitscope.steps import StepRecord


class Subject(QObject):
    """Ids to score: none here. ``changed``: they are other ones, or became known or unknown."""

    changed = Signal()

    @property
    def ids(self) -> Sequence[int]:
        return ()

    @property
    def is_ready(self) -> bool:
        """The ids are those of the present text and model, and nothing is being generated."""
        return False

    @property
    def first_step(self) -> int:
        """From this position on tokens bring their own numbers."""
        return len(self.ids)

    @property
    def steps(self) -> Sequence[StepRecord]:
        """The records of the tokens from ``first_step`` on."""
        return ()


class ScreenText(Subject):
    """The prompt and the current path."""

    def __init__(self, session: SessionView, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        session.path_changed.connect(self.changed)
        session.run_changed.connect(self.changed)

    @property
    def ids(self) -> Sequence[int]:
        return self._session.ids

    @property
    def is_ready(self) -> bool:
        return self._session.is_ready and not self._session.is_running

    @property
    def first_step(self) -> int:
        return self._session.prompt_length

    @property
    def steps(self) -> Sequence[StepRecord]:
        return self._session.document.steps


class OpenedText(Subject):
    """A text beside the document. Its ids come from the loaded model, and again from the next.

    The model's BOS goes in front, as for a prompt; names of special tokens are plain text.
    """

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._ids: tuple[int, ...] = ()
        self._number = 0
        self._model = ""
        self.text = ""
        self.name = ""
        """What the text is called: a file's name."""
        session.model_changed.connect(self._follow_model)
        session.engine.replied.connect(self._take)

    @property
    def ids(self) -> Sequence[int]:
        return self._ids

    @property
    def is_ready(self) -> bool:
        session = self._session
        return session.model is not None and not session.is_running and self._number == 0

    def set_text(self, text: str, name: str) -> None:
        """Take another text."""
        self.text, self.name = text, name
        self._ask()

    def _follow_model(self) -> None:
        model = self._session.model
        if model is not None and model.header_hash != self._model:
            self._ask()

    def _ask(self) -> None:
        model = self._session.model
        self._ids = ()
        self._model = "" if model is None else model.header_hash
        self._number = 0
        if model is not None and self.text:
            self._number = self._session.engine.tokenize(self.text, add_special=True)
        self.changed.emit()

    def _take(self, reply: Reply) -> None:
        if self._number == 0 or reply.number != self._number:
            return
        match reply:
            case Tokenized():
                self._number, self._ids = 0, reply.ids
            case Failed() | Finished():
                # The session has told the person why.
                self._number = 0
        self.changed.emit()
