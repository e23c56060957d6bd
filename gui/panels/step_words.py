"""Words and facts about one step that several panels say in the same way."""

from __future__ import annotations

import html
from dataclasses import dataclass

from logitscope.display import hex_of, token_label
from logitscope.gui.session import Session
from logitscope.gui.words import mark, translated
from logitscope.sampling import Stage
from logitscope.step_table import stage_of, was_impossible
from logitscope.steps import Origin
from logitscope.vocabulary import Vocabulary

CONTEXT_TOKENS = 6
"""Tokens shown in "after …"."""
CACHED_LABELS = 20_000

_STAGE_NAMES = {
    Stage.PENALTIES: mark("Stage", "penalties"),
    Stage.TEMPERATURE: mark("Stage", "temperature"),
    Stage.TOP_K: mark("Stage", "top-k"),
    Stage.TYPICAL: mark("Stage", "typical"),
    Stage.TOP_P: mark("Stage", "top-p"),
    Stage.MIN_P: mark("Stage", "min-p"),
}
_GREEDY = mark("Stage", "greedy")
_IMPOSSIBLE = mark("Stage", "impossible (logit −∞)")
_ORIGINS = {
    Origin.SAMPLED: mark("Origin", "sampled"),
    Origin.FORCED: mark("Origin", "forced"),
    Origin.INSERTED: mark("Origin", "inserted"),
    Origin.EXPLORED: mark("Origin", "explored"),
}
_IN_PROMPT = mark("Origin", "in the prompt")
_IN_TEXT = mark("Origin", "in the text")


def stage_name(stage: Stage) -> str:
    """What people call a stage."""
    return translated("Stage", _STAGE_NAMES[stage])


def remover_name(code: int, *, is_greedy: bool) -> str:
    """Who removed a token, from a code of ``Shaped.removed_by``; "" for a kept one."""
    if was_impossible(code):
        return translated("Stage", _IMPOSSIBLE)
    stage = stage_of(code)
    if stage is None:
        return ""
    return translated("Stage", _GREEDY) if is_greedy else stage_name(stage)


class Labels:
    """One line of text for each id of the session's vocabulary, remembered."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._vocabulary: Vocabulary | None = None
        self._known: dict[int, str] = {}

    def __call__(self, token_id: int) -> str:
        vocabulary = self._session.vocabulary
        if vocabulary is not self._vocabulary or len(self._known) > CACHED_LABELS:
            self._known.clear()
            self._vocabulary = vocabulary
        if vocabulary is None or not 0 <= token_id < len(vocabulary):
            return f"‹{token_id}›"
        found = self._known.get(token_id)
        if found is None:
            found = self._known[token_id] = token_label(vocabulary, token_id)
        return found

    def hex(self, token_id: int) -> str:
        """The token's bytes in hexadecimal."""
        vocabulary = self._session.vocabulary
        if vocabulary is None or not 0 <= token_id < len(vocabulary):
            return ""
        return hex_of(vocabulary.bytes_of(token_id))

    def before(self, ids: tuple[int, ...]) -> str:
        """The end of a context: "…" stands for what is left out."""
        shown = "".join(self(i) for i in ids[-CONTEXT_TOKENS:])
        return ("…" if len(ids) > CONTEXT_TOKENS else "") + shown


@dataclass(frozen=True, slots=True)
class ActualToken:
    """The token that stands where the row on show predicts one."""

    token_id: int
    how: str
    """How it came there, in words."""
    is_forced: bool = False


def actual_token(session: Session) -> ActualToken | None:
    """The token behind the row on show; None where the text ends."""
    row = session.row
    if row is None:
        return None
    other = session.inspected
    if other is not None and other.next_id is not None and other.ids == row.ids:
        return ActualToken(other.next_id, translated("Origin", _IN_TEXT))
    ids = session.ids
    place = row.position
    if place >= len(ids) or row.ids != ids[:place]:
        return None
    step = session.document.step_at(place)
    if step is None:
        return ActualToken(ids[place], translated("Origin", _IN_PROMPT))
    how = translated("Origin", _ORIGINS[step.origin])
    return ActualToken(ids[place], how, step.origin is Origin.FORCED)


def table(rows: list[tuple[str, str]]) -> str:
    """A tooltip of names and values; both are taken as plain text."""
    lines = (
        f"<tr><td>{html.escape(name)}&nbsp;&nbsp;</td><td>{html.escape(value)}</td></tr>"
        for name, value in rows
    )
    return f"<table>{''.join(lines)}</table>"
