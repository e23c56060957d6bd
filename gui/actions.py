"""Commands as records, and the QActions, menus and keys made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Protocol

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QMenu, QMenuBar, QWidget

from logitscope.gui import icons
from logitscope.gui.engine import Activity
from logitscope.gui.session import Session
from logitscope.gui.settings import Settings
from logitscope.gui.words import mark, translated
from logitscope.sources import Place

CONTEXT = "Commands"
_KEYS_BEFORE_SHORTCUTS = (QEvent.Type.ShortcutOverride, QEvent.Type.KeyRelease)


class Menu(StrEnum):
    """The menus, from left to right; also the headings of the overview."""

    FILE = mark(CONTEXT, "&File")
    EDIT = mark(CONTEXT, "&Edit")
    GENERATE = mark(CONTEXT, "&Generate")
    VIEW = mark(CONTEXT, "&View")
    HELP = mark(CONTEXT, "&Help")


class Shell(Protocol):
    """What commands may use: the window, as far as they know it."""

    session: Session
    settings: Settings
    warm_temperature: float
    """The last temperature above 0, to which leaving greedy returns."""

    def run(self) -> None: ...
    def prompt_places(self) -> tuple[Place, ...]: ...
    def ask_for_file(self) -> None: ...
    def ask_for_folder(self) -> None: ...
    def ask_for_options(self) -> None: ...
    def new_session(self) -> None: ...
    def open_session(self) -> None: ...
    def save_session(self) -> None: ...
    def save_session_as(self) -> None: ...
    def insert_text(self) -> None: ...
    def show_exact_prompt(self) -> None: ...
    def show_library(self) -> None: ...
    def train_bigram(self) -> None: ...
    def show_examples(self) -> None: ...
    def show_recent(self) -> None: ...
    def show_unsaved(self) -> None: ...
    def show_settings(self) -> None: ...
    def show_messages(self) -> None: ...
    def show_commands(self) -> None: ...
    def show_about(self) -> None: ...
    def focus_panel(self, panel_id: str) -> None: ...
    def focus_control(self, panel_id: str, path: str) -> None: ...
    def toggle_panel(self, panel_id: str) -> None: ...
    def reset_layout(self) -> None: ...
    def toggle_full_screen(self) -> None: ...
    def close(self) -> bool: ...


def always(_session: Session) -> bool:
    """What can be used at any time."""
    return True


@dataclass(frozen=True, slots=True)
class Command:
    """One thing the person can do."""

    id: str
    title: str
    menu: Menu
    shortcuts: tuple[str, ...]
    call: Callable[[Shell], object]
    tip: str
    """One sentence."""
    icon: str = ""
    enabled: Callable[[Session], bool] = always
    bare_keys: tuple[str, ...] = ()
    """Keys without Ctrl or Alt: they work wherever the widget with the focus does not use them."""
    submenu: str = ""
    starts_group: bool = False
    """A line above it in the menu."""
    repeats: bool = True
    """Whether holding the key down goes on calling."""
    repeats_if: Callable[[Session], bool] = always
    """When a key that is held down may call again; what is pressed anew is always called."""

    @property
    def all_keys(self) -> tuple[str, ...]:
        return self.shortcuts + self.bare_keys


def key_text(key: str) -> str:
    """A key as this system writes it, such as ⌘O for ``Ctrl+O`` on a Mac."""
    return QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText)


class ActionSet(QObject):
    """A QAction for every command; enabled as the session allows."""

    def __init__(self, commands: Iterable[Command], shell: Shell, window: QWidget) -> None:
        super().__init__(window)
        self.commands = tuple(commands)
        self._session = shell.session
        self._actions: dict[str, QAction] = {}
        self._bare: dict[str, QAction] = {}
        self._idle_keys: dict[str, list[QShortcut]] = {}
        self._is_busy = shell.session.engine.activity.phase is not None
        self._is_held = False
        """The last key came again because it is held down."""
        window.installEventFilter(self)
        for command in self.commands:
            self._add(command, shell, window)
        self._follow(shell.session)
        self.refresh()

    def __getitem__(self, command_id: str) -> QAction:
        return self._actions[command_id]

    def refresh(self) -> None:
        """Ask every command again whether it can be used now."""
        # Many commands ask the same: of a running model, dozens of times a second.
        answers = {ask: ask(self._session) for ask in {c.enabled for c in self.commands}}
        for command in self.commands:
            can_be_used = answers[command.enabled]
            self._actions[command.id].setEnabled(can_be_used)
            for keys in self._idle_keys.get(command.id, ()):
                keys.setEnabled(not can_be_used)

    def take_bare_key(self, event: QKeyEvent) -> bool:
        """Trigger the command of a key that no widget wanted; False where there is none."""
        action = self._bare.get(_key_of(event))
        if action is None or not action.isEnabled():
            return False
        action.trigger()
        return True

    def fill(self, bar: QMenuBar) -> dict[Menu, QMenu]:
        """Make the menus; returns them for what is not a command, such as recent files."""
        menus: dict[Menu, QMenu] = {}
        submenus: dict[str, QMenu] = {}
        for command in self.commands:
            menu = menus.get(command.menu)
            if menu is None:
                menu = menus[command.menu] = bar.addMenu(translated(CONTEXT, command.menu))
            if command.starts_group and not menu.isEmpty():
                menu.addSeparator()
            if command.submenu:
                parent = menu
                menu = submenus.get(command.submenu)
                if menu is None:
                    menu = parent.addMenu(translated(CONTEXT, command.submenu))
                    submenus[command.submenu] = menu
            menu.addAction(self._actions[command.id])
        return menus

    def _add(self, command: Command, shell: Shell, window: QWidget) -> None:
        action = QAction(translated(CONTEXT, command.title), window)
        action.setObjectName(command.id)
        action.setShortcuts([QKeySequence(key) for key in command.shortcuts])
        action.setAutoRepeat(command.repeats)
        keys = ", ".join(key_text(key) for key in command.all_keys)
        action.setToolTip(f"{translated(CONTEXT, command.tip)}  ({keys})")
        action.setStatusTip(translated(CONTEXT, command.tip))
        action.triggered.connect(partial(self._call, command, shell))
        if command.icon:
            action.setIcon(icons.icon(command.icon))
            action.setIconVisibleInMenu(False)
        window.addAction(action)
        self._actions[command.id] = action
        # A disabled action leaves its key to the widget with the focus, and an editor writes the
        # figure of Alt+1. Keys with Ctrl are written nowhere, and Esc is wanted elsewhere.
        if command.enabled is not always:
            self._idle_keys[command.id] = [
                QShortcut(QKeySequence(key), window) for key in command.shortcuts if "Alt+" in key
            ]
        for key in command.bare_keys:
            self._bare[QKeySequence(key).toString()] = action

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Shortcuts do not say whether their key is held down; what precedes them does."""
        if event.type() in _KEYS_BEFORE_SHORTCUTS and isinstance(event, QKeyEvent):
            self._is_held = event.isAutoRepeat()
        return super().eventFilter(watched, event)

    def _call(self, command: Command, shell: Shell) -> None:
        if not self._is_held or command.repeats_if(self._session):
            command.call(shell)

    def _follow(self, session: Session) -> None:
        for signal in (
            session.model_changed,
            session.path_changed,
            session.prompt_changed,
            session.sources_changed,
            session.run_changed,
            session.selection_changed,
            session.row_changed,
            session.settings_changed,
            session.undo_stack.indexChanged,
        ):
            signal.connect(self.refresh)
        session.engine.activity_changed.connect(self._follow_activity)

    def _follow_activity(self, activity: Activity) -> None:
        """A model at work tells so with every token: only its beginning and its end matter."""
        if self._is_busy is not (activity.phase is not None):
            self._is_busy = not self._is_busy
            self.refresh()


def _key_of(event: QKeyEvent) -> str:
    # Shift is needed to type "?" on most keyboards and the keypad flag says nothing here.
    modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
    if event.text().isprintable() and event.text() and not event.text().isalnum():
        modifiers &= ~Qt.KeyboardModifier.ShiftModifier
    return QKeySequence(event.key() | modifiers.value).toString()
