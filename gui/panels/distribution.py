"""The next-token panel: everything the model says about one position."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QSpinBox, QTabWidget, QVBoxLayout, QWidget

from logitscope.distribution import Distribution, effective_choices
from logitscope.gui import theme
from logitscope.gui.notices import Notice
from logitscope.gui.older_row import OlderRow
from logitscope.gui.panels.distribution_bars import BAR_LIMITS, BarsTab
from logitscope.gui.panels.distribution_compare import CompareTab
from logitscope.gui.panels.distribution_curve import CurveTab
from logitscope.gui.panels.distribution_how import HowTab
from logitscope.gui.panels.distribution_list import ListTab
from logitscope.gui.panels.step_words import Labels
from logitscope.gui.session import Session
from logitscope.gui.shown import ShownRow
from logitscope.gui.widgets import numbers
from logitscope.gui.widgets.bars_data import Scale
from logitscope.gui.widgets.eliding_label import ElidingLabel
from logitscope.gui.widgets.plain import plain_tip
from logitscope.gui.widgets.sheltered import Sheltered
from logitscope.gui.widgets.slider_field import make_plain
from logitscope.step_table import tokens_holding
from logitscope.units import bits

HELD_MASS = 0.9
LEAST_TABS = 12 * theme.GRID
"""The names of the tabs, and two lines."""


class DistributionPanel(QWidget):
    """Views of ``session.row`` and of what the sampler makes of it."""

    HELP = (
        "Next token",
        "Each row is a token that can come next: the upper bar is the model's own probability, "
        "the lower one what the sampler chain makes of it; hatched tokens were removed. "
        "The last row holds every other token of the vocabulary, so that everything adds up to 1. "
        "Double-click a token, or press Enter, to put it into the text.",
    )

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._labels = Labels(session)
        self._after = ElidingLabel()
        # What the token follows most closely is at the end.
        self._after.setElideMode(Qt.TextElideMode.ElideLeft)
        self._figures = ElidingLabel()
        self._head_row: ShownRow | None = None
        self._set_fonts()
        theme.notifier().changed.connect(self._set_fonts)
        self.bars = BarsTab(session, self._labels)
        self.list = ListTab(session, self._labels)
        self.curve = CurveTab(session, self._labels)
        self.how = HowTab(session, self._labels)
        self.compare = CompareTab(session, self._labels)
        self._age = OlderRow(session, self)
        self._make_tabs()
        self._lay_out()
        self._connect()

    def _make_tabs(self) -> None:
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        # Every tab scrolls by itself; a panel that scrolled, too, would scroll the bars away.
        self.tabs.setMinimumHeight(LEAST_TABS)
        for tab, title in (
            (self.bars, self.tr("Bars")),
            (self.list, self.tr("List")),
            (self.curve, self.tr("Curve")),
            (self.how, self.tr("How")),
            (self.compare, self.tr("Compare")),
        ):
            self.tabs.addTab(tab, title)
        self.tabs.currentChanged.connect(self._tab_chosen)

    def _lay_out(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.GRID, theme.GRID, theme.GRID, 0)
        layout.setSpacing(theme.GRID // 2)
        layout.addLayout(self._top_row())
        layout.addWidget(Sheltered(self._figures, self))
        layout.addWidget(self.tabs, 1)
        self._place_focus()

    def _top_row(self) -> QHBoxLayout:
        """What the row follows, and how its bars are drawn."""
        self.count_box = QSpinBox()
        make_plain(self.count_box)
        self.count_box.setRange(*BAR_LIMITS)
        self.count_box.setValue(self.bars.bar_count)
        self.count_box.setToolTip(self.tr("How many of the likeliest tokens have a bar"))
        self.count_box.setAccessibleName(self.tr("Number of bars"))
        self.count_box.valueChanged.connect(self.bars.set_bar_count)
        self.scale_box = QComboBox()
        for scale, name in (
            (Scale.LINEAR, self.tr("Linear")),
            (Scale.LOG, self.tr("Log")),
            (Scale.LOGIT, self.tr("Logits")),
        ):
            self.scale_box.addItem(name, scale)
        self.scale_box.setAccessibleName(self.tr("Scale of the bars"))
        self.scale_box.currentIndexChanged.connect(self._scale_chosen)
        row = QHBoxLayout()
        row.setSpacing(theme.GRID // 2)
        row.addWidget(Sheltered(self._after, self), 1)
        row.addWidget(self.count_box)
        row.addWidget(self.scale_box)
        return row

    def _connect(self) -> None:
        session = self._session
        session.frames.triggered.connect(self._refresh)
        self._age.changed.connect(self._show_age)
        self.bars.wants_force.connect(self.force)
        self.list.wants_force.connect(self.force)
        self.bars.view.current_changed.connect(self.look_at)
        self.list.looked_at.connect(self.look_at)

    # -- choosing what is seen --------------------------------------------------------------

    def look_at(self, token_id: int) -> None:
        """Make a token the one that the tabs speak of."""
        self.bars.view.set_current(token_id)
        self.how.set_token(token_id)

    def _scale_chosen(self) -> None:
        self.bars.view.set_scale(Scale(self.scale_box.currentData()))

    def _tab_chosen(self) -> None:
        for control in (self.count_box, self.scale_box):
            control.setVisible(self.tabs.currentWidget() is self.bars)
        self._place_focus()
        self._refresh()

    def _place_focus(self) -> None:
        """Let the keyboard go to what the tab on top is used with."""
        first = {self.bars: self.bars.view, self.list: self.list.view}
        self.setFocusProxy(first.get(self.tabs.currentWidget(), self.tabs.tabBar()))

    # -- acting -----------------------------------------------------------------------------

    def force(self, token_id: int) -> None:
        """Put a token at the position on show."""
        row = self._session.row
        if row is not None and row.position < self._session.prompt_length:
            sentence = self.tr("This position is in the prompt: edit the prompt to change it.")
            self._session.noticed.emit(Notice(sentence))
            return
        self._session.force(token_id)

    def force_nth(self, n: int) -> None:
        """Put the n-th likeliest token at the position on show; 1 = likeliest."""
        row = self._session.row
        if row is not None and 1 <= n <= len(row.distribution):
            self.force(int(row.distribution.top(n)[n - 1]))

    # -- showing ----------------------------------------------------------------------------

    def flush(self) -> None:
        """Show at once what would wait for the next frame."""
        self._session.frames.flush()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._refresh()

    def _refresh(self) -> None:
        if not self.isVisible():
            return
        self._refresh_head()
        self.bars.view.empty_text = self._empty_text()
        for tab in (self.bars, self.list, self.curve, self.how, self.compare):
            if self.tabs.currentWidget() is tab:
                tab.refresh()

    def _set_fonts(self) -> None:
        self._after.setFont(theme.token_font())
        self._figures.setFont(theme.number_font())

    def _refresh_head(self) -> None:
        row = self._session.row
        if row is self._head_row:
            return
        self._head_row = row
        if row is None:
            self._after.setText("")
            self._figures.setText("")
            self._after.setToolTip("")
            return
        self._say_after(row)
        self._figures.setText(self._figures_of(row.distribution))

    def _say_after(self, row: ShownRow) -> None:
        is_older = self._age.is_older
        words = self.tr("still after “{text}”") if is_older else self.tr("after “{text}”")
        text = words.format(text=self._labels.before(row.ids))
        self._after.setText(text, lead=words.index("{text}"))
        self._after.setToolTip(plain_tip(text))

    def _show_age(self, is_older: bool) -> None:
        """A row of an older text stays, for comparing, but faint."""
        self.bars.view.set_stale(is_older)
        if self._session.row is not None:
            self._say_after(self._session.row)

    def _figures_of(self, distribution: Distribution) -> str:
        nats = distribution.entropy
        held = tokens_holding(distribution, HELD_MASS)
        return self.tr("H {nats} nats · {bits} bits   exp H {choices}   90 % in {held}").format(
            nats=f"{nats:.3f}",
            bits=f"{bits(nats):.3f}",
            choices=f"{effective_choices(nats):,.1f}",
            held=numbers.count(held),
        )

    def _empty_text(self) -> str:
        return self._session.reading.sentence(
            no_model=self.tr("Open a model to see which token it expects next."),
            empty=self.tr("Type a prompt to see which token the model expects next."),
        )
