"""The comparison panel: one text on two models, or two texts on one, side by side."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import (
    QDockWidget,
    QHBoxLayout,
    QLabel,
    QMenu,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from logitscope.gui import theme
from logitscope.gui.comparing import Against, Compared, Comparison
from logitscope.gui.notices import Notice
from logitscope.gui.panels import compare_words
from logitscope.gui.panels.compare_bar import CompareBar
from logitscope.gui.panels.compare_body import CompareBody
from logitscope.gui.panels.compare_choice import Choice
from logitscope.gui.panels.compare_export import CompareExport
from logitscope.gui.panels.compare_heat import range_values, scale_of
from logitscope.gui.session import Session
from logitscope.gui.settings import Settings
from logitscope.gui.widgets.eliding_label import ElidingLabel
from logitscope.gui.widgets.heat_legend import HeatLegend
from logitscope.gui.widgets.note_bar import NoteBar
from logitscope.gui.widgets.plain import plain, plain_tip
from logitscope.gui.words import mark

FRAME_MS = 50


class ComparePanel(QWidget):
    """Shows a ``Comparison``."""

    HELP = (
        mark("ComparePanel", "Compare"),
        mark(
            "ComparePanel",
            "Two models read the same text, or one model reads two texts: blue marks what the "
            "left side expected better, orange what the right side did. "
            "The text is split where both tokenizers have a boundary, so that losses of the same "
            "bytes stand against each other; of two texts, only the tokens they share are "
            "compared. "
            "The list shows the largest differences; for two models of one vocabulary, KL tells "
            "how far their whole distributions are apart.",
        ),
    )

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._left_position: int | None = None
        self.comparison = Comparison(session, self)
        self.choice = Choice(self.comparison, self)
        self._make_widgets()
        self.export = CompareExport(self.comparison, self.body)
        self._lay_out()
        self._connect()

    def take_settings(self, settings: Settings) -> None:
        """Where recent models and how to load them are remembered."""
        self.choice.settings = settings

    def _make_widgets(self) -> None:
        self.bar = CompareBar(self)
        self.note = NoteBar(self)
        self.summary = ElidingLabel(self)
        self.summary.setAccessibleName(self.tr("Averages"))
        self.models = ElidingLabel(self)
        self.models.setAccessibleName(self.tr("What both models have in common"))
        self.legend = HeatLegend(self)
        self.empty = plain(QLabel(self, wordWrap=True))
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.empty.setProperty("muted", True)
        self.body = CompareBody(self)
        self.stack = QStackedWidget(self)

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.GRID, theme.GRID, theme.GRID, theme.GRID // 2)
        column.setSpacing(theme.GRID // 2)
        column.addWidget(self.bar)
        column.addWidget(self.note)
        row = QHBoxLayout()
        row.setSpacing(theme.GRID)
        column.addWidget(self.summary)
        row.addWidget(self.models, 1)
        row.addWidget(self.legend)
        column.addLayout(row)
        self.stack.addWidget(self.empty)
        self.stack.addWidget(self.body)
        column.addWidget(self.stack, 1)

    def _connect(self) -> None:
        comparison, bar, choice = self.comparison, self.bar, self.choice
        self._frame = QTimer(self, interval=FRAME_MS, singleShot=True)
        self._frame.timeout.connect(self._refresh)
        for signal in (
            comparison.changed,
            comparison.state_changed,
            bar.look_changed,
            self._session.model_changed,
            self._session.reading.changed,
            theme.notifier().changed,
        ):
            signal.connect(self._mark_dirty)
        comparison.said.connect(self._say)
        comparison.told.connect(self._say_of_text)
        choice.failed.connect(self._report)
        choice.noted.connect(self._say_of_text)
        choice.reading.connect(lambda said, stop: self.note.say(said, self.tr("Stop"), stop))
        bar.left.menu().aboutToShow.connect(lambda: choice.fill_left(bar.left.menu()))
        bar.right.menu().aboutToShow.connect(lambda: choice.fill_right(bar.right.menu()))
        bar.toggled_scoring.connect(self._toggle_scoring)
        bar.toggled_divergence.connect(self._toggle_divergence)
        self.body.chosen.connect(self._select)
        self.body.menu_requested.connect(self._open_menu)
        self._session.selection_changed.connect(self._show_selection)

    # -- models -----------------------------------------------------------------------------

    def shut_down(self) -> None:
        """The window closes: the second model's process ends."""
        self._frame.stop()
        self.choice.close()
        self.comparison.shut_down()

    def _say(self, sentence: str) -> None:
        second = self.comparison.second
        if second is not None and second.session.model is not None:
            self._say_of_text(sentence)
        else:
            self.note.say(sentence, self.tr("Load again"), self._load_again)

    def _say_of_text(self, sentence: str) -> None:
        self.note.say(sentence, self.tr("Close"), lambda: self.note.say(""))

    def _load_again(self) -> None:
        self.note.say("")
        self.comparison.load_again()

    def _report(self, said: str, detail: str) -> None:
        self._session.noticed.emit(Notice(said, detail, is_bug=bool(detail)))

    # -- events -----------------------------------------------------------------------------

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.comparison.set_active(True)
        self._mark_dirty()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.comparison.set_active(False)
        if self._is_closed and self.comparison.second is not None:
            self.comparison.end()
            self._say(self.tr("The second model was closed with the panel."))

    @property
    def _is_closed(self) -> bool:
        """The panel itself was closed: it is not just behind another, or the window away."""
        parent = self.parentWidget()
        while parent is not None and not isinstance(parent, QDockWidget):
            parent = parent.parentWidget()
        return parent is not None and not parent.toggleViewAction().isChecked()

    # -- positions --------------------------------------------------------------------------

    @property
    def position(self) -> int | None:
        """The selected token on the left; None at the end."""
        if self.comparison.shows_opened:
            return self._left_position
        return None if self._session.follows_end else self._session.position

    def _select(self, position: int | None) -> None:
        comparison = self.comparison
        if not comparison.shows_opened:
            self._session.select(position)
        else:
            self._left_position = position
            if position:
                table = comparison.left.table
                ids = comparison.left.context_of(position)
                self._session.inspect_ids(ids, int(table.ids[position]))
        self._show_selection()

    def _show_selection(self) -> None:
        self.body.select(self.position)

    def _toggle_scoring(self) -> None:
        comparison = self.comparison
        if any(
            side is not None and side.is_scoring for side in (comparison.left, comparison.right)
        ):
            comparison.stop()
        else:
            comparison.resume()

    def _toggle_divergence(self) -> None:
        divergence = self.comparison.divergence
        if divergence.is_running:
            divergence.stop()
        else:
            self.comparison.diverge(self.position or 1)

    # -- showing ----------------------------------------------------------------------------

    def flush(self) -> None:
        """Show at once what would wait for the next frame."""
        self._refresh()

    def _mark_dirty(self) -> None:
        if not self._frame.isActive():
            self._frame.start()

    def _refresh(self) -> None:
        if not self.isVisible():
            return
        comparison = self.comparison
        self._show_names()
        self._show_state()
        result = comparison.result
        self.stack.setCurrentIndex(int(result is not None))
        self.legend.setVisible(result is not None)
        if result is None:
            self.empty.setText(compare_words.empty_text(comparison))
            self.summary.setText("")
            self.models.setText("")
            return
        self._show_result(result)
        self._show_selection()
        self._show_summary()

    def _show_names(self) -> None:
        comparison, model = self.comparison, self._session.model
        text = comparison.left_text.name if comparison.shows_opened else self.tr("text on screen")
        left = text
        if model is not None and comparison.against is Against.MODEL:
            left = compare_words.model_text(model)
        tip = "" if model is None else f"{compare_words.model_text(model)}\n{text}"
        second = comparison.right_session
        right, right_tip = self.tr("Compare with …"), ""
        if comparison.against is Against.TEXT:
            right = comparison.other_text.name
        elif second is not None:
            loaded = second.model
            waits = self.tr("loading …") if second.loading_path else self.tr("no model")
            right = waits if loaded is None else compare_words.model_text(loaded)
            right_tip = "" if loaded is None else "\n".join((right, *loaded.notes))
        self.bar.set_names(left, right, tip, right_tip)

    def _show_state(self) -> None:
        comparison, divergence = self.comparison, self.comparison.divergence
        sides = [s for s in (comparison.left, comparison.right) if s is not None]
        if comparison.right is None:
            sides = []
        total = sum(max(len(s.table) - 1, 0) for s in sides)
        left = sum(max(len(s.table) - s.table.first_unknown, 0) for s in sides)
        self.bar.show_progress(
            total - left, total, is_scoring=any(side.is_scoring for side in sides)
        )
        done, wanted = divergence.progress
        self.bar.show_divergence(
            is_possible=comparison.can_diverge,
            is_running=divergence.is_running,
            done=done,
            total=wanted,
        )

    def _show_result(self, result: Compared) -> None:
        difference, known = self.bar.difference, self.comparison.divergence.values
        values = range_values(difference, result, known)
        scale = scale_of(difference, values, is_fitted=self.bar.fit.isChecked())
        self.body.set_underlines(self.bar.underlines.isChecked())
        self.body.show_compared(result, known, difference, scale)
        low, high = compare_words.legend_ends(difference, scale)
        unit = compare_words.legend_unit(difference)
        self.legend.set_range(low, high, unit, is_two_sided=difference.is_two_sided)

    def _show_summary(self) -> None:
        comparison = self.comparison
        if comparison.result is None:
            return
        for label, text in (
            (self.summary, compare_words.totals_text(comparison.result.totals)),
            (
                self.models,
                compare_words.models_text(comparison.agreement, comparison.divergence.values),
            ),
        ):
            label.setFont(theme.number_font())
            label.setText(text)
            label.setToolTip(plain_tip(text.replace(compare_words.SEPARATOR, "\n")))

    def _open_menu(self, where: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.export.fill(menu)
        menu.popup(where)
