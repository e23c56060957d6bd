"""Counts how often each panel of a window was painted."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QWidget

from logitscope.gui.main_window import MainWindow


class PaintCounter(QObject):
    """Counts paint events of a panel and of all that is in it, at most one a frame each."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__()
        self._panels: dict[str, QWidget] = {**window.panels.made, "model bar": window.model_bar}
        self._owner: dict[QWidget, str] = {}
        self._count: dict[QWidget, int] = {}
        for name, panel in self._panels.items():
            for widget in (panel, *panel.findChildren(QWidget)):
                self._owner[widget] = name
                widget.installEventFilter(self)

    def end(self) -> None:
        """Count no more."""
        for widget in self._owner:
            widget.removeEventFilter(self)

    def counts(self) -> dict[str, int]:
        """By panel in sight: paint events of the widget in it that was painted most often."""
        found = {n: 0 for n, panel in self._panels.items() if not panel.visibleRegion().isEmpty()}
        for widget, number in self._count.items():
            name = self._owner[widget]
            if name in found:
                found[name] = max(found[name], number)
        return found

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Paint and isinstance(watched, QWidget):
            self._count[watched] = self._count.get(watched, 0) + 1
        return False
