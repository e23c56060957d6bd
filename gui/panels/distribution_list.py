"""The list tab: every token of the vocabulary by rank, with all its numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QAbstractItemView, QTableView, QVBoxLayout, QWidget

from logitscope.gui import theme
from logitscope.gui.export import Table
from logitscope.gui.export_menu import ExportMenu
from logitscope.gui.panels.ranked_model import TOKEN_ID, Column, RankedModel
from logitscope.gui.panels.ranked_table import TITLES, ranked_table
from logitscope.gui.panels.step_words import Labels
from logitscope.gui.panels.token_search import TokenSearch
from logitscope.gui.session import Session

_SAMPLES = {
    Column.RANK: "262,144",
    Column.TEXT: "·international",
    Column.BYTES: "E2 96 81 69 6E 74",
    Column.ID: "262144",
    Column.LOGIT: "−123.456",
    Column.RAW: "1.234e-100",
    Column.SHAPED: "1.234e-100",
    Column.LOG: "−123.456",
    Column.CUMULATIVE: "cumulative",
    Column.ODDS: "1.234e+100×",
    Column.REMOVED: "removed by",
}
"""Widths come from these: measuring 262,144 rows would take seconds."""

COPIED = 1000
"""Rows that are copied where none is selected; all of them are for a file."""


class RankedView(QTableView):
    """Enter asks for the current token."""

    entered_on = Signal(int)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if Qt.Key(event.key()) in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            index = self.currentIndex()
            if index.isValid():
                self.entered_on.emit(index.data(TOKEN_ID))
            return
        super().keyPressEvent(event)


class ListTab(QWidget):
    """Virtual: only the rows in sight are computed."""

    wants_force = Signal(int)
    looked_at = Signal(int)

    def __init__(self, session: Session, labels: Labels, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.model = RankedModel(labels, self)
        self.search = TokenSearch(session, labels)
        self.search.found.connect(self.show_token)
        self.view = RankedView()
        self.view.setModel(self.model)
        self.view.setAccessibleName(self.tr("All tokens by rank"))
        self.view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.view.setShowGrid(False)
        self.view.setWordWrap(False)
        self.view.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.view.verticalHeader().hide()
        self.view.setStyleSheet("QTableView::item { padding: 0 6px; }")
        self.view.entered_on.connect(self.wants_force)
        self.view.doubleClicked.connect(self._double_clicked)
        self.view.selectionModel().currentChanged.connect(self._current_changed)
        self.menu = ExportMenu(session, self.view, "all-tokens", self._whole, self._selected)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 4, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(self.search)
        layout.addWidget(self.view, 1)
        find = QShortcut(QKeySequence(QKeySequence.StandardKey.Find), self)
        find.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        find.activated.connect(self.search.bar.line.setFocus)
        self._fit()
        theme.notifier().changed.connect(self._fit)

    def refresh(self) -> None:
        """Read the row on show."""
        row, shaped = self._session.row, self._session.shaped
        self.model.set_step(None if row is None else row.distribution, shaped)
        self.search.refresh()

    def show_token(self, token_id: int) -> None:
        """Scroll to a token and make it the current one."""
        if 0 <= token_id < self.model.rowCount():
            index = self.model.index(self.model.row_of(token_id), 0)
            self.view.setCurrentIndex(index)
            self.view.scrollTo(index, QAbstractItemView.ScrollHint.PositionAtCenter)

    # -- copying ----------------------------------------------------------------------------

    def _whole(self) -> Callable[..., Table]:
        session = self._session
        row, shaped, vocabulary = session.row, session.shaped, session.vocabulary
        if row is None or shaped is None or vocabulary is None:
            return lambda _rows=None: Table("tokens", TITLES, ())
        return partial(ranked_table, row.distribution, shaped, vocabulary)

    def _selected(self) -> Table:
        """The selected rows; without a selection the likeliest tokens."""
        chosen = sorted({index.row() for index in self.view.selectionModel().selectedRows()})
        likeliest = range(min(COPIED, self.model.rowCount()))
        rows = np.array(chosen or likeliest, dtype=np.int64)
        whole = self._whole()
        return whole(rows) if len(rows) else whole()

    def _double_clicked(self, index: QModelIndex) -> None:
        self.wants_force.emit(index.data(TOKEN_ID))

    def _current_changed(self, index: QModelIndex) -> None:
        if index.isValid():
            self.looked_at.emit(index.data(TOKEN_ID))

    def _fit(self) -> None:
        numbers = QFontMetricsF(theme.number_font())
        tokens = QFontMetricsF(theme.token_font())
        monospaced = {Column.TEXT, Column.BYTES}
        for column, sample in _SAMPLES.items():
            metrics = tokens if column in monospaced else numbers
            self.view.setColumnWidth(column, round(metrics.horizontalAdvance(sample)) + 24)
        self.view.verticalHeader().setDefaultSectionSize(round(tokens.height() + 6))
