"""Where the docks stand at first, and how they share the room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtWidgets import QDockWidget, QMainWindow, QTabWidget

from logitscope.gui.panel_table import PanelSpec, Place
from logitscope.gui.widgets.card import PanelDock

RIGHT_SHARE = 0.42
"""Of the window's width, for the panels on the right."""
LEFT_WIDTH, LEFT_SHARE = 380, 0.32
"""Of the panels on the left when they are first opened: so many pixels, or so much of the window
where that is less."""
CENTRE_WIDTH = 300
"""What the text shall have left then: its buttons in two lines."""
BOTTOM_SHARE = 0.34
"""Of the window's height, for the panels below the text."""


LOW_WINDOW = 700
"""Of a window lower than this, two panels on the right would show two lines of contents each."""


def prepare(window: QMainWindow) -> None:
    """How docks may be put together in this window."""
    window.setDockNestingEnabled(True)
    # Loss and origin are both about the whole text, and need its width.
    window.setCorner(Qt.Corner.BottomRightCorner, Qt.DockWidgetArea.BottomDockWidgetArea)
    window.setCorner(Qt.Corner.BottomLeftCorner, Qt.DockWidgetArea.LeftDockWidgetArea)
    window.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)


def place(
    window: QMainWindow, specs: Sequence[PanelSpec], docks: Mapping[str, QDockWidget]
) -> None:
    """Every dock where the table puts it: on the right one below the other (in a low window as
    tabs), on the left and at the bottom all in one place as tabs, the first of them in front."""
    left = [spec for spec in specs if spec.place is Place.LEFT]
    right = [spec for spec in specs if spec.place is Place.RIGHT]
    bottom = [spec for spec in specs if spec.place is Place.BOTTOM]
    for spec in left:
        window.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, docks[spec.id])
    for spec in right:
        window.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, docks[spec.id])
    for spec in bottom:
        window.addDockWidget(Qt.DockWidgetArea.BottomDockWidgetArea, docks[spec.id])
    beside = [spec for spec in specs if spec.place is Place.BOTTOM_RIGHT]
    for spec in beside:
        window.splitDockWidget(docks[bottom[0].id], docks[spec.id], Qt.Orientation.Horizontal)
    for spec in left[1:]:
        window.tabifyDockWidget(docks[left[0].id], docks[spec.id])
    for spec in bottom[1:]:
        window.tabifyDockWidget(docks[bottom[0].id], docks[spec.id])
    if window.height() < LOW_WINDOW:
        for spec in right[1:]:
            window.tabifyDockWidget(docks[right[0].id], docks[spec.id])
    for spec in (*left, *right, *bottom, *beside):
        docks[spec.id].setVisible(spec.is_shown)
    for front in (*right[:1], *bottom[:1]):
        docks[front.id].raise_()
    share_out(window, specs, docks)


def usual_left_width(window: QMainWindow) -> int:
    """Of the panels on the left."""
    return min(LEFT_WIDTH, round(LEFT_SHARE * window.width()))


def widen(window: QMainWindow, dock: QDockWidget) -> None:
    """Give a dock on the left its usual width, where it has less; the right ones give some of it.

    Not before its panel is laid out: an empty dock on its way into the window has no width.
    """

    def resize() -> None:
        wanted = usual_left_width(window)
        more = wanted - dock.width()
        if more <= 0:
            return
        right = _docked_on_the_right(window)
        centre = window.centralWidget()
        lacking = 0 if centre is None else max(0, CENTRE_WIDTH - (centre.width() - more))
        widths = [wanted, *(other.width() - lacking for other in right)]
        window.resizeDocks([dock, *right], widths, Qt.Orientation.Horizontal)

    QTimer.singleShot(0, dock, resize)


def _docked_on_the_right(window: QMainWindow) -> list[QDockWidget]:
    area = Qt.DockWidgetArea.RightDockWidgetArea
    return [
        dock
        for dock in window.findChildren(QDockWidget)
        if window.dockWidgetArea(dock) is area and dock.isVisible() and not dock.isFloating()
    ]


def toggle(dock: QDockWidget) -> None:
    """Close a dock that is seen; show one that is closed, or hidden behind other tabs."""
    if dock.isVisible() and not dock.visibleRegion().isEmpty():
        dock.hide()
    else:
        dock.show()
        dock.raise_()


class TabNames(QObject):
    """Lets docks that are tabs leave their name to the tab, as long as there are tabs."""

    def __init__(self, window: QMainWindow, docks: Sequence[PanelDock]) -> None:
        super().__init__(window)
        self._window = window
        self._docks = docks
        # Qt tells of a change before it has put the docks in their places.
        self._soon = QTimer(self, interval=0, singleShot=True)
        self._soon.timeout.connect(self._show_names)
        for dock in docks:
            for signal in (dock.visibilityChanged, dock.topLevelChanged, dock.dockLocationChanged):
                signal.connect(self._soon.start)
        self._soon.start()

    def _show_names(self) -> None:
        for dock in self._docks:
            others = self._window.tabifiedDockWidgets(dock)
            dock.title.show_name(all(other.isHidden() for other in others))


def share_out(
    window: QMainWindow, specs: Sequence[PanelSpec], docks: Mapping[str, QDockWidget]
) -> None:
    """To each dock what the table gives it."""
    right = [spec for spec in specs if spec.place is Place.RIGHT]
    below = [spec for spec in specs if spec.place is Place.BOTTOM]
    bottom = below[:1] + [spec for spec in specs if spec.place is Place.BOTTOM_RIGHT]
    column = [docks[spec.id] for spec in right]
    heights = [100 * spec.share for spec in right]
    width = round(RIGHT_SHARE * window.width())
    window.resizeDocks(column, heights, Qt.Orientation.Vertical)
    window.resizeDocks(column, [width] * len(column), Qt.Orientation.Horizontal)
    height = round(BOTTOM_SHARE * window.height())
    window.resizeDocks([docks[spec.id] for spec in bottom[:1]], [height], Qt.Orientation.Vertical)
    row = [docks[spec.id] for spec in bottom]
    window.resizeDocks(row, [100 * spec.share for spec in bottom], Qt.Orientation.Horizontal)
