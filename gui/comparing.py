"""What the comparison panel compares: one text on two models, or two texts on one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from operator import is_not

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, QTimer, Signal

from logitscope.alignment import (
    Differences,
    Pairing,
    Tokens,
    Totals,
    differences,
    pair_by_bytes,
    pair_by_ids,
    tokens_of,
    totals,
)
from logitscope.backends.base import LoadOptions
from logitscope.gui.background import Background
from logitscope.gui.divergence import Divergence
from logitscope.gui.notices import Notice
from logitscope.gui.scoring import Scorer
from logitscope.gui.second_model import SecondModel
from logitscope.gui.session import Session
from logitscope.gui.subjects import OpenedText, ScreenText
from logitscope.model_pair import same_vocabulary, top_agreement
from logitscope.vocabulary import Vocabulary

PAUSE_MS = 60
"""Changes are gathered for so long before the ranges are computed again."""


class Against(StrEnum):
    """What stands on the right."""

    NOTHING = "nothing"
    MODEL = "model"
    TEXT = "text"


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """Both sides as they were a moment ago, and what came out."""

    vocabularies: tuple[Vocabulary, Vocabulary]
    left: Tokens
    right: Tokens
    pairing: Pairing
    differences: Differences
    totals: Totals
    same_ids: bool
    """Both sides have the very same tokens, of one vocabulary."""


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    vocabulary: Vocabulary
    ids: NDArray[np.int32]
    loss: NDArray[np.float64]


class Comparison(QObject):
    """Keeps losses of both sides and their differences up to date while it is active."""

    changed = Signal()
    """``result`` is another one, or the divergence knows more."""
    state_changed = Signal()
    """Something began, ended, or got on; another text or model stands on a side."""
    said = Signal(str)
    """One sentence about the second model."""
    told = Signal(str)
    """One sentence about the other text."""

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.session = session
        self.result: Compared | None = None
        self.against = Against.NOTHING
        self.second: SecondModel | None = None
        self.last_load: tuple[str, str, LoadOptions | None] | None = None
        self.left_text, self.other_text = OpenedText(session, self), OpenedText(session, self)
        self._lefts = (
            Scorer(session, ScreenText(session, self), self),
            Scorer(session, self.left_text, self),
        )
        self.left = self._lefts[0]
        self._other = Scorer(session, self.other_text, self)
        self.divergence = Divergence(self)
        self.divergence.changed.connect(self.changed)
        self._background = Background(self)
        self._known_pair: tuple[Vocabulary, Vocabulary, bool] | None = None
        self._is_active = self._is_computing = self._is_dirty = False
        self._pause = QTimer(self, interval=PAUSE_MS, singleShot=True)
        self._pause.timeout.connect(self._compute)
        for scorer in (*self._lefts, self._other):
            self._listen(scorer)
        session.model_changed.connect(self._follow_models)

    def _listen(self, scorer: Scorer) -> None:
        scorer.changed.connect(self._touch)
        scorer.subject.changed.connect(self._touch)
        scorer.progressed.connect(self.state_changed)
        scorer.state_changed.connect(self.state_changed)

    # -- what is compared -------------------------------------------------------------------

    @property
    def right(self) -> Scorer | None:
        """Losses of the right side; None while nothing stands there."""
        if self.against is Against.TEXT:
            return self._other
        if self.against is Against.MODEL and self.second is not None:
            return self.second.scorer
        return None

    @property
    def right_session(self) -> Session | None:
        """Whose model reads the right side."""
        if self.against is Against.MODEL:
            return None if self.second is None else self.second.session
        return self.session if self.against is Against.TEXT else None

    @property
    def shows_opened(self) -> bool:
        """The left text is an opened one, not that on screen."""
        return self.left is self._lefts[1]

    @property
    def shares_vocabulary(self) -> bool:
        """Two models whose ids all have the same bytes."""
        pair = self.session.vocabulary, self._other_vocabulary
        if self.against is not Against.MODEL or pair[0] is None or pair[1] is None:
            return False
        if self._known_pair is None or any(map(is_not, pair, self._known_pair[:2])):
            self._known_pair = pair[0], pair[1], same_vocabulary(pair[0], pair[1])
        return self._known_pair[2]

    @property
    def can_diverge(self) -> bool:
        """The very same tokens on two models of one vocabulary, all of them as they are now."""
        right = self.right
        if right is None or not self.shares_vocabulary or not self.left.subject.is_ready:
            return False
        return np.array_equal(self.left.table.ids, right.table.ids)

    @property
    def agreement(self) -> tuple[int, int]:
        """Positions with the same likeliest token, and all that are known in both."""
        right = self.right
        if right is None or not self.can_diverge:
            return 0, 0
        return top_agreement(self.left.table.top_ids[:, 0], right.table.top_ids[:, 0])

    def use_screen(self) -> None:
        """The text on screen on the left."""
        self._set_left(self._lefts[0])

    def use_text(self, text: str, name: str) -> None:
        """An opened text on the left."""
        self.left_text.set_text(text, name)
        self._set_left(self._lefts[1])

    def compare_text(self, text: str, name: str) -> None:
        """Another text on the right, read by the same model. A second model is closed: two texts
        on two models differ in two ways at once, and no difference would tell which it is from."""
        had_model = self.second is not None
        self.end()
        self.against = Against.TEXT
        self.other_text.set_text(text, name)
        self.set_active(self._is_active)
        self.state_changed.emit()
        if had_model:
            self.said.emit(
                self.tr("Two texts are compared on one model: the second model was closed.")
            )

    def open_model(self, path: str, backend: str = "", options: LoadOptions | None = None) -> None:
        """The same text on this model, in a process of its own, on the right. Another text is put
        away; see ``compare_text``."""
        had_text = self.against is Against.TEXT
        self.end()
        self.against = Against.MODEL
        self.last_load = path, backend, options
        second = self.second = SecondModel(path, backend, options, self)
        self._listen(second.scorer)
        second.model_changed.connect(self._follow_models)
        second.session.noticed.connect(self._pass_on)
        second.engine.activity_changed.connect(self.state_changed)
        self.set_active(self._is_active)
        self.state_changed.emit()
        if had_text:
            words = self.tr("Two models are compared on one text: “{name}” was put away.")
            self.told.emit(words.format(name=self.other_text.name))

    def load_again(self) -> None:
        """The second model once more, after it was closed."""
        if self.last_load is not None:
            self.open_model(*self.last_load)

    def end(self) -> None:
        """Nothing on the right; a second model's process ends."""
        self._other.set_active(False)
        self.left.set_active(False)
        self.divergence.forget()
        self.against, self.result = Against.NOTHING, None
        if self.second is not None:
            second, self.second = self.second, None
            second.close()
        self.changed.emit()
        self.state_changed.emit()

    def set_active(self, active: bool) -> None:
        """Score from now on, or pause."""
        self._is_active = active
        for scorer in (self.left, self.right):
            # Without a comparison nobody needs the losses.
            if scorer is not None:
                scorer.set_active(active and self.against is not Against.NOTHING)
        if active:
            self._touch()
        else:
            self.divergence.stop()

    def stop(self) -> None:
        """Stop scoring on both sides; what is known stays."""
        for scorer in (self.left, self.right):
            if scorer is not None and scorer.is_scoring:
                scorer.stop()

    def resume(self) -> None:
        for scorer in (self.left, self.right):
            if scorer is not None and scorer.is_stopped:
                scorer.resume()

    def diverge(self, first: int) -> None:
        """Find the divergence at some more positions, from ``first`` on. Only within the first
        window: behind it the two models may have read different beginnings."""
        right = self.right
        if right is not None and self.can_diverge:
            self.divergence.follow(tuple(self.left.table.ids.tolist()))
            self.divergence.start(first, min(self.left.window_size, right.window_size))

    def shut_down(self) -> None:
        """The window closes: nothing of this may be left."""
        self.set_active(False)
        self.end()
        self.divergence.close()
        self._background.close()

    # -- following --------------------------------------------------------------------------

    @property
    def _other_vocabulary(self) -> Vocabulary | None:
        session = self.right_session
        return None if session is None else session.vocabulary

    def _set_left(self, scorer: Scorer) -> None:
        self.left.set_active(False)
        self.left = scorer
        self.set_active(self._is_active)
        self.state_changed.emit()

    def _follow_models(self) -> None:
        self.divergence.forget()
        if self.second is not None and self.shares_vocabulary:
            self.divergence.set_engines(self.session.engine, self.second.engine)
        self.set_active(self._is_active)
        self.state_changed.emit()

    def _pass_on(self, notice: Notice) -> None:
        if notice.is_bug:
            self.session.noticed.emit(notice)
        elif notice.sentence not in self._notes:
            self.said.emit(notice.sentence)

    @property
    def _notes(self) -> tuple[str, ...]:
        """What the second model's files say; the window shows it where the model is named."""
        model = None if self.second is None else self.second.session.model
        return () if model is None else model.notes

    def _touch(self) -> None:
        if self._is_active and not self._pause.isActive():
            self._pause.start()

    def _mirror(self) -> None:
        """Let the second model read what stands on the left."""
        vocabulary, subject = self.session.vocabulary, self.left.subject
        if self.second is None or vocabulary is None or not subject.is_ready:
            return
        if self.shares_vocabulary:
            self.second.text.set_ids(tuple(subject.ids))
        elif self.shows_opened:
            self.second.text.set_text(self.left_text.text)
        else:
            text = tokens_of(vocabulary, subject.ids).text
            self.second.text.set_text(text.decode("utf-8", errors="replace"))

    def _compute(self) -> None:
        self._mirror()
        if self._is_computing:
            self._is_dirty = True
            return
        left, right = self._side(self.left), self._side(self.right)
        if left is None or right is None:
            self.result = None
            self.changed.emit()
            return
        self._is_computing = True
        by_ids = self.against is Against.TEXT
        work = partial(_compared, left, right, self.result, by_ids=by_ids)
        self._background.start(work, partial(self._take, self.right), self._fail)

    def _side(self, scorer: Scorer | None) -> _Side | None:
        is_left = scorer is self.left
        vocabulary = self.session.vocabulary if is_left else self._other_vocabulary
        if scorer is None or vocabulary is None or len(scorer.table) == 0:
            return None
        return _Side(vocabulary, scorer.table.ids.copy(), scorer.table.loss)

    def _take(self, right: Scorer | None, result: Compared) -> None:
        self._is_computing = False
        if right is self.right and right is not None:
            self.result = result
            if self.can_diverge:
                self.divergence.follow(tuple(self.left.table.ids.tolist()))
            self.changed.emit()
        self._again()

    def _fail(self, error: Exception) -> None:
        self._is_computing = False
        self.session.noticed.emit(
            Notice(self.tr("The two sides cannot be compared."), repr(error), is_bug=True)
        )
        self._again()

    def _again(self) -> None:
        if self._is_dirty:
            self._is_dirty = False
            self._touch()


def _compared(left: _Side, right: _Side, last: Compared | None, *, by_ids: bool) -> Compared:
    """The ranges are found again only where a token differs from the last time."""
    vocabularies = left.vocabulary, right.vocabulary
    if (
        last is not None
        and not any(map(is_not, vocabularies, last.vocabularies))
        and np.array_equal(last.left.ids, left.ids)
        and np.array_equal(last.right.ids, right.ids)
    ):
        tokens, others, pairing = last.left, last.right, last.pairing
    else:
        tokens = tokens_of(left.vocabulary, left.ids)
        others = tokens_of(right.vocabulary, right.ids)
        pairing = (pair_by_ids if by_ids else pair_by_bytes)(tokens, others)
    found = differences(pairing, left.loss, right.loss)
    same_ids = np.array_equal(tokens.ids, others.ids) and same_vocabulary(*vocabularies)
    return Compared(vocabularies, tokens, others, pairing, found, totals(pairing, found), same_ids)
