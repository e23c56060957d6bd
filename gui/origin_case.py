"""What the origin analysis is about: the document's answer and sources, or why there is nothing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import QObject, Signal

from logitscope.gui.session_view import SessionView
from logitscope.gui.throttle import Throttle
from logitscope.origin_sentences import against_bos
from logitscope.origin_types import OriginCase
from logitscope.placed_spans import Placement, place_spans
from logitscope.sources import has_sources

FOLLOW_MS = 50
"""Between two looks at a text that changes."""
MANY_SPANS = 30
"""Above this the search for sources is asked for: it takes minutes, and works in groups."""


class Obstacle(StrEnum):
    """Why nothing can be worked out."""

    NO_MODEL = "no_model"
    READING = "reading"
    """The model has not read the prompt yet, or was stopped."""
    TOO_LONG = "too_long"
    """Prompt and answer do not fit into the context."""
    NO_ANSWER = "no_answer"
    NO_SOURCE = "no_source"
    CHANGED_TEXT = "changed_text"
    """The chat template writes the marked text in another way."""
    NO_FRAME = "no_frame"
    """Without the sources nothing would be left to read."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A case, or the obstacle; the placement of the blocks where the ids are known."""

    case: OriginCase | None = None
    obstacle: Obstacle | None = None
    placement: Placement | None = None


def subject_of(session: SessionView, *, whole_prompt: bool) -> Subject:
    """What there is to work out. ``whole_prompt``: everything behind BOS is the source."""
    vocabulary, state = session.vocabulary, session.state
    if session.model is None or vocabulary is None:
        return Subject(obstacle=Obstacle.NO_MODEL)
    if not session.is_ready:
        return Subject(obstacle=Obstacle.READING)
    if len(session.ids) > session.model.context_length:
        return Subject(obstacle=Obstacle.TOO_LONG)
    placement = place_spans(state.blocks, state.prompt_ids, vocabulary)
    answer = session.document.tail_ids
    if whole_prompt:
        case = against_bos(vocabulary, state.prompt_ids, answer)
    else:
        spans = tuple(span.tokens for span in placement.spans)
        case = OriginCase(state.prompt_ids, spans, answer)
    return Subject(case, _obstacle(session, case, whole_prompt), placement)


def is_grown(before: OriginCase | None, now: OriginCase | None) -> bool:
    """Whether the answer was only gone on with."""
    if before is None or now is None:
        return False
    same = before.prompt_ids == now.prompt_ids and before.sources == now.sources
    return same and now.answer_ids[: len(before.answer_ids)] == before.answer_ids


class CaseFollower(QObject):
    """Keeps the subject of the document, as long as it is active."""

    followed = Signal(object)
    """The document was looked at; the Subject before."""

    def __init__(self, session: SessionView, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.subject = Subject(obstacle=Obstacle.NO_MODEL)
        self.is_active = False
        self.is_against_bos = False
        """No source is marked, and the whole prompt counts as one."""
        self._throttle = Throttle(FOLLOW_MS, self)
        self._throttle.triggered.connect(self.follow)
        for signal in (
            session.path_changed,
            session.prompt_changed,
            session.sources_changed,
            session.explored,
        ):
            signal.connect(self._throttle.throttle)
        session.run_changed.connect(self.follow)

    def flush(self) -> None:
        """Look at once at what would wait."""
        self._throttle.flush()

    def compare_with_bos(self) -> None:
        """Take the whole prompt as the source, until something is marked."""
        self.is_against_bos = True
        self.follow()

    def follow(self) -> None:
        """Look at the document now."""
        if not self.is_active:
            return
        before = self.subject
        if has_sources(self._session.state.blocks):
            self.is_against_bos = False
        self.subject = subject_of(self._session, whole_prompt=self.is_against_bos)
        self.followed.emit(before)


def _obstacle(session: SessionView, case: OriginCase, whole_prompt: bool) -> Obstacle | None:
    if not whole_prompt and not has_sources(session.state.blocks):
        return Obstacle.NO_SOURCE
    if not case.answer_ids:
        return Obstacle.NO_ANSWER
    if not case.sources:
        return Obstacle.NO_FRAME if whole_prompt else Obstacle.CHANGED_TEXT
    return None
