"""Looking tokens up by text, bytes or id, in the order of the row on show."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from logitscope.gui.panels.step_words import Labels
from logitscope.gui.session import Session
from logitscope.gui.shown import ShownRow
from logitscope.gui.widgets import numbers
from logitscope.gui.widgets.search_bar import SearchBar
from logitscope.ranking import Ids
from logitscope.step_table import by_rank
from logitscope.vocabulary import Vocabulary
from logitscope.vocabulary_search import Match, VocabularySearch, parse_query

NOTHING: Ids = np.empty(0, dtype=np.int64)


class TokenSearch(QWidget):
    """A search bar over the session's vocabulary."""

    found = Signal(int)
    """The id of the hit to look at."""

    def __init__(self, session: Session, labels: Labels, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._labels = labels
        self._search: VocabularySearch | None = None
        self._vocabulary: Vocabulary | None = None
        self._row: ShownRow | None = None
        self._hits: Ids = NOTHING
        self._place = 0
        self.bar = SearchBar(
            self.tr("Find a token: text, E2 80 94 or #id"),
            (
                (Match.PREFIX.value, self.tr("begins with")),
                (Match.EXACT.value, self.tr("is exactly")),
                (Match.CONTAINS.value, self.tr("contains")),
            ),
        )
        self.bar.changed.connect(self._look_up)
        self.bar.stepped.connect(self._step)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.bar)

    @property
    def hits(self) -> Ids:
        """Ids found, likeliest first."""
        return self._hits

    def refresh(self) -> None:
        """The row on show may be another one: order the hits anew, stay with the current one."""
        row = self._session.row
        if row is self._row and self._session.vocabulary is self._vocabulary:
            return
        if self._session.vocabulary is not self._vocabulary:
            self._look_up()
            return
        self._row = row
        if row is None or not len(self._hits):
            self._say()
            return
        current = int(self._hits[self._place])
        self._hits = by_rank(row.distribution, self._hits)
        self._place = self._hits.tolist().index(current)
        self._say()

    def _look_up(self) -> None:
        row, vocabulary = self._session.row, self._session.vocabulary
        if vocabulary is not self._vocabulary:
            self._vocabulary = vocabulary
            self._search = None if vocabulary is None else VocabularySearch(vocabulary)
        self._row = row
        self._hits, self._place = NOTHING, 0
        if self._search is not None and row is not None and self.bar.text:
            query = parse_query(
                self.bar.text,
                Match(self.bar.way.currentData()),
                ignores_case=not self.bar.minds_case,
            )
            found = self._search.find(query, len(row.distribution))
            self._hits = by_rank(row.distribution, found)
        self._show_hit()

    def _step(self, by: int) -> None:
        if len(self._hits):
            self._place = (self._place + by) % len(self._hits)
            self._show_hit()

    def _show_hit(self) -> None:
        self._say()
        if len(self._hits):
            self.found.emit(int(self._hits[self._place]))

    def _say(self) -> None:
        self.bar.set_answer(self._answer())

    def _answer(self) -> str:
        row = self._row
        if row is None or not self.bar.text:
            return ""
        if not len(self._hits):
            return self.tr("No token of this vocabulary matches.")
        token_id = int(self._hits[self._place])
        return self.tr("“{token}”: rank {rank} · p {p} · {n} of {all}").format(
            token=self._labels(token_id),
            rank=numbers.count(row.distribution.rank(token_id)),
            p=numbers.probability(row.distribution.probability(token_id)),
            n=numbers.count(self._place + 1),
            all=numbers.count(len(self._hits)),
        )
