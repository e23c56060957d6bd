"""Training a bigram model off the window's thread: start it, watch it, stop it, save it."""

from __future__ import annotations

from functools import partial
from hashlib import sha256
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from logitscope import bigram_file
from logitscope.backends.library import own_models
from logitscope.backends.messages import Failed, Reply, Tokenized
from logitscope.bigram import BigramError
from logitscope.bigram_file import SUFFIX, BigramFile
from logitscope.bigram_run import BigramRun, file_stem
from logitscope.gui.background import Background
from logitscope.gui.session_view import SessionView

FRAME_MS = 33
"""A curve that is drawn 30 times a second looks alive."""


class BigramTraining(QObject):
    """At most one training at a time; a newer one replaces it."""

    progressed = Signal()
    """``run`` came further."""
    ended = Signal()
    """``model`` is trained, or the training failed."""
    failed = Signal(str)
    saved = Signal(str)

    def __init__(self, session: SessionView, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._background = Background(self)
        self._timer = QTimer(self, interval=FRAME_MS)
        self._timer.timeout.connect(self.progressed)
        self._wish: tuple[str, int, float | None] | None = None
        self._number = 0
        self.run: BigramRun | None = None
        self.model: BigramFile | None = None
        self.is_running = False
        session.engine.replied.connect(self._take)
        session.model_changed.connect(self._model_changed)

    def start(self, text: str, steps: int, rate: float | None, *, by_tokens: bool) -> None:
        """Train on a text; ``rate`` None chooses the safe one. For tokens the loaded model's
        tokenizer cuts the text first."""
        self.stop()
        self.run = self.model = None
        self.is_running = True
        if by_tokens:
            self._wish = (text, steps, rate)
            self._number = self._session.engine.tokenize(text)
        else:
            self._begin(BigramRun(text, None, steps, rate))

    def stop(self) -> None:
        """End the training with its present step; the table stays as it is."""
        if self.run is not None:
            self.run.is_stopped = True
        elif self._wish is not None:
            self._wish = None
            self._end()

    def save(self) -> None:
        """Write the model where the person's own models are; ``saved`` tells the path."""
        model = self.model
        if model is not None:
            self._background.start(partial(_write, model), self.saved.emit, self._save_failed)

    def close(self) -> None:
        """Stop, and let nothing arrive any more."""
        self.stop()
        self._timer.stop()
        self._background.close()

    def _begin(self, run: BigramRun) -> None:
        self.run = run
        self._timer.start()
        self._background.start(run.work, partial(self._trained, run), partial(self._fail, run))

    def _trained(self, run: BigramRun, model: BigramFile) -> None:
        if run is self.run:
            self.model = model
            self._end()

    def _fail(self, run: BigramRun, error: Exception) -> None:
        if run is self.run:
            self._end()
            expected = isinstance(error, BigramError | ValueError)
            self.failed.emit(str(error) if expected else repr(error))

    def _end(self) -> None:
        self.is_running = False
        self._timer.stop()
        self.progressed.emit()
        self.ended.emit()

    def _save_failed(self, error: Exception) -> None:
        reason = getattr(error, "strerror", None) or str(error)
        words = self.tr("The model cannot be saved in {folder} ({reason}): make room there.")
        self.failed.emit(words.format(folder=own_models(), reason=reason))

    def _take(self, reply: Reply) -> None:
        if self._wish is None or reply.number != self._number:
            return
        match reply:
            case Tokenized():
                self._begin_with(reply.ids)
            case Failed():
                self._give_up(reply.sentence)

    def _model_changed(self) -> None:
        if self._wish is not None and self._session.vocabulary is None:
            self._give_up(self.tr("The model whose tokens were asked for is gone: train again."))

    def _give_up(self, sentence: str) -> None:
        self._wish = None
        self._end()
        self.failed.emit(sentence)

    def _begin_with(self, ids: tuple[int, ...]) -> None:
        vocabulary = self._session.vocabulary
        wish, self._wish = self._wish, None
        if wish is not None and vocabulary is not None:
            text, steps, rate = wish
            distinct = sorted(set(ids))
            pieces = tuple(vocabulary.bytes_of(i) for i in distinct if not vocabulary.is_special(i))
            self._begin(BigramRun(text, pieces, steps, rate))


def _write(model: BigramFile) -> str:
    """Save under a name that tells the text and the numbers apart; returns the path."""
    folder: Path = own_models()
    folder.mkdir(parents=True, exist_ok=True)
    mark = sha256(bigram_file.dumps(model)).hexdigest()[:8]
    path = folder / f"{file_stem(model)}-{mark}{SUFFIX}"
    bigram_file.save(path, model)
    return str(path)
