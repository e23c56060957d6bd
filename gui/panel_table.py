"""The panels of the window: one line each."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from enum import StrEnum
from typing import cast

from PySide6.QtWidgets import QWidget

from logitscope.gui.session import Session
from logitscope.gui.words import mark


class Place(StrEnum):
    """Where a panel stands in the default layout."""

    CENTRE = "centre"
    RIGHT = "right"
    BOTTOM = "bottom"


@dataclass(frozen=True, slots=True)
class PanelSpec:
    """One panel. ``source`` is ``module:Class``, imported when the panel is built."""

    id: str
    title: str
    icon: str
    source: str
    place: Place
    focus_key: str
    toggle_key: str
    """Empty for the one in the centre, which cannot be closed."""
    share: int
    """Part of its row or column, against the others there."""

    def build(self, session: Session) -> QWidget:
        module, _, name = self.source.partition(":")
        return cast(QWidget, getattr(importlib.import_module(module), name)(session))


_PANELS = "logitscope.gui.panels"

PANELS: tuple[PanelSpec, ...] = (
    PanelSpec("text", mark("Panels", "Text"), "text", f"{_PANELS}.text:TextPanel",
              Place.CENTRE, "Ctrl+1", "", 1),
    PanelSpec("distribution", mark("Panels", "Next token"), "bars",
              f"{_PANELS}.distribution:DistributionPanel", Place.RIGHT, "Ctrl+2", "F6", 11),
    PanelSpec("sampling", mark("Panels", "Sampling"), "sliders",
              f"{_PANELS}.sampling:SamplingPanel", Place.RIGHT, "Ctrl+3", "F7", 9),
)  # fmt: skip
