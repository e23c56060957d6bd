"""Panels keep their share of the window when it gets another size.

Qt lets those on the right shrink to nothing, and those below keep what they have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QByteArray, QEvent, QObject, QSize, Qt, QTimer
from PySide6.QtWidgets import QDockWidget, QMainWindow

from logitscope.gui import docking
from logitscope.gui.docking import CENTRE_WIDTH, LOW_WINDOW, usual_left_width
from logitscope.gui.panel_table import PanelSpec, Place

LEARN_MS = 400
"""After a change of the arrangement: Qt moves docks to their places over 200 ms."""
_BORDER_CURSORS = (Qt.CursorShape.SplitHCursor, Qt.CursorShape.SplitVCursor)
_LEFT, _RIGHT = Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea
_NEARLY = 8
"""Pixels."""
_BORDERS = 32
"""Pixels around and between three columns, at most."""
_ACROSS, _UPRIGHT = Qt.Orientation.Horizontal, Qt.Orientation.Vertical


class PanelLayout(QObject):
    """Follows the size of a window: in the usual arrangement by the table of panels, in one that a
    person has made by the shares that each panel had in it."""

    def __init__(
        self, window: QMainWindow, specs: Sequence[PanelSpec], docks: Mapping[str, QDockWidget]
    ) -> None:
        super().__init__(window)
        self._window = window
        self._specs = [spec for spec in specs if spec.id in docks]
        self._docks = docks
        self._is_arranged = False
        """A border between panels was moved, or a panel taken out of its place."""
        self._is_dragging = False
        self._follows = False
        """The arrangement is being changed by us."""
        self._has_own_tabs = False
        """Those on the right are tabs because the window is low, and not by a person's wish."""
        self._widths: dict[QDockWidget, float] = {}
        """Shares of the window's width; none of panels on the left that have their usual width."""
        self._heights: dict[QDockWidget, float] = {}
        """Of the window's height; none of panels that are tabs because the window is low."""
        self._stands_for = QSize()
        self._soon = QTimer(self, interval=0, singleShot=True)
        self._soon.timeout.connect(self._follow)
        self._later = QTimer(self, interval=LEARN_MS, singleShot=True)
        self._later.timeout.connect(self._learn)
        for dock in docks.values():
            dock.topLevelChanged.connect(self._note_move)
            dock.dockLocationChanged.connect(self._note_change)
            dock.toggleViewAction().toggled.connect(self._note_change)
        window.installEventFilter(self)

    @property
    def is_usual(self) -> bool:
        """Nothing was arranged, and the usual panels are open and no others."""
        are_usual = all(self._docks[spec.id].isHidden() != spec.is_shown for spec in self._specs)
        return are_usual and not self._is_arranged

    def place(self) -> None:
        """All panels to their usual places."""
        for dock in self._docks.values():
            dock.setFloating(False)
        docking.place(self._window, self._specs, self._docks)
        self._stands_for = self._window.size()
        self._is_arranged = False
        self._has_own_tabs = self._is_low

    def restore(self, state: QByteArray, version: int) -> None:
        """The arrangement of an earlier window; the usual one stays where that was usual."""
        self._is_arranged = self._window.restoreState(state, version)
        self._has_own_tabs = self._is_low

    def save(self, version: int) -> QByteArray:
        """Empty for the usual arrangement."""
        return QByteArray() if self.is_usual else self._window.saveState(version)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Resize:
            self._soon.start()
        elif watched is self._window and event.type() is QEvent.Type.MouseButtonPress:
            # The window's own ground is the borders between panels.
            self._is_dragging = self._window.cursor().shape() in _BORDER_CURSORS
            self._is_arranged |= self._is_dragging
        elif self._is_dragging and event.type() is QEvent.Type.MouseButtonRelease:
            self._is_dragging = False
            self._later.start()
        return False

    @property
    def _is_low(self) -> bool:
        return self._window.height() < LOW_WINDOW

    def _note_move(self, is_floating: bool) -> None:
        if is_floating:
            self._is_arranged, self._has_own_tabs = True, False
        self._note_change()

    def _note_change(self) -> None:
        if not self._follows:
            self._later.start()

    def _learn(self) -> None:
        """What each panel has now, behind a change of the arrangement, is what it shall have. What
        it is pressed into later, by a small window, is not learned."""
        size = self._window.size()
        for dock in self._in_sight():
            if self._is_usual_on_the_left(dock):
                self._widths.pop(dock, None)
            else:
                self._widths[dock] = dock.width() / size.width()
            if not (self._has_own_tabs and self._is_at(dock, _RIGHT)):
                self._heights[dock] = dock.height() / size.height()
        self._stands_for = size

    def _is_usual_on_the_left(self, dock: QDockWidget) -> bool:
        usual = usual_left_width(self._window)
        return self._is_at(dock, _LEFT) and abs(dock.width() - usual) < _NEARLY

    def _is_at(self, dock: QDockWidget, area: Qt.DockWidgetArea) -> bool:
        return self._window.dockWidgetArea(dock) is area

    def _in_sight(self) -> list[QDockWidget]:
        return [
            dock
            for dock in self._docks.values()
            if dock.isVisible() and not dock.isFloating() and self._is_in_front(dock)
        ]

    def _is_in_front(self, dock: QDockWidget) -> bool:
        """Of its tabs. One that was taken out of them a moment ago has not been laid out yet, and
        has no visible region either."""
        others = self._window.tabifiedDockWidgets(dock)
        return all(one.isHidden() for one in others) or not dock.visibleRegion().isEmpty()

    def _follow(self) -> None:
        if self._window.size() == self._stands_for:
            return
        self._follows = True
        try:
            self._tab_or_part()
            if self.is_usual:
                docking.share_out(self._window, self._specs, self._docks)
            else:
                self._share_out()
        finally:
            self._follows = False
        self._stands_for = self._window.size()

    def _tab_or_part(self) -> None:
        """Those on the right are tabs in a low window, and one below the other in a high one."""
        right = [spec for spec in self._specs if spec.place is Place.RIGHT]
        docks = [self._docks[spec.id] for spec in right if self._is_on_the_right(spec)]
        if len(docks) < len(right):
            return
        are_tabs = len(self._window.tabifiedDockWidgets(docks[0])) >= len(docks) - 1
        if self._is_low and not are_tabs:
            for dock in docks[1:]:
                self._window.tabifyDockWidget(docks[0], dock)
            docks[0].raise_()
            self._has_own_tabs = True
        elif not self._is_low and are_tabs and self._has_own_tabs:
            for dock in docks:
                self._window.addDockWidget(_RIGHT, dock)
            self._window.resizeDocks(docks, [100 * spec.share for spec in right], _UPRIGHT)
            self._has_own_tabs = False
            self._later.start()

    def _is_on_the_right(self, spec: PanelSpec) -> bool:
        dock = self._docks[spec.id]
        return self._is_at(dock, _RIGHT) and not dock.isHidden() and not dock.isFloating()

    def _share_out(self) -> None:
        """To each panel the share it had, but to the text in the middle what it needs."""
        docks = self._in_sight()
        left = [dock for dock in docks if self._is_at(dock, _LEFT)]
        right = [dock for dock in docks if self._is_at(dock, _RIGHT)]
        others = [dock for dock in docks if dock not in (*left, *right)]
        total, usual = self._window.width(), usual_left_width(self._window)
        wanted = {dock: round(self._widths.get(dock, 0) * total) or usual for dock in left}
        room = total - CENTRE_WIDTH - _BORDERS - max(wanted.values(), default=0)
        for dock in (*right, *others):
            if dock in self._widths:
                width = round(self._widths[dock] * total)
                wanted[dock] = min(width, room) if dock in right else width
        for some in ([*left, *right], others):
            known = [dock for dock in some if dock in wanted]
            self._window.resizeDocks(known, [wanted[dock] for dock in known], _ACROSS)
            high = [dock for dock in some if dock in self._heights]
            heights = [round(self._heights[dock] * self._window.height()) for dock in high]
            self._window.resizeDocks(high, heights, _UPRIGHT)
