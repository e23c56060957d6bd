"""The window as lessons and examples see it: panels by name, controls by name, what is on show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Protocol, cast

from PySide6.QtCore import QRect
from PySide6.QtWidgets import QDockWidget, QMenuBar, QScrollArea, QWidget

from logitscope.gui.panels.distribution import DistributionPanel
from logitscope.gui.panels.text import TextPanel
from logitscope.gui.widgets.bars_data import Scale
from logitscope.gui.widgets.outline import seen_part


class Stage(Protocol):
    """What of the window is needed."""

    @property
    def panels(self) -> Mapping[str, QWidget]: ...

    @property
    def docks(self) -> Mapping[str, QDockWidget]: ...


Target = tuple[QWidget, QRect]
"""A widget and the part of it that is meant."""


def stage_of(widget: QWidget) -> Stage | None:
    """The window that a widget belongs to, also where its dock floats."""
    above: QWidget | None = widget
    while above is not None and not (hasattr(above, "panels") and hasattr(above, "docks")):
        above = above.parentWidget()
    return cast(Stage | None, above)


# -- panels -------------------------------------------------------------------------------------


def panels_in_sight(stage: Stage) -> frozenset[str]:
    """Ids of the panels that are open and not behind another tab."""
    return frozenset(
        name
        for name in stage.panels
        if (shown := stage.docks.get(name) or stage.panels[name]).isVisible()
        and not shown.visibleRegion().isEmpty()
    )


def bring(stage: Stage, name: str) -> None:
    """Open a panel and put it in front; the keyboard stays where it is."""
    dock = stage.docks.get(name)
    if dock is not None:
        dock.show()
        dock.raise_()


# -- what panels show ---------------------------------------------------------------------------


def _distribution(stage: Stage) -> DistributionPanel:
    return cast(DistributionPanel, stage.panels["distribution"])


def _text(stage: Stage) -> TextPanel:
    return cast(TextPanel, stage.panels["text"])


_TABS = ("bars", "list", "curve", "how", "compare")


def views(stage: Stage) -> frozenset[str]:
    """What the panels show: a tab, a scale, switches that are on."""
    distribution = _distribution(stage)
    tab = distribution.tabs.currentWidget()
    found = {f"tab:{name}" for name in _TABS if getattr(distribution, name) is tab}
    found.add(f"scale:{Scale(distribution.scale_box.currentData()).value}")
    if distribution.how.added.value != 0:
        found.add("added")
    if _text(stage).strip.ids.isChecked():
        found.add("ids")
    return frozenset(found)


def show_view(stage: Stage, view: str) -> None:
    """Let a panel show something. KeyError for what no panel has."""
    kind, _, name = view.partition(":")
    distribution = _distribution(stage)
    if kind == "tab" and name in _TABS:
        distribution.tabs.setCurrentWidget(getattr(distribution, name))
    elif kind == "scale":
        scales = [scale.value for scale in Scale]
        if name not in scales:
            raise KeyError(view)
        distribution.scale_box.setCurrentIndex(scales.index(name))
    elif view == "ids":
        _text(stage).strip.ids.setChecked(True)
    else:
        raise KeyError(view)


def reset_views(stage: Stage) -> None:
    """Let the panels show what they show at first: nothing that was switched on elsewhere."""
    show_view(stage, "tab:bars")
    show_view(stage, "scale:linear")
    how = _distribution(stage).how
    how.added.set_value(0.0)
    how.refresh()
    _text(stage).strip.ids.setChecked(False)


# -- controls -----------------------------------------------------------------------------------

CONTROLS: dict[str, tuple[str, str]] = {
    "tabs": ("distribution", "tabs.tabBar"),
    "scale": ("distribution", "scale_box"),
    "bars": ("distribution", "bars.view"),
    "added": ("distribution", "how.added.slider"),
    "temperature": ("sampling", "controls.temperature.slider"),
    "top_p": ("sampling", "controls.top_p.slider"),
    "draw_again": ("sampling", "draw.again"),
    "step": ("text", "transport.step"),
    "run": ("text", "transport.run"),
    "ids": ("text", "strip.ids"),
    "prompt": ("text", "editor"),
    "tokens": ("text", "view"),
    "loss": ("loss", "heat_view"),
    "loss_figures": ("loss", "figures"),
    "passes": ("passes", ""),
    "origin": ("origin", ""),
}
"""Controls by the names that lessons use: panel, and attributes on the way to the widget."""
MENUS = {"file_menu": 0, "view_menu": 3}
"""Menus by the names that lessons use, and their places in the menu bar."""


def control(stage: Stage, name: str) -> Target | None:
    """The control, or what leads to it: the menu that opens its panel, the tabs of its panel.
    KeyError for a name that nobody has."""
    if name in MENUS:
        return _menu(stage, MENUS[name])
    panel_id, path = CONTROLS[name]
    if panel_id not in panels_in_sight(stage):
        return _menu(stage, MENUS["view_menu"])
    panel = stage.panels[panel_id]
    found = attrgetter(path)(panel) if path else panel
    widget = cast(QWidget, found if isinstance(found, QWidget) else _called(found))
    if widget.isVisible():
        return widget, widget.rect()
    return control(stage, "tabs") if panel_id == "distribution" and name != "tabs" else None


def reveal(widget: QWidget, *, whole: bool = False) -> None:
    """Scroll the areas around a widget so that it can be seen, if nothing of it is, or, where
    the ``whole`` of it matters, a part is not."""
    seen = seen_part(widget, widget.rect())
    if not seen.isEmpty() and not (whole and seen.size() != widget.size()):
        return
    above = widget.parentWidget()
    while above is not None:
        if isinstance(above, QScrollArea):
            above.ensureWidgetVisible(widget)
        above = above.parentWidget()


def panel_of(name: str) -> str:
    """The panel that a control is in; "" for a menu."""
    return CONTROLS[name][0] if name in CONTROLS else ""


def _called(found: object) -> object:
    return cast(Callable[[], object], found)()


def _menu(stage: Stage, place: int) -> Target | None:
    window = cast(QWidget, stage)
    bar = window.findChild(QMenuBar)
    if bar is None or not bar.isVisible():
        return None
    return bar, bar.actionGeometry(bar.actions()[place])
