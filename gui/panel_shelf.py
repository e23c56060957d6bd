"""The panels of a window by name; one that is not in sight is made when it is first wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from PySide6.QtWidgets import QWidget

from logitscope.gui.panel_table import PanelSpec, Place


class PanelShelf(Mapping[str, QWidget]):
    """All panels; to ask for one makes it. ``made`` are those that are there.

    Importing and making a panel takes 20 to 80 ms, and half of them begin closed or behind
    another tab: together as long as the first painting of the window may take.
    """

    def __init__(self, specs: Sequence[PanelSpec], make: Callable[[PanelSpec], QWidget]) -> None:
        self._specs = {spec.id: spec for spec in specs}
        self._make = make
        self.made: dict[str, QWidget] = {}

    def __getitem__(self, name: str) -> QWidget:
        if name not in self.made:
            self.made[name] = self._make(self._specs[name])
        return self.made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._specs)

    def __len__(self) -> int:
        return len(self._specs)

    def make_first(self) -> None:
        """Make those that are in sight in the default layout: their sizes share out the window."""
        bottom = [spec.id for spec in self._specs.values() if spec.place is Place.BOTTOM]
        for name, spec in self._specs.items():
            if spec.is_shown and name not in bottom[1:]:
                self[name]
