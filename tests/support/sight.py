"""What of a window a person sees."""

from __future__ import annotations

from logitscope.gui.main_window import MainWindow


def is_seen(window: MainWindow, name: str) -> bool:
    """Whether a panel is open, and not behind other tabs."""
    return not window.docks[name].visibleRegion().isEmpty()
