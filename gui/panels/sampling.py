"""The sampling panel: what turns the model's distribution into the one a token is drawn from."""

from __future__ import annotations

import secrets
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QRegularExpression
from PySide6.QtGui import QRegularExpressionValidator, QShowEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from logitscope.gui.panels.sampling_chain import SamplingChain
from logitscope.gui.panels.sampling_controls import SamplingControls
from logitscope.gui.panels.sampling_draw import DrawSection
from logitscope.gui.panels.step_words import Labels
from logitscope.gui.session import Session
from logitscope.gui.widgets.plain import plain
from logitscope.sampling import LLAMACPP_ORDER, TRANSFORMERS_ORDER, SamplerSettings

SEED_DIGITS = 19
"""Any seed below 1e19 fits the 64 bits that the random numbers use of it."""
NEW_SEEDS = 1_000_000
"""New seeds are below this: short enough to be read out and typed."""


class SamplingPanel(QWidget):
    """Shows and changes ``session.settings``."""

    HELP = (
        "Sampling",
        "The stages stand between the model's distribution and the token that is drawn; each one "
        "says how many tokens it removed and how likely they were. "
        "The bar puts the remaining tokens side by side: the random number u points at the one "
        "that is drawn. Temperature 0 takes the likeliest token without a draw.",
    )

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.controls = SamplingControls(session)
        self.controls.changed.connect(session.set_settings)
        self.chain = SamplingChain(session)
        self.chain.changed.connect(session.set_settings)
        self.draw = DrawSection(session, Labels(session))
        self._lay_out()
        session.frames.triggered.connect(self._refresh)

    def _lay_out(self) -> None:
        # It stands in a scroll area already, as every panel does.
        rows = QVBoxLayout(self)
        rows.setContentsMargins(8, 8, 8, 8)
        rows.setSpacing(6)
        rows.addLayout(self._top_row())
        for widget in (self.controls, self.draw, self.chain):
            rows.addWidget(widget)
        rows.addStretch(1)

    def _top_row(self) -> QHBoxLayout:
        self.presets = QPushButton(self.tr("Presets"))
        self.presets.setMenu(self._preset_menu())
        row = self._seed_row()
        row.insertWidget(0, self.presets)
        return row

    def _preset_menu(self) -> QMenu:
        menu = QMenu(self)
        for title, changes in (
            (self.tr("llama.cpp order"), {"order": LLAMACPP_ORDER}),
            (self.tr("transformers order"), {"order": TRANSFORMERS_ORDER}),
            (self.tr("Greedy"), {"temperature": 0.0}),
        ):
            menu.addAction(title, partial(self._change, **changes))
        menu.addSeparator()
        menu.addAction(self.tr("Reset to raw"), self._reset)
        return menu

    def _reset(self) -> None:
        """Every stage at its neutral value; order, seed and reach of the penalties stay."""
        settings = self._session.settings
        neutral = SamplerSettings(
            order=settings.order, seed=settings.seed, penalty_last_n=settings.penalty_last_n
        )
        self._session.set_settings(neutral)

    def _seed_row(self) -> QHBoxLayout:
        row = QHBoxLayout()
        self.seed = QLineEdit()
        pattern = QRegularExpression(rf"\d{{1,{SEED_DIGITS}}}")
        self.seed.setValidator(QRegularExpressionValidator(pattern, self.seed))
        self.seed.setAccessibleName(self.tr("Seed"))
        self.seed.setToolTip(self.tr("The same seed and text give the same draws."))
        self.seed.editingFinished.connect(self._seed_typed)
        label = plain(QLabel(self.tr("Seed")))
        label.setBuddy(self.seed)
        self.new_seed = QPushButton(self.tr("New seed"))
        self.new_seed.clicked.connect(self._choose_seed)
        row.addWidget(label)
        row.addWidget(self.seed, 1)
        row.addWidget(self.new_seed)
        return row

    def _seed_typed(self) -> None:
        self._change(seed=int(self.seed.text()))

    def _choose_seed(self) -> None:
        self._change(seed=secrets.randbelow(NEW_SEEDS))

    def _change(self, **changes: object) -> None:
        settings: SamplerSettings = replace(self._session.settings, **changes)  # type: ignore[arg-type]
        self._session.set_settings(settings)

    def flush(self) -> None:
        """Show at once what would wait for the next frame."""
        self._session.frames.flush()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._refresh()

    def _refresh(self) -> None:
        if not self.isVisible():
            return
        self.controls.refresh()
        self.chain.refresh()
        self.draw.refresh()
        seed = str(self._session.settings.seed)
        if self.seed.text() != seed:
            self.seed.setText(seed)
