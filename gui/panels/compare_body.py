"""Both texts in the colours of their differences, and the list of the largest."""

from __future__ import annotations

from functools import partial

import numpy as np
from PySide6.QtCore import QModelIndex, QPoint, Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QSplitter, QTableView, QWidget

from logitscope.alignment import NO_RANGE, Integers, Vector, largest, spread
from logitscope.gui import theme
from logitscope.gui.comparing import Compared
from logitscope.gui.panels import compare_words
from logitscope.gui.panels.compare_heat import (
    Difference,
    divergences,
    first_tokens,
    range_values,
    tints,
)
from logitscope.gui.widgets.heat_pages import HeatPages
from logitscope.gui.widgets.plain import plain_tip
from logitscope.gui.widgets.table_model import TableModel
from logitscope.heat import Scale

ROWS = 100
"""Of the list of the largest differences."""
KL_COLUMN = 5
SHARES = (3, 3, 4)
"""Widths of left text, right text and list."""


class CompareBody(QSplitter):
    """Shows a ``Compared``; a choice anywhere is a choice of a token on the left."""

    chosen = Signal(object)
    """A position on the left (int), or its end (None)."""
    menu_requested = Signal(QPoint)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._compared: Compared | None = None
        self._known: Vector = np.zeros(0)
        self._first: tuple[Integers, Integers] = (np.zeros(0, np.int64), np.zeros(0, np.int64))
        self.listed: Integers = np.zeros(0, dtype=np.int64)
        """Ranges in the list."""
        self.left_view, self.right_view = HeatPages(self), HeatPages(self)
        self.left_view.view.setAccessibleName(self.tr("Text of the left side"))
        self.right_view.view.setAccessibleName(self.tr("Text of the right side"))
        titles = ("text", "left", "right", "difference", "per byte", "KL")
        self.rows = TableModel(tuple(map(self.tr, titles)), self)
        self.table = self._table()
        for place, widget in enumerate((self.left_view, self.right_view, self.table)):
            self.addWidget(widget)
            self.setStretchFactor(place, SHARES[place])
        self.setSizes([100 * share for share in SHARES])
        self._connect()

    def _table(self) -> QTableView:
        view = QTableView(self)
        view.setModel(self.rows)
        view.setAccessibleName(self.tr("Largest differences, in nats"))
        view.setToolTip(self.tr("The largest differences first, in nats; click to go there"))
        view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        view.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        view.setShowGrid(False)
        view.verticalHeader().hide()
        view.verticalHeader().setDefaultSectionSize(3 * theme.GRID)
        header = view.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        view.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)
        return view

    def _connect(self) -> None:
        self.left_view.position_selected.connect(self.chosen)
        self.right_view.position_selected.connect(self._choose_right)
        for side, view in enumerate((self.left_view, self.right_view)):
            view.set_tooltip(partial(self._tooltip_of, side))
            view.menu_requested.connect(self.menu_requested)
        self.table.clicked.connect(self._choose_row)
        self.table.selectionModel().currentRowChanged.connect(self._choose_row)

    # -- showing ----------------------------------------------------------------------------

    def show_compared(
        self, compared: Compared, known: Vector, difference: Difference, scale: Scale
    ) -> None:
        """``known``: the divergence by position, NaN = unknown."""
        is_other = self._compared is None or self._compared.pairing is not compared.pairing
        self._compared, self._known = compared, known
        pairing = compared.pairing
        sides = (
            (self.left_view, compared.left, pairing.left_range),
            (self.right_view, compared.right, pairing.right_range),
        )
        if is_other:
            count = len(pairing)
            left, right = (first_tokens(of, count) for _, _, of in sides)
            self._first = left, right
        values = range_values(difference, compared, known)
        for side, (view, tokens, of) in enumerate(sides):
            if is_other:
                view.set_text(tokens.ids.tolist(), compared.vocabularies[side])
            view.view.set_map(is_two_sided=difference.is_two_sided)
            view.set_heat(*tints(difference, spread(of, values), scale))
        # The same tokens twice tell nothing more.
        self.right_view.setVisible(not compared.same_ids)
        self._show_list(compared, values)

    def set_underlines(self, shown: bool) -> None:
        for view in (self.left_view, self.right_view):
            view.view.set_underlines(shown)

    def select(self, position: int | None) -> None:
        """Mark a token on the left, and the first on the right that shares its range."""
        compared = self._compared
        self.left_view.set_selected_position(position)
        there = NO_RANGE
        if compared is not None and position is not None:
            of = compared.pairing.left_range
            place = int(of[position]) if position < len(of) else NO_RANGE
            there = int(self._first[1][place]) if place != NO_RANGE else NO_RANGE
        self.right_view.set_selected_position(there if there >= 0 else None)

    def _show_list(self, compared: Compared, values: Vector) -> None:
        self.listed = largest(values, ROWS)
        by_range = divergences(compared, self._known)
        self.rows.set_rows(
            tuple(
                compare_words.table_row(compared, place, float(by_range[place]))
                for place in self.listed.tolist()
            )
        )
        self.table.setColumnHidden(KL_COLUMN, bool(np.isnan(by_range).all()))

    def _tooltip_of(self, side: int, position: int) -> str:
        compared = self._compared
        if compared is None:
            return ""
        of = (compared.pairing.left_range, compared.pairing.right_range)[side]
        if position >= len(of) or of[position] == NO_RANGE:
            return self.tr("A special token: it brings no bytes to the text.")
        return plain_tip(compare_words.tooltip(compared, int(of[position]), self._known))

    # -- choosing ---------------------------------------------------------------------------

    def _choose_right(self, position: int | None) -> None:
        compared = self._compared
        if compared is None or position is None:
            return
        of = compared.pairing.right_range
        if position < len(of) and of[position] != NO_RANGE:
            self._go_to(int(of[position]))

    def _choose_row(self, index: QModelIndex, _before: QModelIndex | None = None) -> None:
        if index.isValid() and index.row() < len(self.listed):
            self._go_to(int(self.listed[index.row()]))

    def _go_to(self, place: int) -> None:
        """To a range; one that is on the right alone is marked there only."""
        left, right = (int(first[place]) for first in self._first)
        if left >= 0:
            self.chosen.emit(left)
        else:
            self.right_view.set_selected_position(right)
