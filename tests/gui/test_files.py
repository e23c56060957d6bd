"""Session files through the window: save, open, recovery, and what a bad file says."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from logitscope import session_file
from logitscope.document import Block, State
from logitscope.gui.keeping import SUFFIX, recovery_folder
from logitscope.gui.main_window import MainWindow
from logitscope.session_file import SavedSession

NewWindow = Callable[[], MainWindow]


def answer_dialogs(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    for name in ("getSaveFileName", "getOpenFileName"):
        monkeypatch.setattr(QFileDialog, name, lambda *_args, **_named: (str(path), ""))


def test_save_then_new_then_open_brings_the_text_back(
    new_window: NewWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = new_window()
    answer_dialogs(monkeypatch, tmp_path / "mine")
    window.session.set_prompt("keep me")
    window.command_actions["save_session"].trigger()
    saved = tmp_path / f"mine{SUFFIX}"
    assert session_file.load(saved).state.text == "keep me"
    assert window.windowTitle().startswith(f"mine{SUFFIX}")
    assert not window.isWindowModified()
    window.session.set_prompt("keep me too")
    assert window.isWindowModified()
    window.command_actions["new_session"].trigger()
    assert window.session.state.text == ""
    answer_dialogs(monkeypatch, saved)
    window.command_actions["open_session"].trigger()
    assert window.session.state.text == "keep me"


def test_a_new_session_can_be_taken_back(new_window: NewWindow) -> None:
    window = new_window()
    window.session.set_prompt("not lost")
    window.command_actions["new_session"].trigger()
    (action,) = window.messages.kept[0].actions
    action.call()
    assert window.session.state.text == "not lost"


def offers(window: MainWindow) -> list[str]:
    """Titles of all actions that still make sense."""
    open_ones = [one for one in window.messages.kept if window.messages.is_open(one)]
    return [action.title for message in open_ones for action in message.actions]


def test_the_old_session_is_offered_until_another_is_opened_or_saved(
    new_window: NewWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = new_window()
    answer_dialogs(monkeypatch, tmp_path / "mine")
    window.session.set_prompt("the first")
    window.files.new()
    assert offers(window) == ["Bring the old one back"]
    window.session.set_prompt("the second")
    window.files.save()
    assert offers(window) == []
    assert [toast.message.actions for toast in window.toasts.toasts if toast.message] == [()]
    window.files.new()
    window.files.open_path(tmp_path / f"mine{SUFFIX}")
    assert offers(window) == []


def test_the_old_session_comes_back_with_its_file(
    new_window: NewWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = new_window()
    for name in ("one", "two"):
        answer_dialogs(monkeypatch, tmp_path / name)
        window.session.set_prompt(name)
        window.files.save_as()
    window.files.open_path(tmp_path / f"one{SUFFIX}")
    (action,) = window.messages.kept[0].actions
    action.call()
    window.files.save()
    assert session_file.load(tmp_path / f"one{SUFFIX}").state.text == "one"
    assert session_file.load(tmp_path / f"two{SUFFIX}").state.text == "two"
    assert window.windowTitle().startswith(f"two{SUFFIX}")


def test_a_file_that_is_no_session_is_one_sentence(
    new_window: NewWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = new_window()
    window.session.set_prompt("still here")
    for content, words in (("{}", "not a Logitscope session"), ("\x00", "not a saved session")):
        path = tmp_path / "wrong.json"
        path.write_text(content, encoding="utf-8")
        window.files.open_path(path)
        assert words in window.messages.kept[0].sentence
    window.files.open_path(tmp_path / "gone.json")
    assert "cannot be read" in window.messages.kept[0].sentence
    assert window.session.state.text == "still here"


def test_a_folder_that_cannot_be_written_is_one_sentence(
    new_window: NewWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = new_window()
    answer_dialogs(monkeypatch, tmp_path / "no" / "such" / f"folder{SUFFIX}")
    window.session.set_prompt("x")
    window.command_actions["save_session"].trigger()
    assert "cannot be written" in window.messages.kept[0].sentence


def test_a_text_that_was_not_saved_is_offered_at_the_next_start(new_window: NewWindow) -> None:
    window = new_window()
    window.session.set_prompt("closed in a hurry")
    window.close()
    window = new_window()
    window.files.offer_recovery()
    assert "“closed in a hurry”" in window.messages.kept[0].sentence
    back, _delete = window.messages.kept[0].actions
    back.call()
    assert window.session.state.text == "closed in a hurry"
    assert window.files.keeper.is_modified


def test_what_a_crash_left_is_offered_and_recovered(qtbot: QtBot, new_window: NewWindow) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    folder = recovery_folder()
    folder.mkdir(parents=True)
    lost = folder / f"{process.pid}-1{SUFFIX}"
    session_file.save(lost, SavedSession(State(blocks=(Block("before\n the crash"),)), None))
    noon = datetime(2025, 3, 14, 12, 7)
    os.utime(lost, (noon.timestamp(), noon.timestamp()))
    window = new_window()
    window.files.offer_recovery()
    sentence = window.messages.kept[0].sentence
    assert "“before the crash”" in sentence
    assert "14" in sentence
    assert "07" in sentence
    recover, _delete = window.messages.kept[0].actions
    recover.call()
    assert window.session.state.text == "before\n the crash"
    assert not lost.exists()
