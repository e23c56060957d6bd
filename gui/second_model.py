"""A second model beside the session's, in a process of its own, that reads the same text."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal

from logitscope.backends.base import LoadOptions
from logitscope.backends.messages import Failed, Finished, Reply, Tokenized
from logitscope.gui.engine import Engine
from logitscope.gui.scoring import Scorer
from logitscope.gui.session import Session
from logitscope.gui.subjects import Subject


class MirroredText(Subject):
    """Somebody else's text for a model. What is known stays until the new ids are there."""

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._ids: tuple[int, ...] = ()
        self._text: str | None = None
        self._number = 0
        session.engine.replied.connect(self._take)

    @property
    def ids(self) -> Sequence[int]:
        return self._ids

    @property
    def is_ready(self) -> bool:
        return self._session.model is not None and self._number == 0

    def set_ids(self, ids: tuple[int, ...]) -> None:
        """The very tokens of the other side: both have one vocabulary."""
        self._text, self._number = None, 0
        if ids != self._ids:
            self._ids = ids
            self.changed.emit()

    def set_text(self, text: str) -> None:
        """Let the model's own tokenizer cut it, with its BOS in front."""
        if self._session.model is None or text == self._text:
            return
        self._text = text
        if text:
            self._number = self._session.engine.tokenize(text, add_special=True)
        else:
            self._number, self._ids = 0, ()
        self.changed.emit()

    def _take(self, reply: Reply) -> None:
        if self._number == 0 or reply.number != self._number:
            return
        match reply:
            case Tokenized():
                self._number, self._ids = 0, reply.ids
            case Failed() | Finished():
                self._number, self._text = 0, None
        self.changed.emit()


class SecondModel(QObject):
    """The model, the text it reads and the losses it finds. ``close`` ends its process."""

    model_changed = Signal()

    def __init__(
        self, path: str, backend: str, options: LoadOptions | None, parent: QObject
    ) -> None:
        super().__init__(parent)
        self.engine = Engine(self)
        self.session = Session(self.engine, self)
        self.text = MirroredText(self.session, self)
        self.scorer = Scorer(self.session, self.text, self)
        self.session.model_changed.connect(self.model_changed)
        self.session.open_model(path, backend, options)

    def close(self) -> None:
        """End the process; this object is of no use afterwards."""
        self.scorer.set_active(False)
        self.engine.close()
        self.deleteLater()
