"""The course of the guessing game: asks the model for rows, and shows nothing of them early."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import QObject, Signal

from logitscope.backends.messages import Channel, Evaluated, Failed, Finished, Reply, Tokenized
from logitscope.distribution import Distribution
from logitscope.guessing import Totals, Verdict, answer_ids, candidates, judge
from logitscope.gui.background import Background
from logitscope.gui.session import Session

FIRST_POSITION = 5
"""Tokens that are given: without any of the text a guess is only luck."""


class Phase(StrEnum):
    IDLE = "idle"
    """No text is chosen."""
    READING = "reading"
    """The text or its next row is on its way from the model."""
    OPEN = "open"
    """Guess now."""
    REVEALED = "revealed"
    STOPPED = "stopped"
    """The model was stopped, or has failed: ``go_on`` asks again."""
    OVER = "over"


@dataclass(frozen=True, slots=True)
class Played:
    """One guess, for the record; bytes of tokens, since another model has other ids."""

    model: str
    position: int
    truth: bytes
    guessed: tuple[bytes, ...]
    confidence: float
    verdict: Verdict


class GuessingGame(QObject):
    """One text, token by token. ``distribution`` and ``verdict`` are None until it is revealed."""

    changed = Signal()

    def __init__(
        self, session: Session, parent: QObject | None = None, source: random.Random | None = None
    ) -> None:
        super().__init__(parent)
        self._session = session
        self._random = source or random.Random()
        self._background = Background(self)
        self._number = 0
        self._row: Distribution | None = None
        self.phase = Phase.IDLE
        self.problem = ""
        """One sentence, where the model did not answer."""
        self.ids: tuple[int, ...] = ()
        self.position = 0
        """Of the token to be guessed."""
        self.candidates: tuple[int, ...] = ()
        self.guessed: tuple[int, ...] = ()
        self.verdict: Verdict | None = None
        self.totals = Totals()
        self.played: tuple[Played, ...] = ()
        """The guesses that the totals count."""
        session.engine.replied.connect(self._take)
        session.model_changed.connect(self._forget)

    @property
    def distribution(self) -> Distribution | None:
        """The model's row, once the guess is made."""
        return self._row if self.phase is Phase.REVEALED else None

    @property
    def truth(self) -> int | None:
        """The token that comes, once the guess is made."""
        return self.ids[self.position] if self.phase is Phase.REVEALED else None

    @property
    def before(self) -> bytes:
        """The text as far as it is known, with the token that was revealed."""
        vocabulary = self._session.vocabulary
        return b"" if vocabulary is None else vocabulary.text_bytes(self.ids[: self.position])

    # -- intents ----------------------------------------------------------------------------

    def start(self, text: str) -> None:
        """Play on a text; nothing without a model."""
        vocabulary = self._session.vocabulary
        if vocabulary is None:
            return
        self._reset()
        self._enter(Phase.READING)
        self._number = self._session.engine.tokenize(text, add_special=vocabulary.adds_bos)

    def start_ids(self, ids: tuple[int, ...]) -> None:
        """Play on tokens of the loaded model."""
        vocabulary = self._session.vocabulary
        if vocabulary is None:
            return
        self._reset()
        self.ids = ids
        # The table of all tokens by their bytes takes 150 ms for 262,144 of them.
        self._background.start(lambda: vocabulary.ids_of_bytes(b""), lambda _: None, lambda _: None)
        self._go_to(max(1, min(FIRST_POSITION, len(ids) // 3)))

    def pick(self, index: int, confidence: float) -> None:
        """Guess one of the candidates."""
        if self.phase is Phase.OPEN and index < len(self.candidates):
            self._judge((self.candidates[index],), confidence, self.candidates)

    def answer(self, typed: str, confidence: float) -> bool:
        """Guess the tokens that begin a typed text; False where there is none."""
        vocabulary = self._session.vocabulary
        if self.phase is not Phase.OPEN or vocabulary is None:
            return False
        ids = answer_ids(vocabulary, typed, self.before)
        if ids:
            self._judge(ids, confidence, None)
        return bool(ids)

    def skip(self) -> None:
        """See the token without a guess; nothing is counted."""
        if self.phase is Phase.OPEN:
            self.guessed, self.verdict = (), None
            self._enter(Phase.REVEALED)

    def go_on(self) -> None:
        """To the next token, or ask for this one again where that was stopped."""
        if self.phase is Phase.REVEALED:
            self._go_to(self.position + 1)
        elif self.phase is Phase.STOPPED:
            self._go_to(self.position)

    def forget_totals(self) -> None:
        self.totals, self.played = Totals(), ()
        self.changed.emit()

    def close(self) -> None:
        self._background.close()

    # -- inside -----------------------------------------------------------------------------

    def _judge(
        self, guess: tuple[int, ...], confidence: float, pool: tuple[int, ...] | None
    ) -> None:
        model, vocabulary = self._session.model, self._session.vocabulary
        if self._row is None or model is None or vocabulary is None:
            return
        truth = self.ids[self.position]
        self.guessed = guess
        self.verdict = judge(self._row, truth, guess, confidence, pool)
        self.totals = self.totals.plus(self.verdict)
        played = Played(
            model=model.name,
            position=self.position,
            truth=vocabulary.bytes_of(truth),
            guessed=tuple(map(vocabulary.bytes_of, guess)),
            confidence=confidence,
            verdict=self.verdict,
        )
        self.played = (*self.played, played)
        self._enter(Phase.REVEALED)

    def _enter(self, phase: Phase, problem: str = "") -> None:
        self.phase, self.problem = phase, problem
        self.changed.emit()

    def _reset(self) -> None:
        self.ids, self.position = (), 0
        self._clear_row()

    def _clear_row(self) -> None:
        self._row, self.verdict = None, None
        self.candidates, self.guessed = (), ()
        self._number = 0

    def _forget(self) -> None:
        """Another model has other tokens."""
        self._reset()
        self._enter(Phase.IDLE)

    def _go_to(self, position: int) -> None:
        """Ask for the row of the next token of the text from ``position`` on: marks are no text."""
        vocabulary = self._session.vocabulary
        self._clear_row()
        if vocabulary is None:
            return
        while position < len(self.ids) and vocabulary.is_special(self.ids[position]):
            position += 1
        self.position = position
        if position >= len(self.ids):
            self._enter(Phase.OVER)
            return
        self._enter(Phase.READING)
        self._number = self._session.engine.evaluate(self.ids[:position], channel=Channel.GAME)

    def _take(self, reply: Reply) -> None:
        if self._number == 0 or reply.number != self._number:
            return
        match reply:
            case Tokenized():
                self.start_ids(reply.ids)
            case Evaluated():
                self._take_row(reply)
            case Failed():
                self._stop(reply.sentence)
            case Finished():
                self._stop(self.tr("The model was stopped."))

    def _take_row(self, reply: Evaluated) -> None:
        logits, vocabulary = self._session.engine.row(reply.row), self._session.vocabulary
        if logits is None or vocabulary is None:
            # A newer row has taken its place.
            self._go_to(self.position)
            return
        self._number = 0
        self._row = Distribution(logits)
        truth = self.ids[self.position]
        self.candidates = candidates(self._row, vocabulary, truth, self._random)
        self._enter(Phase.OPEN)

    def _stop(self, sentence: str) -> None:
        self._number = 0
        self._enter(Phase.STOPPED if self.ids else Phase.IDLE, sentence)
