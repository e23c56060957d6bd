"""The loss panel: where the model was surprised, by how much, and what it had expected."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QHideEvent, QShowEvent
from PySide6.QtWidgets import QMenu, QVBoxLayout, QWidget

from logitscope.gui import theme
from logitscope.gui.notices import Notice
from logitscope.gui.panels.loss_bar import LossBar, WindowsRow
from logitscope.gui.panels.loss_drawn import Drawn
from logitscope.gui.panels.loss_export import LossExport
from logitscope.gui.panels.loss_figures import Figures
from logitscope.gui.panels.loss_heat import Heat
from logitscope.gui.panels.loss_opening import TextOpener
from logitscope.gui.panels.loss_text import HeatText
from logitscope.gui.scoring import Scorer
from logitscope.gui.session import Session
from logitscope.gui.subjects import OpenedText, ScreenText
from logitscope.gui.turns import Turns
from logitscope.gui.widgets.drop_overlay import TAKES_TEXTS, is_text_file, local_paths
from logitscope.gui.widgets.folding_splitter import FoldingSplitter
from logitscope.gui.widgets.heat_pages import HeatPages
from logitscope.gui.widgets.loss_curve import LossCurve
from logitscope.gui.widgets.note_bar import NoteBar
from logitscope.gui.words import mark
from logitscope.heat import Measure
from logitscope.losses import LossTable

FRAME_MS = 33
"""Chunks of a fast model arrive more often than a heatmap needs to be drawn."""
SUMMARY_MS = 500
LONG_TEXT = 50_000
"""From so many tokens on the averages, which read all of them, are written twice a second."""


class LossPanel(QWidget):
    """Heatmap and curve of the text on screen or of an opened one."""

    HELP = (
        mark("LossPanel", "Loss"),
        mark(
            "LossPanel",
            "Each token is tinted by its loss, −ln of the probability the model gave it from all "
            "tokens before it: the page's colour means expected, a strong tint a surprise. "
            "The curve below shows the same along the text, with a rolling mean; drag over it to "
            "look around, with Shift to choose a range and read its averages. "
            "Click a token to see what the model expected there; N and P go to the next and the "
            "previous surprise.",
        ),
    )

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._drawn = Drawn()
        self._dirty = range(0)
        self._opened_position: int | None = None
        self.opened_text = OpenedText(session, self)
        self._scorers = (
            Scorer(session, ScreenText(session, self), self),
            Scorer(session, self.opened_text, self),
        )
        self._scorer = self._scorers[0]
        self.opener = TextOpener(self)
        self._make_widgets()
        self.text = HeatText(session, self.heat_view, self.curve, self._drawn, self)
        self.export = LossExport(session, self, self.body)
        self._lay_out()
        self._connect()
        self.setAcceptDrops(True)
        # Tells the window that a text dropped here is for this panel, and is no model.
        self.setProperty(TAKES_TEXTS, True)

    def _make_widgets(self) -> None:
        self.bar = LossBar(self)
        self.windows = WindowsRow(self)
        self.note = NoteBar(self)
        self.figures = Figures(self)
        self.heat_view = HeatPages(self)
        self.curve = LossCurve(self)
        self.body = FoldingSplitter(self.heat_view, self.curve, self)

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.GRID, theme.GRID, theme.GRID, theme.GRID // 2)
        column.setSpacing(theme.GRID // 2)
        column.addWidget(self.bar)
        column.addWidget(self.note)
        column.addWidget(self.windows)
        column.addWidget(self.figures)
        column.addWidget(self.body, 1)
        self.setFocusProxy(self.heat_view.view)

    def _connect(self) -> None:
        session = self._session
        self._frame = QTimer(self, interval=FRAME_MS, singleShot=True)
        self._frame.timeout.connect(self._refresh)
        session.frames.triggered.connect(self._refresh_with_others)
        self._turns = Turns(self)
        self._turns.finished.connect(self._refresh_again)
        self._averages = QTimer(self, interval=SUMMARY_MS, singleShot=True)
        self._averages.timeout.connect(self._show_averages)
        for scorer in self._scorers:
            scorer.changed.connect(self._mark_dirty)
            scorer.progressed.connect(self._show_state)
            scorer.state_changed.connect(self._show_state)
            scorer.subject.changed.connect(self._mark_dirty)
        session.selection_changed.connect(self._show_selection)
        session.model_changed.connect(self._mark_all)
        self.text.changed.connect(self._mark_all)
        self.text.told.connect(self._tell_why)
        self._connect_bar()
        heat_view, curve = self.heat_view, self.curve
        heat_view.set_tooltip(self._tooltip_of)
        heat_view.position_selected.connect(self._select)
        heat_view.range_selected.connect(self._choose)
        heat_view.hovered.connect(curve.set_pointed)
        heat_view.jump_wanted.connect(self.jump)
        heat_view.menu_requested.connect(self._open_menu)
        curve.set_tooltip(self._tooltip_of)
        curve.hovered.connect(heat_view.point_at)
        curve.scrubbed.connect(self._select)
        curve.range_chosen.connect(self._choose)
        curve.jump_wanted.connect(self.jump)
        curve.step_wanted.connect(self.step)
        theme.notifier().changed.connect(self._mark_all)

    def _connect_bar(self) -> None:
        bar = self.bar
        bar.source_chosen.connect(self._choose_source)
        bar.open_wanted.connect(self.opener.ask)
        bar.paste_wanted.connect(self.opener.paste)
        bar.look_changed.connect(self._change_look)
        bar.jump_wanted.connect(self.jump)
        bar.toggled_scoring.connect(self._toggle_scoring)
        bar.underlines.setChecked(True)
        self.windows.chosen.connect(self._set_windows)
        self.opener.opened.connect(self.show_text)
        self.opener.progressed.connect(self._show_reading)
        self.opener.failed.connect(
            lambda said, detail: self._session.noticed.emit(
                Notice(said, detail, is_bug=bool(detail))
            )
        )

    # -- the text ---------------------------------------------------------------------------

    @property
    def table(self) -> LossTable:
        """Numbers of the text on show."""
        return self._scorer.table

    @property
    def scorer(self) -> Scorer:
        return self._scorer

    @property
    def shows_opened(self) -> bool:
        """The text on show is an opened one, not the document."""
        return self._scorer is self._scorers[1]

    @property
    def heat(self) -> Heat:
        return self._drawn.heat

    def show_text(self, text: str, name: str, note: str = "") -> None:
        """Score this text beside the document."""
        self.bar.set_opened(name)
        self._opened_position = None
        self.text.set_opened(text)
        self.opened_text.set_text(text, name)
        self.note.say(note, self.tr("Close"), lambda: self.note.say(""))
        self._choose_source(opened=True)

    def _show_reading(self, sentence: str) -> None:
        self.note.say(sentence, self.tr("Stop"), self.opener.stop)

    def _choose_source(self, opened: bool) -> None:
        self._scorer.set_active(False)
        self._scorer = self._scorers[int(opened)]
        self.text.set_opened(self.opened_text.text if opened else None)
        self._scorer.set_active(self.isVisible())
        if not opened:
            self.note.say("")
            self._session.select(None if self._session.follows_end else self._session.position)
        self._mark_all()

    def _set_windows(self, size: int, stride: int) -> None:
        self._scorer.set_windows(size, min(stride, max(size // 2, 1)))
        self._mark_all()

    def _toggle_scoring(self) -> None:
        if self._scorer.is_scoring:
            self._scorer.stop()
        else:
            self._scorer.resume()

    # -- positions --------------------------------------------------------------------------

    @property
    def position(self) -> int | None:
        """The selected position; None at the end of the text."""
        if self.shows_opened:
            return self._opened_position
        return None if self._session.follows_end else self._session.position

    def step(self, direction: int) -> None:
        """Select the neighbour."""
        here = len(self.table) if self.position is None else self.position
        self._select(min(max(here + direction, 0), len(self.table) - 1))

    def jump(self, direction: int) -> None:
        """Select the next (1) or previous (-1) surprising token, if there is one."""
        here = self.position
        if here is None:
            here = -1 if direction > 0 else len(self.table)
        found = self.heat.find_strong(here, direction)
        if found is not None:
            self._select(found)

    def _select(self, position: int | None) -> None:
        self._clear_range()
        if not self.shows_opened:
            self._session.select(position)
        else:
            self._opened_position = position
            if position:
                ids = self.table.ids
                self._session.inspect_ids(self._scorer.context_of(position), int(ids[position]))
        self._show_selection()

    def _choose(self, start: int, stop: int) -> None:
        chosen = range(start, stop)
        if chosen != self.heat_view.chosen:
            self.heat_view.set_chosen(chosen)
        self.curve.set_range(chosen)
        self._show_averages()

    def _clear_range(self) -> None:
        self._choose(0, 0)

    def _show_selection(self) -> None:
        self.heat_view.set_selected_position(self.position)
        self.curve.set_position(self.position)

    # -- showing ----------------------------------------------------------------------------

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._scorer.set_active(True)
        self._mark_all()
        self.curve.fetch_soon()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._scorer.set_active(False)

    def flush(self) -> None:
        """Show at once what would wait for the next frame."""
        self._turns.finish()
        self._refresh()
        self._turns.finish()

    def _mark_all(self) -> None:
        self._mark_dirty(0, len(self.table))

    def _mark_dirty(self, start: int = 0, stop: int = 0) -> None:
        if self._dirty:
            self._dirty = range(min(start, self._dirty.start), max(stop, self._dirty.stop))
        else:
            self._dirty = range(start, stop)
        if not self._frame.isActive():
            self._frame.start()

    def _change_look(self) -> None:
        bar = self.bar
        measure = Measure(bar.measure.currentData())
        self.heat.set_look(measure, is_fitted=bar.fit.isChecked())
        self.heat_view.view.set_map(is_two_sided=measure.is_two_sided)
        self.heat_view.view.set_underlines(bar.underlines.isChecked())
        shown = bar.number_row.isChecked()
        self.heat_view.set_number_row(self._number_of if shown else None)
        self._mark_all()

    def _refresh(self) -> None:
        if not self.isVisible() or self._turns.is_busy:
            return
        dirty, self._dirty = self._dirty, range(0)
        self._turns.start(self._pieces(dirty))
        if len(self.table) < LONG_TEXT:
            self._turns.finish()

    def _refresh_with_others(self) -> None:
        """What waits for its frame is painted with the other panels, and the window only once."""
        if self._frame.isActive():
            self._frame.stop()
            self._refresh()

    def _refresh_again(self) -> None:
        """Something changed while a long text was being shown piece by piece."""
        if self._dirty and not self._frame.isActive():
            self._frame.start()

    def _pieces(self, dirty: range) -> Iterator[Callable[[], object]]:
        """The parts of a refresh; of a million tokens none takes much longer than a frame."""
        table, drawn = self.table, self._drawn
        yield lambda: drawn.heat.update(table, dirty.start, dirty.stop)
        yield self._show_tokens
        if len(table) > 1:
            yield lambda: drawn.units
        yield lambda: drawn.update_paragraphs(table)
        yield lambda: drawn.update_loss(table, dirty)
        yield lambda: drawn.update_entropy(table, dirty)
        yield self._show_heat
        yield self._show_curve
        yield self._show_numbers

    def _show_heat(self) -> None:
        self.heat_view.set_heat(self.heat.codes, self.heat.weights)
        self.figures.show_legend(self.heat)

    def _show_curve(self) -> None:
        drawn = self._drawn
        entropy = drawn.entropy if self.bar.entropy.isChecked() else None
        self.curve.set_series(drawn.loss, entropy, drawn.paragraphs)
        self._show_selection()

    def _show_numbers(self) -> None:
        self._show_windows()
        self._show_state()
        if len(self.table) < LONG_TEXT:
            self._show_averages()
        elif not self._averages.isActive():
            self._averages.start()

    def _show_tokens(self) -> None:
        self.text.show(self._scorer.subject.ids, self.table)

    def _show_averages(self) -> None:
        if self.text.is_older:
            self._say_why()
            return
        units = self._drawn.units if len(self.table) > 1 else None
        self.figures.show_averages(self.table, self.heat_view.chosen, units)

    def _say_why(self) -> None:
        """A text that is still there outlives its model with its numbers."""
        is_there = self.shows_opened or np.array_equal(self.table.ids, self._session.ids)
        why = self._session.reading.sentence() if len(self.table) > 1 else ""
        self.figures.say_why(why, is_older=not is_there)

    def _tell_why(self) -> None:
        if self.text.is_older and self.isVisible():
            self._say_why()

    def _show_windows(self) -> None:
        scorer, model = self._scorer, self._session.model
        context = 0 if model is None else model.context_length
        self.windows.setVisible(0 < context < len(self.table))
        self.windows.show_windows(context, scorer.window_size, scorer.stride)

    def _show_state(self) -> None:
        table = self.table
        total = max(len(table) - 1, 0)
        is_over = table.first_unknown >= len(table)
        done = total if is_over else table.first_unknown - 1
        self.bar.show_progress(done, total, is_scoring=self._scorer.is_scoring)

    def _tooltip_of(self, position: int) -> str:
        return self._drawn.tooltip_of(self.table, position)

    def _number_of(self, position: int) -> str:
        return self._drawn.number_of(self.table, position)

    # -- menus and drops --------------------------------------------------------------------

    def _open_menu(self, where: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.export.fill(menu)
        menu.popup(where)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if any(map(is_text_file, local_paths(event.mimeData()))):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        paths = list(filter(is_text_file, local_paths(event.mimeData())))
        if paths:
            event.acceptProposedAction()
            self.opener.open(paths[0])
