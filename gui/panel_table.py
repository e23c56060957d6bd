"""The panels of the window: one line each."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from operator import attrgetter
from typing import cast

from PySide6.QtWidgets import QAbstractButton, QSpinBox, QWidget

from logitscope.gui.session import Session
from logitscope.gui.settings import BARS, IDS, MARKS, RUN_LENGTH, Setting, Settings
from logitscope.gui.words import mark


class Place(StrEnum):
    """Where a panel stands in the default layout."""

    CENTRE = "centre"
    LEFT = "left"
    RIGHT = "right"
    BOTTOM = "bottom"
    BOTTOM_RIGHT = "bottom_right"
    """Beside those at the bottom."""


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
    remembers: tuple[tuple[str, Setting[int]], ...] = ()
    """Spin boxes of the panel, by attribute path, whose values are settings."""
    switches: tuple[tuple[str, Setting[bool]], ...] = ()
    """The same of its buttons that stay down."""
    is_shown: bool = True
    """Whether it is open in the default layout."""

    def build(self, session: Session) -> QWidget:
        module, _, name = self.source.partition(":")
        return cast(QWidget, getattr(importlib.import_module(module), name)(session))

    def bind(self, panel: QWidget, settings: Settings) -> None:
        """Let the remembered controls show their settings, and change them; a panel that
        opens models itself gets all of them."""
        take_settings = getattr(panel, "take_settings", None)
        if take_settings is not None:
            take_settings(settings)
        for path, setting in self.remembers:
            box: QSpinBox = attrgetter(path)(panel)
            _show_number(box, setting, settings)
            box.valueChanged.connect(partial(settings.set, setting))
            settings.changed.connect(partial(_show_number, box, setting, settings))
        for path, switch in self.switches:
            button: QAbstractButton = attrgetter(path)(panel)
            _show_switch(button, switch, settings)
            button.toggled.connect(partial(settings.set, switch))
            settings.changed.connect(partial(_show_switch, button, switch, settings))


def _show_number(box: QSpinBox, setting: Setting[int], settings: Settings, *_key: str) -> None:
    box.setValue(settings.get(setting))


def _show_switch(
    button: QAbstractButton, setting: Setting[bool], settings: Settings, *_key: str
) -> None:
    button.setChecked(settings.get(setting))


_PANELS = "logitscope.gui.panels"

PANELS: tuple[PanelSpec, ...] = (
    PanelSpec("text", mark("Panels", "Text"), "text", f"{_PANELS}.text:TextPanel",
              Place.CENTRE, "Ctrl+1", "", 1, (("transport.length", RUN_LENGTH),),
              (("strip.marks", MARKS), ("strip.ids", IDS))),
    PanelSpec("distribution", mark("Panels", "Next token"), "bars",
              f"{_PANELS}.distribution:DistributionPanel", Place.RIGHT, "Ctrl+2", "F6", 11,
              (("count_box", BARS),)),
    PanelSpec("sampling", mark("Panels", "Sampling"), "sliders",
              f"{_PANELS}.sampling:SamplingPanel", Place.RIGHT, "Ctrl+3", "F7", 7),
    PanelSpec("loss", mark("Panels", "Loss"), "loss", f"{_PANELS}.loss:LossPanel",
              Place.BOTTOM, "Ctrl+4", "F8", 5),
    PanelSpec("origin", mark("Panels", "Origin"), "origin",
              f"{_PANELS}.origin:OriginPanel", Place.BOTTOM_RIGHT, "Ctrl+5", "Shift+F5", 6),
    PanelSpec("branches", mark("Panels", "Branches"), "branch",
              f"{_PANELS}.branches:BranchesPanel", Place.BOTTOM, "Ctrl+6", "Shift+F6", 1),
    PanelSpec("passes", mark("Panels", "Passes"), "passes",
              f"{_PANELS}.passes:PassesPanel", Place.BOTTOM, "Ctrl+7", "Shift+F7", 1,
              is_shown=False),
    PanelSpec("compare", mark("Panels", "Compare"), "compare",
              f"{_PANELS}.compare:ComparePanel", Place.BOTTOM, "Ctrl+8", "Shift+F8", 1,
              is_shown=False),
    PanelSpec("lessons", mark("Panels", "Learn"), "lessons",
              f"{_PANELS}.lessons:LessonsPanel", Place.LEFT, "Ctrl+9", "Shift+F9", 1,
              is_shown=False),
    PanelSpec("game", mark("Panels", "Guess"), "dice",
              f"{_PANELS}.game:GamePanel", Place.LEFT, "Ctrl+Shift+G", "Shift+F11", 1,
              is_shown=False),
)  # fmt: skip
