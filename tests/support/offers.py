"""Session files in the window: dialogs that answer, and what messages and the menu offer."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from logitscope.gui.main_window import MainWindow


def answer_dialogs(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    for name in ("getSaveFileName", "getOpenFileName"):
        monkeypatch.setattr(QFileDialog, name, lambda *_args, **_named: (str(path), ""))


def wait_for_offer(qtbot: QtBot, window: MainWindow) -> None:
    before = window.messages.kept
    window.unsaved.offer()
    qtbot.waitUntil(lambda: window.messages.kept != before)


def unsaved(window: MainWindow) -> list[str]:
    """Titles of the menu of unsaved sessions, without its last lines."""
    window.unsaved.menu.aboutToShow.emit()
    actions = window.unsaved.menu.actions()
    return [one.text().partition(" – ")[2] for one in actions if " – " in one.text()]


def take(window: MainWindow, title: str) -> None:
    """Choose what a message offers."""
    open_ones = [one for one in window.messages.kept if window.messages.is_open(one)]
    (action,) = (a for message in open_ones for a in message.actions if a.title == title)
    action.call()
