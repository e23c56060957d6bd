"""A panel on the window's ground: a title line and a body with round corners, fixed or docked."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QMargins, QPoint, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QCloseEvent, QGuiApplication
from PySide6.QtWidgets import (
    QApplication,
    QDockWidget,
    QFrame,
    QHBoxLayout,
    QLabel,
    QMenu,
    QToolButton,
    QVBoxLayout,
    QWidget,
    QWidgetAction,
)

from logitscope.gui import icons, theme
from logitscope.gui.widgets.plain import plain, rich
from logitscope.gui.widgets.shrinking_area import ShrinkingArea

BUTTON = 24
FLOATED = QPoint(-4 * theme.GRID, 4 * theme.GRID)
"""From a dock's old place to that of its window."""
FRAME = QMargins(4, 32, 4, 4)
"""About what a window manager puts around a window."""
DRAG_MS = 50
"""Between two looks whether a dock is still being dragged."""
HELP_WIDTH = 360


def within(place: QRect, room: QRect) -> QPoint:
    """The nearest place with nothing outside of the room; what is too large fills it."""
    left = max(room.left(), min(place.left(), room.right() - place.width() + 1))
    top = max(room.top(), min(place.top(), room.bottom() - place.height() + 1))
    return QPoint(left, top)


class CardTitle(QFrame):
    """Name on the left, small buttons on the right."""

    def __init__(self, title: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("cardTitle")
        self.label = plain(QLabel(title, self))
        self._help: tuple[str, str] | None = None
        self._help_button: QToolButton | None = None
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(12, 4, 6, 0)
        self._row.setSpacing(2)
        self._row.addWidget(self.label)
        self._row.addStretch(1)
        theme.notifier().changed.connect(self._restyle)
        self._restyle()

    def add_button(self, icon: str, name: str, place: int = -1) -> QToolButton:
        button = QToolButton(self)
        button.setProperty("flat", True)
        button.setProperty("small", True)
        button.setIcon(icons.icon(icon, "muted"))
        button.setIconSize(QSize(16, 16))
        button.setFixedSize(BUTTON, BUTTON)
        button.setToolTip(name)
        button.setAccessibleName(name)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._row.insertWidget(self._row.count() if place < 0 else place, button)
        return button

    def set_help(self, title: str, text: str) -> None:
        """How to read the panel, behind a small question mark."""
        self._help = title, text
        if self._help_button is None:
            self._help_button = self.add_button("help", self.tr("How to read this"), 2)
            self._help_button.clicked.connect(self.show_help)

    def show_help(self) -> None:
        if self._help is None or self._help_button is None:
            return
        below = self._help_button.mapToGlobal(QPoint(0, self._help_button.height() + 4))
        popover(self._help_button, *self._help).popup(below)

    def show_name(self, shown: bool) -> None:
        """Whether the name stands here; a tab above may say it already."""
        self.label.setVisible(shown)

    def _restyle(self) -> None:
        font = theme.ui_font()
        font.setWeight(font.Weight.DemiBold)
        self.label.setFont(font)


class Card(QWidget):
    """A panel that stays where it is."""

    def __init__(self, title: str, panel: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = CardTitle(title, self)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.title)
        layout.addWidget(_body(panel), 1)


class PanelDock(QDockWidget):
    """A panel that can be moved, tabbed, floated and closed; empty until it is ``put`` there."""

    wanted = Signal()
    """It came into sight while it was empty."""

    def __init__(self, name: str, title: str, parent: QWidget) -> None:
        super().__init__(title, parent)
        self.setObjectName(f"dock_{name}")
        self.title = CardTitle(title, self)
        self._float = self.title.add_button("float", self.tr("Float or dock"))
        self._float.clicked.connect(self._toggle_floating)
        close = self.title.add_button("close", self.tr("Close this panel"))
        close.clicked.connect(self.hide)
        for button in (self._float, close):
            # As Qt's own: a key that is meant for the panel must not tear it off or close it.
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setTitleBarWidget(self.title)
        self.visibilityChanged.connect(self._follow_sight)
        # Not within the turn in which Qt itself makes a window of it.
        self._frame_soon = QTimer(self, interval=0, singleShot=True)
        self._frame_after_drag = QTimer(self, interval=DRAG_MS, singleShot=True)
        for timer in (self._frame_soon, self._frame_after_drag):
            timer.timeout.connect(self._take_frame)
        self.topLevelChanged.connect(self._frame_soon.start)
        self.topLevelChanged.connect(self._take_from_mouse)
        action = self.toggleViewAction()
        # Qt's own slot closes the dock, which a window manager does, too.
        action.triggered.disconnect()
        action.triggered.connect(self._show_or_hide)

    def put(self, panel: QWidget) -> None:
        """Show the panel here."""
        self.setWidget(_body(panel))

    def _show_or_hide(self, shown: bool) -> None:
        self.setVisible(shown)

    def _toggle_floating(self) -> None:
        if self.isFloating():
            self._dock()
            return
        self.setFloating(True)
        # Exactly over its old place nobody would see that it is a window now.
        room = self.screen().availableGeometry().marginsRemoved(FRAME)
        self.move(within(QRect(self.pos() + FLOATED, self.size()), room))

    def _dock(self) -> None:
        self.setFloating(False)
        self.show()
        # Where it goes back among tabs it would be behind them.
        self.raise_()

    def _take_from_mouse(self) -> None:
        """The button moves away from below the mouse with its panel, of which Qt tells nobody: it
        would stay tinted."""
        QApplication.sendEvent(self._float, QEvent(QEvent.Type.Leave))

    def closeEvent(self, event: QCloseEvent) -> None:
        """Whoever closes the window by its frame wants to be rid of the window, not of the panel;
        our own ways to close the panel hide it."""
        super().closeEvent(event)
        if self.isFloating():
            # Refused, it would keep a system that closes all windows from ending the program.
            QTimer.singleShot(0, self, self._dock)

    def _take_frame(self) -> None:
        """Qt gives no frame to a dock with a title bar of its own, so that a window manager has
        nothing to take hold of. While it is dragged it stays as Qt wants it."""
        is_bare = bool(self.windowFlags() & Qt.WindowType.FramelessWindowHint)
        if not (self.isFloating() and is_bare):
            return
        if QGuiApplication.mouseButtons():
            # Nothing tells of the end of a drag that leaves the dock floating.
            self._frame_after_drag.start()
            return
        was_visible = self.isVisible()
        self.setWindowFlag(Qt.WindowType.FramelessWindowHint, False)
        self.setVisible(was_visible)
        # Keys are meant for the window that was just opened: Alt+F4 closed the whole program.
        self.activateWindow()

    def _follow_sight(self, is_in_sight: bool) -> None:
        """Behind another tab Qt only moves a dock out of the window: what is in it would take
        itself for visible, and follow every token of a run."""
        body = self.widget()
        if body is None:
            if is_in_sight:
                self.wanted.emit()
        elif is_in_sight or self.isVisible():
            body.setVisible(is_in_sight)


def popover(owner: QWidget, title: str, text: str) -> QMenu:
    """A few sentences that a click or Esc puts away again."""
    menu = QMenu(owner)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    label = rich(QLabel(f"<b>{title}</b><br><br>{text}", wordWrap=True))
    label.setFixedWidth(HELP_WIDTH)
    label.setContentsMargins(12, 8, 12, 8)
    action = QWidgetAction(menu)
    action.setDefaultWidget(label)
    closing = QAction(menu.tr("Close"), menu)
    menu.addAction(action)
    menu.addAction(closing)
    return menu


def _body(panel: QWidget) -> QFrame:
    body = QFrame()
    body.setObjectName("cardBody")
    # Behind another tab, too, it says how much room the tabs need.
    policy = body.sizePolicy()
    policy.setRetainSizeWhenHidden(True)
    body.setSizePolicy(policy)
    layout = QVBoxLayout(body)
    # Room for the frame's round corners.
    layout.setContentsMargins(4, 0, 4, 6)
    layout.addWidget(ShrinkingArea(panel))
    return body
