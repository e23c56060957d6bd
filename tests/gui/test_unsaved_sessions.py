"""Sessions that were not saved: kept, offered at the next start, brought back or deleted."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from offers import answer_dialogs, take, unsaved, wait_for_offer
from PySide6.QtCore import QLocale
from pytestqt.qtbot import QtBot

from logitscope import session_file
from logitscope.document import Block, State
from logitscope.gui.kept import SUFFIX, recovery_folder
from logitscope.gui.main_window import MainWindow
from logitscope.session_file import SavedSession

NewWindow = Callable[[], MainWindow]


def test_a_text_that_was_not_saved_is_offered_at_the_next_start(
    qtbot: QtBot, new_window: NewWindow
) -> None:
    window = new_window()
    window.session.set_prompt("closed in a hurry")
    window.close()
    window = new_window()
    wait_for_offer(qtbot, window)
    assert "“closed in a hurry”" in window.messages.kept[0].sentence
    back, _delete = window.messages.kept[0].actions
    back.call()
    assert window.session.state.text == "closed in a hurry"
    assert window.files.keeper.is_modified


def test_an_offer_names_the_file_that_the_changes_belong_to(
    qtbot: QtBot, new_window: NewWindow, tmp_path: Path
) -> None:
    window = new_window()
    window.session.set_prompt("in its file")
    window.files.keeper.save(tmp_path / f"plums & co{SUFFIX}")
    window.session.set_prompt("in its file, and more")
    window.close()
    window = new_window()
    wait_for_offer(qtbot, window)
    assert f"Changes to “plums & co{SUFFIX}” of" in window.messages.kept[0].sentence
    assert unsaved(window) == [f"plums && co{SUFFIX} – in its file, and more"]


def test_the_time_of_an_offer_can_be_read_in_the_c_locale(
    qtbot: QtBot, new_window: NewWindow
) -> None:
    before = QLocale()
    window = new_window()
    window.session.set_prompt("closed in a hurry")
    window.close()
    window = new_window()
    QLocale.setDefault(QLocale(QLocale.Language.C))
    try:
        wait_for_offer(qtbot, window)
    finally:
        QLocale.setDefault(before)
    at = re.search(r"of (\d{4}-\d\d-\d\d \d\d:\d\d) was", window.messages.kept[0].sentence)
    assert at is not None
    assert abs(datetime.now() - datetime.fromisoformat(at[1])) < timedelta(minutes=5)


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
    wait_for_offer(qtbot, window)
    sentence = window.messages.kept[0].sentence
    assert "“before the crash”" in sentence
    assert "14" in sentence
    assert "07" in sentence
    recover, _delete = window.messages.kept[0].actions
    recover.call()
    assert window.session.state.text == "before\n the crash"
    assert not lost.exists()


def test_going_back_and_forth_between_two_unsaved_texts_loses_none(
    qtbot: QtBot, new_window: NewWindow
) -> None:
    window = new_window()
    window.session.set_prompt("closed in a hurry")
    window.close()
    window = new_window()
    wait_for_offer(qtbot, window)
    window.session.set_prompt("typed before the offer was read")
    take(window, "Bring it back")
    assert unsaved(window) == ["typed before the offer was read"]
    take(window, "Bring the old one back")
    assert window.session.state.text == "typed before the offer was read"
    assert unsaved(window) == ["closed in a hurry"]
    take(window, "Bring the old one back")
    assert window.session.state.text == "closed in a hurry"
    assert unsaved(window) == ["typed before the offer was read"]


def test_a_text_that_was_replaced_unsaved_is_in_the_menu(new_window: NewWindow) -> None:
    window = new_window()
    window.session.set_prompt("R&D, not saved")
    window.command_actions["new_session"].trigger()
    window.session.set_prompt("the next one")
    window.files.show(State(blocks=(Block("an example"),)), "Shown.")
    assert unsaved(window) == ["the next one", "R&&D, not saved"]
    window.unsaved.menu.actions()[1].trigger()
    assert window.session.state.text == "R&D, not saved"
    assert unsaved(window) == ["the next one"]


def test_what_needs_no_saving_is_not_kept_when_it_is_replaced(
    new_window: NewWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = new_window()
    window.files.new()
    answer_dialogs(monkeypatch, tmp_path / "mine")
    window.session.set_prompt("in its file")
    window.files.save()
    window.files.new()
    window.files.show(State(blocks=(Block("an example"),)), "Shown.")
    window.files.new()
    assert unsaved(window) == []
    assert [action.text() for action in window.unsaved.menu.actions()] == ["None"]


def test_unsaved_sessions_that_were_deleted_can_be_had_back(new_window: NewWindow) -> None:
    window = new_window()
    for text in ("an old one", "a newer one"):
        window.session.set_prompt(text)
        window.files.new()
    assert unsaved(window) == ["a newer one", "an old one"]
    window.unsaved.menu.actions()[-1].trigger()
    assert unsaved(window) == []
    take(window, "Undo")
    assert unsaved(window) == ["a newer one", "an old one"]
    window.unsaved.menu.actions()[-1].trigger()
    window.close()
    assert list(recovery_folder().iterdir()) == []


def test_an_offer_that_was_deleted_can_be_had_back(qtbot: QtBot, new_window: NewWindow) -> None:
    window = new_window()
    for text in ("an old one", "closed in a hurry"):
        window.session.set_prompt(text)
        window.files.new()
    window.close()
    window = new_window()
    wait_for_offer(qtbot, window)
    assert "Older ones are under" in window.messages.kept[0].sentence
    take(window, "Delete it")
    assert unsaved(window) == ["an old one"]
    take(window, "Undo")
    assert unsaved(window) == ["closed in a hurry", "an old one"]


def test_what_is_brought_back_is_not_saved_over_the_file_that_was_open(
    new_window: NewWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = new_window()
    window.session.set_prompt("put aside")
    window.files.new()
    window.session.set_prompt("mine")
    answer_dialogs(monkeypatch, tmp_path / "mine")
    window.files.save()
    assert unsaved(window) == ["put aside"]
    window.unsaved.menu.actions()[0].trigger()
    answer_dialogs(monkeypatch, tmp_path / "other")
    window.files.save()
    assert session_file.load(tmp_path / f"mine{SUFFIX}").state.text == "mine"
    assert session_file.load(tmp_path / f"other{SUFFIX}").state.text == "put aside"


def test_a_session_that_another_window_took_is_said_to_be_gone(new_window: NewWindow) -> None:
    window = new_window()
    window.session.set_prompt("put aside")
    window.files.new()
    unsaved(window)
    window.unsaved.menu.actions()[0].trigger()
    window.unsaved.menu.actions()[0].trigger()
    assert window.messages.kept[0].sentence == "That session is not kept any more."
    assert window.session.state.text == "put aside"
