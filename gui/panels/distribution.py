"""The next-token panel: everything the model says about one position."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QSpinBox, QTabWidget, QVBoxLayout, QWidget
from superqt import QElidingLabel
from superqt.utils import QSignalThrottler

from logitscope.distribution import Distribution, effective_choices
from logitscope.gui import theme
from logitscope.gui.panels.distribution_bars import BAR_LIMITS, BarsTab
from logitscope.gui.panels.step_words import Labels
from logitscope.gui.session import Notice, Session
from logitscope.gui.widgets import numbers
from logitscope.gui.widgets.bars_data import Scale
from logitscope.gui.widgets.slider_field import make_plain
from logitscope.step_table import tokens_holding
from logitscope.units import bits

FRAME_MS = 8
"""Shortest time between two repaints: a screen of 120 Hz."""
HELD_MASS = 0.9


class DistributionPanel(QWidget):
    """Views of ``session.row`` and of what the sampler makes of it."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._labels = Labels(session)
        self._after = QElidingLabel()
        self._figures = QElidingLabel()
        self.bars = BarsTab(session, self._labels)
        self.bars.wants_force.connect(self.force)
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.addTab(self.bars, self.tr("Bars"))
        self.tabs.setCornerWidget(self._bars_controls(), Qt.Corner.TopRightCorner)
        self._lay_out()
        self._throttle = QSignalThrottler(parent=self)
        self._throttle.setTimeout(FRAME_MS)
        self._throttle.triggered.connect(self._refresh)
        for signal in (
            session.row_changed,
            session.settings_changed,
            session.path_changed,
            session.selection_changed,
            session.model_changed,
        ):
            signal.connect(self._throttle.throttle)

    def _lay_out(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 8, 8, 0)
        layout.setSpacing(4)
        layout.addWidget(self._after)
        layout.addWidget(self._figures)
        layout.addWidget(self.tabs, 1)

    def _bars_controls(self) -> QWidget:
        self.count_box = QSpinBox()
        self.count_box.setRange(*BAR_LIMITS)
        make_plain(self.count_box)
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
        corner = QWidget()
        layout = QHBoxLayout(corner)
        layout.setContentsMargins(0, 0, 0, 2)
        layout.addWidget(self.count_box)
        layout.addWidget(self.scale_box)
        return corner

    def _scale_chosen(self) -> None:
        self.bars.view.set_scale(Scale(self.scale_box.currentData()))

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

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._refresh()

    def _refresh(self) -> None:
        if not self.isVisible():
            return
        self._refresh_head()
        self.bars.view.empty_text = self._empty_text()
        self.bars.refresh()

    def _refresh_head(self) -> None:
        row = self._session.row
        self._after.setFont(theme.token_font())
        self._figures.setFont(theme.number_font())
        if row is None:
            self._after.setText("")
            self._figures.setText("")
            return
        self._after.setText(self.tr("after “{text}”").format(text=self._labels.before(row.ids)))
        self._figures.setText(self._figures_of(row.distribution))

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
        session = self._session
        if session.model is None:
            if session.loading_path is not None:
                return self.tr("Loading the model …")
            return self.tr("Open a model to see which token it expects next.")
        if not session.ids:
            return self.tr("Type a prompt to see which token the model expects next.")
        return self.tr("The model is reading the text …")
