"""The window: the model bar on top, the text in the middle, the panels as docks around it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import attrgetter

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QCloseEvent, QKeyEvent, QShowEvent
from PySide6.QtWidgets import (
    QDialog,
    QMainWindow,
    QMenu,
    QMenuBar,
    QVBoxLayout,
    QWidget,
)

from logitscope import sources
from logitscope.gui import commands, docking, theme
from logitscope.gui.actions import ActionSet
from logitscope.gui.beginning import Beginning
from logitscope.gui.dropping import Drops, Ways
from logitscope.gui.files import SessionFiles
from logitscope.gui.message import Message, Severity
from logitscope.gui.notify import Messages
from logitscope.gui.opening import Opener
from logitscope.gui.panel_layout import PanelLayout
from logitscope.gui.panel_shelf import PanelShelf
from logitscope.gui.panel_table import PANELS, PanelSpec, Place
from logitscope.gui.panels.loss import LossPanel
from logitscope.gui.panels.model import ModelBar
from logitscope.gui.panels.text import TextPanel
from logitscope.gui.session import Session
from logitscope.gui.settings import THEME, ZOOM, Settings
from logitscope.gui.source_commands import SOURCE_COMMANDS
from logitscope.gui.stage import bring, reveal
from logitscope.gui.unsaved import UnsavedSessions
from logitscope.gui.widgets.card import Card, CardTitle, PanelDock
from logitscope.gui.widgets.drop_overlay import DropOverlay
from logitscope.gui.widgets.insets import inset_numbers
from logitscope.gui.widgets.sheltered import Sheltered
from logitscope.gui.widgets.toast_stack import ToastStack
from logitscope.gui.widgets.token_painter import CellStyle
from logitscope.gui.words import translated

LAYOUT_VERSION = 2
"""Raise it when the docks change so much that an old layout makes no sense."""
USUAL_SIZE = QSize(1440, 900)
FRAME_HEIGHT = 32
"""Left for the title bar that the system puts around the window."""


class MainWindow(QMainWindow):
    """Puts the panels together; what they show is the session's business."""

    def __init__(self, session: Session, settings: Settings) -> None:
        super().__init__()
        self.session = session
        self.settings = settings
        self.warm_temperature = session.settings.temperature or 1.0
        self.messages = Messages(session, self)
        self.opener = Opener(session, settings, self.messages, self)
        self.files = SessionFiles(session, self.messages, self)
        self.unsaved = UnsavedSessions(self.files.recover, self.messages, self)
        self.model_bar = ModelBar(session)
        self.model_bar.stop_wanted.connect(lambda: commands.stop(self))
        self.panels = PanelShelf(PANELS, self._make_panel)
        self.docks: dict[str, PanelDock] = {}
        self._build_panels()
        self.command_actions = ActionSet(commands.COMMANDS, self, self)
        self._build_top()
        self.beginning = Beginning(self)
        self.toasts = ToastStack(self)
        self.toasts.stay_above(filter(None, (self.centralWidget(), *self.docks.values())))
        self.drop_overlay = DropOverlay(self)
        self._connect()
        self.setWindowTitle("Logitscope")
        self._lay_out()

    # -- making -----------------------------------------------------------------------------

    def _build_panels(self) -> None:
        docking.prepare(self)
        self.setContentsMargins(theme.GRID, 0, theme.GRID, theme.GRID)
        for spec in PANELS:
            if spec.place is not Place.CENTRE:
                dock = PanelDock(spec.id, translated("Panels", spec.title), self)
                dock.wanted.connect(partial(self.panels.get, spec.id))
                self.docks[spec.id] = dock
        self.panels.make_first()

    def _make_panel(self, spec: PanelSpec) -> QWidget:
        panel = spec.build(self.session)
        spec.bind(panel, self.settings)
        inset_numbers(panel)
        dock = self.docks.get(spec.id)
        if dock is None:
            card = Card(translated("Panels", spec.title), panel)
            self.setCentralWidget(card)
            _explain(card.title, panel)
        else:
            dock.put(panel)
            _explain(dock.title, panel)
            if spec.place is Place.LEFT:
                docking.widen(self, dock)
        if (marked := getattr(panel, "overlay_changed", None)) is not None:
            marked.connect(self._mark_text)
        return panel

    def _build_top(self) -> None:
        top = QWidget(self)
        layout = QVBoxLayout(top)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        bar = QMenuBar(top)
        self.command_actions.fill(bar)
        layout.addWidget(bar)
        layout.addWidget(Sheltered(self.model_bar, top))
        self.setMenuWidget(top)
        recent = QMenu(self)
        recent.aboutToShow.connect(lambda: self.opener.fill_recent(recent))
        self.command_actions["recent"].setMenu(recent)
        self.command_actions["unsaved"].setMenu(self.unsaved.menu)
        self.model_menu = QMenu(self)
        self.model_menu.aboutToShow.connect(self._fill_model_menu)
        self.model_bar.set_menu(self.model_menu)

    def _fill_model_menu(self) -> None:
        self.opener.fill_recent(self.model_menu)
        self.model_menu.addSeparator()
        for command_id in ("library", "open_file", "open_folder", "open_options", "reload"):
            self.model_menu.addAction(self.command_actions[command_id])

    def _lay_out(self) -> None:
        """The usual layout first, for what the remembered one does not know."""
        room = self.screen().availableSize() - QSize(2, FRAME_HEIGHT)
        self.resize(USUAL_SIZE.boundedTo(room))
        self.ensurePolished()
        layout = self.layout()
        if layout is not None:
            layout.activate()
        self.panel_layout = PanelLayout(self, PANELS, self.docks)
        self.panel_layout.place()
        docking.TabNames(self, tuple(self.docks.values()))
        remembered = self.settings.layout
        if remembered is not None:
            geometry, docks = remembered
            self.restoreGeometry(geometry)
            self.panel_layout.restore(docks, LAYOUT_VERSION)

    def _connect(self) -> None:
        text = self.panels["text"]
        if isinstance(text, TextPanel):
            text.set_source_actions([self.command_actions[c.id] for c in SOURCE_COMMANDS])
        for panel_id, dock in self.docks.items():
            self.command_actions[f"toggle_{panel_id}"].setCheckable(True)
            action = dock.toggleViewAction()
            # By the action itself it is told before the dock is hidden.
            for signal in (action.toggled, action.triggered):
                signal.connect(self._mark_panels)
        self.messages.arrived.connect(self._show_message)
        self.messages.settled.connect(self.toasts.remove)
        self.settings.changed.connect(self._apply_setting)
        self.session.settings_changed.connect(self._note_temperature)
        self.session.model_changed.connect(self._name_window)
        self.files.keeper.changed.connect(self._name_window)
        ways = Ways(self.opener.open, self.files.open_path, self.open_text)
        self.drops = Drops(ways, self.messages, self)
        self.drop_overlay.dropped.connect(self.drops.open)

    # -- following --------------------------------------------------------------------------

    def _mark_text(self, overlay: Callable[[int], CellStyle | None] | None) -> None:
        text = self.panels["text"]
        if isinstance(text, TextPanel):
            text.set_overlay(overlay)

    def _apply_setting(self, key: str) -> None:
        if key == THEME.key:
            theme.set_mode(theme.Mode(self.settings.get(THEME)))
        elif key == ZOOM.key:
            theme.set_zoom(self.settings.get(ZOOM))

    def _note_temperature(self) -> None:
        if not self.session.settings.greedy:
            self.warm_temperature = self.session.settings.temperature

    def _name_window(self) -> None:
        model, keeper = self.session.model, self.files.keeper
        file = "" if keeper.path is None else f"{keeper.path.name}[*] – "
        name = "" if model is None else f"{model.name} – "
        self.setWindowTitle(f"{file}{name}Logitscope")
        is_modified = keeper.path is not None and keeper.is_modified
        if is_modified != self.isWindowModified():
            self.setWindowModified(is_modified)

    def _show_message(self, message: Message) -> None:
        if message.severity is Severity.BUG:
            from logitscope.gui.dialogs.messages import BugDialog

            BugDialog(message, self).open()
        else:
            self.toasts.show_message(message)

    def _open_dialog(self, dialog: QDialog) -> None:
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        inset_numbers(dialog)
        dialog.open()

    # -- commands ---------------------------------------------------------------------------

    def ask_for_file(self) -> None:
        self.opener.ask_for_file()

    def ask_for_folder(self) -> None:
        self.opener.ask_for_folder()

    def ask_for_options(self) -> None:
        self.opener.ask_for_options()

    def open_text(self, path: str) -> None:
        """Score the text of a file, in the panel for that."""
        panel = self.panels["loss"]
        if isinstance(panel, LossPanel):
            self.focus_panel("loss")
            panel.opener.open(path)

    def new_session(self) -> None:
        self.files.new()
        self.focus_panel("text")

    def open_session(self) -> None:
        self.files.open()

    def save_session(self) -> None:
        self.files.save()

    def save_session_as(self) -> None:
        self.files.save_as()

    def insert_text(self) -> None:
        self.files.insert_text()

    def show_exact_prompt(self) -> None:
        from logitscope.gui.dialogs.exact_prompt import ExactPromptDialog

        self._open_dialog(ExactPromptDialog(self.session, self))

    def show_examples(self) -> None:
        self.beginning.show_examples()

    def show_library(self) -> None:
        self.opener.show_library()

    def train_bigram(self) -> None:
        from logitscope.gui.dialogs.train_bigram import TrainBigramDialog

        dialog = TrainBigramDialog(self.session, self)
        dialog.wanted.connect(self.opener.open)
        self._open_dialog(dialog)

    def run(self) -> None:
        """As the panel's own button does, which knows the length and what to stop at."""
        text = self.panels["text"]
        if isinstance(text, TextPanel):
            text.transport.run.click()

    def prompt_places(self) -> tuple[sources.Place, ...]:
        """What is selected in the prompt's editor."""
        text = self.panels["text"]
        return text.places if isinstance(text, TextPanel) else ()

    def show_recent(self) -> None:
        self._pop_up(self.model_menu)

    def show_unsaved(self) -> None:
        self._pop_up(self.unsaved.menu)

    def _pop_up(self, menu: QMenu) -> None:
        name = self.model_bar.name
        menu.popup(name.mapToGlobal(name.rect().bottomLeft()))

    def show_settings(self) -> None:
        from logitscope.gui.dialogs.settings import SettingsDialog

        self._open_dialog(SettingsDialog(self.settings, self))

    def show_messages(self) -> None:
        from logitscope.gui.dialogs.messages import MessagesDialog

        self._open_dialog(MessagesDialog(self.messages, self))

    def show_commands(self) -> None:
        from logitscope.gui.dialogs.shortcuts import ShortcutsDialog

        self._open_dialog(ShortcutsDialog(self.command_actions, self))

    def show_about(self) -> None:
        from logitscope.gui.dialogs.about import AboutDialog

        self._open_dialog(AboutDialog(self))

    def focus_panel(self, panel_id: str) -> None:
        dock = self.docks.get(panel_id)
        if dock is not None:
            dock.show()
            dock.raise_()
        _focus_into(self.panels[panel_id])

    def focus_control(self, panel_id: str, path: str) -> None:
        """Bring a control of a panel into sight, and let the keyboard write over what is in it."""
        bring(self, panel_id)
        control = attrgetter(path)(self.panels[panel_id])
        control.setFocus(Qt.FocusReason.ShortcutFocusReason)
        control.selectAll()
        reveal(control, whole=True)

    def toggle_panel(self, panel_id: str) -> None:
        """Show the panel, or bring it in front of the other tabs; close it where it is seen."""
        docking.toggle(self.docks[panel_id])
        self._mark_panels()

    def _mark_panels(self) -> None:
        """A check mark in the menu for each panel that is not closed."""
        for panel_id, dock in self.docks.items():
            self.command_actions[f"toggle_{panel_id}"].setChecked(not dock.isHidden())

    def reset_layout(self) -> None:
        self.panel_layout.place()

    def toggle_full_screen(self) -> None:
        self.setWindowState(self.windowState() ^ Qt.WindowState.WindowFullScreen)

    # -- events -----------------------------------------------------------------------------

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.drop_overlay.listen()
        if self.focusWidget() is None:
            self.focus_panel("text")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not self.command_actions.take_bare_key(event):
            super().keyPressEvent(event)

    def closeEvent(self, event: QCloseEvent) -> None:
        self.settings.save_layout(self.saveGeometry(), self.panel_layout.save(LAYOUT_VERSION))
        self.settings.sync()
        self.hide()
        self.session.stop()
        for panel in self.panels.made.values():
            getattr(panel, "shut_down", lambda: None)()
        self.session.engine.close()
        self.opener.close()
        self.files.keeper.close()
        self.unsaved.close()
        super().closeEvent(event)


def _explain(title: CardTitle, panel: QWidget) -> None:
    """Put the panel's ``HELP``, a title and how to read it, behind a question mark."""
    words = getattr(panel, "HELP", None)
    if words is not None:
        title.set_help(*words)


def _focus_into(panel: QWidget) -> None:
    """Give the keyboard to the panel, or to the first widget in it that takes it."""
    candidates = [panel, *panel.findChildren(QWidget)]
    for widget in candidates:
        takes = widget.focusPolicy() & Qt.FocusPolicy.TabFocus or widget.focusProxy() is not None
        if takes and widget.isEnabled() and widget.isVisibleTo(panel):
            widget.setFocus(Qt.FocusReason.ShortcutFocusReason)
            return
    # An empty panel may have nothing to type into yet; its own keys shall work all the same.
    panel.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    panel.setFocus(Qt.FocusReason.ShortcutFocusReason)
