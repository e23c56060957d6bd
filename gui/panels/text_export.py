"""Taking the text out of the window token by token, with the numbers of what was generated."""

from __future__ import annotations

from functools import partial

from PySide6.QtWidgets import QMenu

from logitscope.display import hex_of, token_label
from logitscope.document import Document
from logitscope.gui.export import Cell, Table
from logitscope.gui.export_menu import ExportMenu
from logitscope.gui.session import Session
from logitscope.gui.widgets.token_view import TokenView
from logitscope.steps import StepRecord
from logitscope.vocabulary import Vocabulary

TITLES = (
    "position", "id", "token", "bytes", "origin", "log_probability", "rank", "entropy_nats",
    "shaped_probability", "u", "low", "high", "top_ids", "top_log_probabilities",
)  # fmt: skip
PROMPT = "prompt"
"""Origin of the tokens that have no step of their own."""


class TextExport(ExportMenu):
    """All tokens of the text, or the chosen ones, and the picture of what is in sight."""

    def __init__(self, session: Session, view: TokenView) -> None:
        super().__init__(session, view, "text", self._later, self._chosen, is_own=False)
        self._view = view

    def add_to(self, menu: QMenu) -> None:
        """Add a submenu to the menu of a token."""
        table = menu.addMenu(self.tr("Table of all tokens"))
        table.setEnabled(bool(self._session.ids))
        self.fill(table)

    def _later(self) -> partial[Table]:
        session = self._session
        document = Document(session.state)
        return partial(token_table, session.vocabulary, document, range(len(document.ids)))

    def _chosen(self) -> Table:
        session = self._session
        part = self._view.chosen or range(len(session.ids))
        return token_table(session.vocabulary, session.document, part)


def token_table(vocabulary: Vocabulary | None, document: Document, part: range) -> Table:
    """One row a token; log-probabilities and entropies in nats, raw."""
    if vocabulary is None:
        return Table("tokens", TITLES, ())
    ids = document.ids
    rows = tuple(
        (*_what(vocabulary, ids[position], position), *_numbers(document.step_at(position)))
        for position in part
    )
    return Table("tokens", TITLES, rows)


def _what(vocabulary: Vocabulary, token_id: int, position: int) -> tuple[Cell, ...]:
    label = token_label(vocabulary, token_id)
    return position, token_id, label, hex_of(vocabulary.bytes_of(token_id))


def _numbers(step: StepRecord | None) -> tuple[Cell, ...]:
    if step is None:
        return (PROMPT, *[None] * (len(TITLES) - 5))
    draw = step.draw
    return (
        step.origin.value,
        step.log_probability,
        step.rank,
        step.entropy,
        step.shaped_probability,
        *((None, None, None) if draw is None else (draw.u, draw.low, draw.high)),
        " ".join(map(str, step.top_ids)),
        " ".join(f"{value:.6g}" for value in step.top_log_probabilities),
    )
