"""The numbers of the sampler chain as sliders; each change is one set of settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from logitscope.gui.session import Session
from logitscope.gui.widgets.fold import Fold
from logitscope.gui.widgets.slider_field import SliderField
from logitscope.sampling import SamplerSettings

TEMPERATURE_LIMIT = 100.0
TOP_K_SLIDER = 200
TOP_K_LIMIT = 10_000_000
LAST_N_SLIDER = 512
PENALTY_LIMIT = 10.0
LEAST_REPETITION = 0.01
"""It divides: 0 would have no meaning."""


class SamplingControls(QWidget):
    """Shows ``session.settings`` and changes them."""

    changed = Signal(object)
    """The SamplerSettings the person asked for."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.temperature = SliderField(self.tr("Temperature"), 0.0, 2.0, TEMPERATURE_LIMIT)
        self.top_k = SliderField(self.tr("Top-k"), 0, TOP_K_SLIDER, TOP_K_LIMIT, decimals=0, step=1)
        self.top_p = SliderField(self.tr("Top-p"), 0.0, 1.0, 1.0, decimals=3, step=0.01)
        self.min_p = SliderField(self.tr("Min-p"), 0.0, 1.0, 1.0, decimals=3, step=0.01)
        self.typical_p = SliderField(self.tr("Typical"), 0.0, 1.0, 1.0, decimals=3, step=0.01)
        self.repetition = SliderField(
            self.tr("Repetition"), 1.0, 2.0, PENALTY_LIMIT, least=LEAST_REPETITION
        )
        self.frequency = SliderField(
            self.tr("Frequency"), -2.0, 2.0, PENALTY_LIMIT, least=-PENALTY_LIMIT
        )
        self.presence = SliderField(
            self.tr("Presence"), -2.0, 2.0, PENALTY_LIMIT, least=-PENALTY_LIMIT
        )
        self.last_n = SliderField(
            self.tr("Last tokens"), -1, LAST_N_SLIDER, TOP_K_LIMIT, decimals=0, step=1
        )
        self._explain()
        self._lay_out()
        self._connect()
        self.refresh()

    @property
    def fields(self) -> dict[str, SliderField]:
        """The sliders by the name of the setting they change."""
        return {
            "temperature": self.temperature,
            "top_k": self.top_k,
            "top_p": self.top_p,
            "min_p": self.min_p,
            "typical_p": self.typical_p,
            "repetition_penalty": self.repetition,
            "frequency_penalty": self.frequency,
            "presence_penalty": self.presence,
            "penalty_last_n": self.last_n,
        }

    def refresh(self) -> None:
        """Show the settings in force."""
        settings = self._session.settings
        for name, field in self.fields.items():
            field.set_value(float(getattr(settings, name)))
        for field in (self.top_k, self.top_p, self.min_p, self.typical_p):
            field.set_enabled(not settings.greedy)

    # -- making -----------------------------------------------------------------------------

    def _explain(self) -> None:
        self.temperature.set_tooltip(
            self.tr(
                "Divides all logits: below 1 sharpens, above 1 flattens; the ranking stays. "
                "0 is greedy: the likeliest token. Type a number for more than 2."
            )
        )
        self.top_k.set_tooltip(self.tr("Keeps the k likeliest tokens; 0 keeps all."))
        self.top_p.set_tooltip(
            self.tr("Keeps the fewest tokens that together hold this probability; 1 keeps all.")
        )
        self.min_p.set_tooltip(
            self.tr("Keeps tokens at least this share as likely as the likeliest; 0 keeps all.")
        )
        self.typical_p.set_tooltip(
            self.tr(
                "Keeps tokens whose surprise is near the entropy, until they hold this "
                "probability; 1 keeps all."
            )
        )
        self.repetition.set_tooltip(
            self.tr("Divides positive and multiplies negative logits of tokens seen; 1 is off.")
        )
        self.frequency.set_tooltip(
            self.tr("Subtracted from a token's logit for each time it was seen; 0 is off.")
        )
        self.presence.set_tooltip(
            self.tr("Subtracted once from the logit of a token that was seen; 0 is off.")
        )
        self.last_n.set_tooltip(
            self.tr("How many of the last tokens count for the penalties; −1: all of them.")
        )
        self.top_k.box.setSpecialValueText(self.tr("all"))
        self.last_n.box.setSpecialValueText(self.tr("all"))

    def _lay_out(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(
            _grid(self.temperature, self.top_k, self.top_p, self.min_p, self.typical_p)
        )
        penalties = _grid(self.repetition, self.frequency, self.presence, self.last_n)
        self.penalties = Fold(self.tr("Penalties"), penalties)
        layout.addWidget(self.penalties)

    def _connect(self) -> None:
        for name, field in self.fields.items():
            field.changed.connect(self._setter(name))

    def _setter(self, name: str) -> Callable[[float], None]:
        kind = type(getattr(SamplerSettings(), name))

        def change(value: float) -> None:
            changes: dict[str, Any] = {name: kind(value)}
            self.changed.emit(replace(self._session.settings, **changes))

        return change


def _grid(*fields: SliderField) -> QWidget:
    holder = QWidget()
    grid = QGridLayout(holder)
    grid.setContentsMargins(0, 0, 0, 0)
    grid.setHorizontalSpacing(8)
    grid.setVerticalSpacing(2)
    grid.setColumnStretch(1, 1)
    for row, field in enumerate(fields):
        field.setParent(holder)
        field.add_to(grid, row)
    return holder
