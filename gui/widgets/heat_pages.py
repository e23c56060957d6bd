"""A heatmap of any length: one page of it is laid out at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPoint, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QToolButton, QVBoxLayout, QWidget

from logitscope.gui import icons, theme
from logitscope.gui.widgets import numbers
from logitscope.gui.widgets.heat_view import UNKNOWN, HeatView
from logitscope.gui.widgets.plain import plain
from logitscope.vocabulary import Vocabulary

PAGE = 100_000
"""Tokens of a page. Laid out, a token takes some 300 bytes: a million would take 300 MB."""


class HeatPages(QWidget):
    """Speaks of positions in the whole text, whatever page is on show."""

    position_selected = Signal(object)
    """The person chose a token (int), or the end of the text (None)."""
    range_selected = Signal(int, int)
    hovered = Signal(object)
    jump_wanted = Signal(int)
    menu_requested = Signal(QPoint)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._ids: Sequence[int] = ()
        self._vocabulary: Vocabulary | None = None
        self._codes: NDArray[np.int16] = np.zeros(0, dtype=np.int16)
        self._weights: NDArray[np.uint8] = np.zeros(0, dtype=np.uint8)
        self._page = 0
        self._grows = True
        self._selected: int | None = None
        self._chosen = range(0)
        self._tooltip_of: Callable[[int], str] = lambda _position: ""
        self._number_of: Callable[[int], str] | None = None
        self.view = HeatView(self)
        self.view.set_tooltip(lambda token: self._tooltip_of(token + self._start))
        self._lay_out()
        self._connect()

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.view, 1)
        self.strip = QWidget(self)
        row = QHBoxLayout(self.strip)
        row.setContentsMargins(theme.GRID, 0, theme.GRID, 0)
        self.label = plain(QLabel(self.strip))
        self.label.setProperty("muted", True)
        self.previous = self._button("previous", self.tr("Previous part of the text"), -1)
        self.next = self._button("next", self.tr("Next part of the text"), 1)
        row.addWidget(self.label, 1)
        row.addWidget(self.previous)
        row.addWidget(self.next)
        column.addWidget(self.strip)
        self.strip.hide()

    def _button(self, icon: str, name: str, step: int) -> QToolButton:
        button = QToolButton(self.strip)
        button.setIcon(icons.icon(icon))
        button.setProperty("flat", True)
        button.setProperty("small", True)
        button.setToolTip(name)
        button.setAccessibleName(name)
        button.clicked.connect(lambda: self.show_page(self._page + step))
        return button

    def _connect(self) -> None:
        view = self.view
        view.position_selected.connect(self._select)
        view.range_selected.connect(
            lambda start, stop: self._choose(range(start + self._start, stop + self._start))
        )
        view.hovered.connect(
            lambda token: self.hovered.emit(None if token is None else token + self._start)
        )
        view.jump_wanted.connect(self.jump_wanted)
        view.menu_requested.connect(lambda _token, where: self.menu_requested.emit(where))

    # -- contents ---------------------------------------------------------------------------

    @property
    def page_count(self) -> int:
        return max(1, -(-len(self._ids) // PAGE))

    @property
    def page(self) -> int:
        """The page on show; 0 is the first."""
        return self._page

    @property
    def _start(self) -> int:
        return self._page * PAGE

    @property
    def chosen(self) -> range:
        """The positions that are chosen; empty where none are."""
        return self._chosen

    def set_text(
        self, ids: Sequence[int], vocabulary: Vocabulary | None, *, grows: bool = True
    ) -> None:
        """Show these ids; what differs from the present ones on this page is laid out.

        A text that ``grows`` is followed to its end until somebody scrolls away; another one is
        to be read from its beginning.
        """
        is_other = grows is not self._grows or (not grows and ids != self._ids)
        self._ids, self._vocabulary, self._grows = ids, vocabulary, grows
        self._chosen = range(0)
        self._page = 0 if is_other and not grows else min(self._page, self.page_count - 1)
        self._fill()
        if is_other and grows:
            self.view.scroll_to_end()
        elif is_other:
            self.view.scroll_to_start()

    def set_heat(self, codes: NDArray[np.int16], weights: NDArray[np.uint8]) -> None:
        """Codes and weights of all positions, (n,); -1 is unknown. Kept, not copied."""
        self._codes, self._weights = codes, weights
        self._heat_page()

    def set_tooltip(self, tooltip_of: Callable[[int], str]) -> None:
        self._tooltip_of = tooltip_of

    def set_number_row(self, number_of: Callable[[int], str] | None) -> None:
        """A short number below each position; None takes the row away."""
        if number_of is None:
            self.view.set_number_row(None)
        else:
            self.view.set_number_row(lambda token: number_of(token + self._start))

    def show_page(self, page: int) -> None:
        """Lay out another part of the text."""
        page = min(max(page, 0), self.page_count - 1)
        if page != self._page:
            self._page = page
            self.view.scroll_to_start()
            self._fill()

    def set_selected_position(self, position: int | None) -> None:
        """Select without telling anyone; the page with the token is shown."""
        self._selected = position
        if position is not None and position < len(self._ids):
            self.show_page(position // PAGE)
        self._mark_selected()

    def point_at(self, position: int | None) -> None:
        """Mark a position as the mouse does, where it is on this page."""
        token = None if position is None else position - self._start
        is_here = token is not None and 0 <= token < len(self.view.ids)
        self.view.point_at(token if is_here else None)

    def set_chosen(self, chosen: range) -> None:
        """Mark a range without telling anyone."""
        self._chosen = chosen
        begin = max(chosen.start, self._start)
        stop = min(chosen.stop, self._start + len(self.view.ids))
        self.view.blockSignals(True)
        self.view.choose(begin - self._start, max(stop, begin) - self._start)
        self.view.blockSignals(False)

    def _fill(self) -> None:
        part = self._ids[self._start : self._start + PAGE]
        self.view.set_tokens(part, self._vocabulary)
        self._heat_page()
        self._mark_selected()
        self.strip.setVisible(self.page_count > 1)
        self.previous.setEnabled(self._page > 0)
        self.next.setEnabled(self._page + 1 < self.page_count)
        self.label.setText(
            self.tr("tokens {first} to {last} of {all}").format(
                first=numbers.count(self._start),
                last=numbers.count(self._start + len(part) - 1),
                all=numbers.count(len(self._ids)),
            )
        )

    def _heat_page(self) -> None:
        self.view.set_heat(*self._heat_of_page())

    def _heat_of_page(self) -> tuple[NDArray[np.int16], NDArray[np.uint8]]:
        part = slice(self._start, self._start + PAGE)
        return self._codes[part], self._weights[part]

    def _mark_selected(self) -> None:
        here = self._selected
        is_here = here is not None and self._start <= here < self._start + len(self.view.ids)
        self.view.set_selected_position(
            here - self._start if here is not None and is_here else None
        )

    def _select(self, token: int | None) -> None:
        self._chosen = range(0)
        end = self._start + len(self.view.ids)
        if token is None and end < len(self._ids):
            # The end of this page is the beginning of the next.
            self._selected = end
            self.show_page(self._page + 1)
        else:
            self._selected = None if token is None else token + self._start
        self.position_selected.emit(self._selected)

    def _choose(self, chosen: range) -> None:
        self._chosen = chosen
        self.range_selected.emit(chosen.start, chosen.stop)


def unknown_codes(count: int) -> NDArray[np.int16]:
    """Codes of ``count`` tokens of which nothing is known."""
    return np.full(count, UNKNOWN, dtype=np.int16)
