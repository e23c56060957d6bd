"""What can be done at a token: rewind, branch with another token, force, insert, copy."""

from __future__ import annotations

import math
from functools import partial

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QInputDialog, QMenu, QWidget

from logitscope.display import token_label
from logitscope.gui.notices import Notice
from logitscope.gui.session import Session
from logitscope.gui.widgets import numbers
from logitscope.gui.widgets.token_view import TokenView
from logitscope.vocabulary import Vocabulary
from logitscope.vocabulary_search import Match, VocabularySearch, parse_query


class TokenMenu(QObject):
    """Makes the context menu of a token view, and carries out what is chosen."""

    def __init__(self, session: Session, view: TokenView) -> None:
        super().__init__(view)
        self._session = session
        self._view = view
        self._wish: tuple[int, int] | None = None
        """A token to force, (position, id), as soon as the row of its position is there."""
        session.row_changed.connect(self._fulfil_wish)

    def menu(self, position: int, parent: QWidget) -> QMenu:
        """The menu for a position; ``len(ids)`` is the end of the text."""
        session = self._session
        menu = QMenu(parent)
        is_behind_prompt = position >= session.prompt_length and session.is_ready
        is_token = position < len(session.ids)
        rewind = menu.addAction(self.tr("Rewind to here"), partial(self.rewind, position))
        rewind.setEnabled(is_behind_prompt and is_token)
        self._add_alternatives(menu, position)
        force = menu.addAction(self.tr("Force a token…"), partial(self._ask_for_token, position))
        force.setEnabled(is_behind_prompt and bool(session.ids))
        insert = menu.addAction(self.tr("Insert text at the end…"), self._ask_for_text)
        insert.setEnabled(session.is_ready and bool(session.ids))
        menu.addSeparator()
        for title, call in (
            (self.tr("Copy text"), self._view.copy_text),
            (self.tr("Copy ids"), self._view.copy_ids),
            (self.tr("Copy bytes"), self._view.copy_bytes),
        ):
            menu.addAction(title, call).setEnabled(bool(self._view.ids))
        return menu

    def _add_alternatives(self, menu: QMenu, position: int) -> None:
        """The likeliest tokens of a generated position, each a branch to begin."""
        session = self._session
        branch = menu.addMenu(self.tr("Branch here with"))
        step = session.document.step_at(position)
        branch.setEnabled(step is not None and session.vocabulary is not None)
        if step is None or session.vocabulary is None:
            return
        for token_id, logarithm in zip(step.top_ids, step.top_log_probabilities, strict=True):
            label = token_label(session.vocabulary, token_id).replace("&", "&&")
            title = f"{label}\t{numbers.percent(math.exp(logarithm))}"
            action = branch.addAction(title, partial(self.force, position, token_id))
            action.setEnabled(token_id != step.token_id)

    # -- doing ------------------------------------------------------------------------------

    def rewind(self, position: int) -> None:
        """Let the text end before a generated token."""
        session = self._session
        if session.prompt_length <= position < len(session.ids):
            session.rewind_to(position)

    def force(self, position: int, token_id: int) -> None:
        """Put a token at a position, as soon as the distribution there is known."""
        self._session.stop()
        self._wish = (position, token_id)
        self._session.select(position)
        self._fulfil_wish()

    def _fulfil_wish(self) -> None:
        session = self._session
        if self._wish is None:
            return
        position, token_id = self._wish
        if session.position != position:
            self._wish = None
        elif session.row is not None and session.row_is_current:
            self._wish = None
            session.force(token_id)

    # -- asking -----------------------------------------------------------------------------

    def _ask_for_token(self, position: int) -> None:
        dialog = self._dialog(
            self.tr("Force a token"),
            self.tr("Its text, its id as #563, or its bytes as E2 80:"),
        )
        dialog.textValueSelected.connect(partial(self._force_written, position))
        dialog.open()

    def _force_written(self, position: int, written: str) -> None:
        vocabulary = self._session.vocabulary
        if vocabulary is None or not written:
            return
        token_id = find_token(vocabulary, written)
        if token_id is None:
            sentence = self.tr("No single token is “{0}”: insert it as text.").format(written)
            self._session.noticed.emit(Notice(sentence))
        else:
            self.force(position, token_id)

    def _ask_for_text(self) -> None:
        dialog = self._dialog(self.tr("Insert text"), self.tr("Text to put behind the last token:"))
        dialog.textValueSelected.connect(self._session.insert_text)
        dialog.open()

    def _dialog(self, title: str, label: str) -> QInputDialog:
        dialog = QInputDialog(self._view.window())
        dialog.setWindowTitle(title)
        dialog.setLabelText(label)
        dialog.finished.connect(dialog.deleteLater)
        return dialog


def find_token(vocabulary: Vocabulary, written: str) -> int | None:
    """The id meant by exact text, ``#563`` or bytes; the lowest of several, None where none is."""
    found = VocabularySearch(vocabulary).find(parse_query(written, Match.EXACT), limit=1)
    return int(found[0]) if len(found) else None
