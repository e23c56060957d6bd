"""Session files through the window: save, open, recovery, and what a bad file says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from PySide6.QtCore import QLocale
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from logitscope import session_file
from logitscope.backends.base import LoadOptions
from logitscope.document import Block, State
from logitscope.gui.app import open_first
from logitscope.gui.kept import SUFFIX, recovery_folder
from logitscope.gui.main_window import MainWindow
from logitscope.session_file import ModelReference, SavedSession

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


def test_a_file_that_the_dialog_did_not_ask_about_is_not_replaced(
    new_window: NewWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / f"plums v1.2{SUFFIX}"
    session_file.save(file, SavedSession(State(blocks=(Block("older"),)), None))
    window = new_window()
    window.session.set_prompt("newer")
    answer_dialogs(monkeypatch, tmp_path / "plums v1.2")
    window.files.save()
    assert session_file.load(file).state.text == "older"
    take(window, "Replace it")
    assert session_file.load(file).state.text == "newer"


def test_a_session_under_any_name_is_opened_as_one(
    new_window: NewWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = new_window()
    window.session.set_prompt("saved by hand")
    answer_dialogs(monkeypatch, tmp_path / "mine.json")
    window.files.save()
    assert window.files.keeper.path == tmp_path / "mine.json"
    window = new_window()
    open_first(window, str(tmp_path / "mine.json"), "", LoadOptions())
    assert window.session.state.text == "saved by hand"
    window = new_window()
    window.drops.open([str(tmp_path / "mine.json")])
    assert window.session.state.text == "saved by hand"


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


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_session_on_the_command_line_is_opened_as_one(
    new_window: NewWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_whole: bool
) -> None:
    path = tmp_path / f"a{SUFFIX}"
    session_file.save(path, SavedSession(State(blocks=(Block("from the shell"),)), None))
    if not is_whole:
        path.write_text("{")
    window = new_window()
    models: list[str | None] = []
    monkeypatch.setattr(window.opener, "open_at_start", lambda path, *_: models.append(path))
    open_first(window, str(path), "", LoadOptions())
    assert window.session.state.text == ("from the shell" if is_whole else "")
    # In place of one that cannot be read comes what an empty command line brings.
    assert models == ([] if is_whole else [None])


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


def test_the_old_session_comes_back_with_its_model(
    qtbot: QtBot, new_window: NewWindow, tmp_path: Path
) -> None:
    other = tmp_path / f"other{SUFFIX}"
    reference = ModelReference("fake:vocab=300,seed=1", "", "", "")
    session_file.save(other, SavedSession(State(blocks=(Block("other"),)), reference))
    window = new_window()
    session = window.session
    session.open_model("fake:vocab=500,seed=3")
    qtbot.waitUntil(lambda: session.is_ready, timeout=20_000)
    session.set_prompt("of the first model")
    window.files.open_path(other)
    qtbot.waitUntil(lambda: session.is_ready and session.model is not None, timeout=20_000)
    assert session.model is not None
    assert session.model.path == "fake:vocab=300,seed=1"
    take(window, "Bring the old one back")
    qtbot.waitUntil(
        lambda: session.model is not None and session.model.path == "fake:vocab=500,seed=3",
        timeout=20_000,
    )
    assert session.state.text == "of the first model"


def test_a_file_that_another_window_has_written_is_not_replaced_without_asking(
    new_window: NewWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / f"plums{SUFFIX}"
    answer_dialogs(monkeypatch, file)
    window = new_window()
    window.session.set_prompt("plums")
    window.files.save()
    other = SavedSession(State(blocks=(Block("plums, by another window"),)), None)
    session_file.save(file, other)
    window.session.set_prompt("plums, by me")
    window.files.save()
    assert session_file.load(file).state.text == "plums, by another window"
    assert window.isWindowModified()
    assert offers(window) == ["Save under another name…", "Replace it"]
    take(window, "Replace it")
    assert session_file.load(file).state.text == "plums, by me"
    assert offers(window) == []
    window.session.set_prompt("plums, once more")
    window.files.save()
    assert session_file.load(file).state.text == "plums, once more"
    file.unlink()
    window.session.set_prompt("plums, though the file is gone")
    window.files.save()
    assert session_file.load(file).state.text == "plums, though the file is gone"


@pytest.mark.parametrize("way", ["taken", "deleted"])
def test_the_offer_goes_with_what_it_speaks_of(
    qtbot: QtBot, new_window: NewWindow, way: str
) -> None:
    window = new_window()
    window.session.set_prompt("closed in a hurry")
    window.close()
    window = new_window()
    wait_for_offer(qtbot, window)
    assert "Bring it back" in offers(window)
    unsaved(window)
    if way == "taken":
        window.unsaved.menu.actions()[0].trigger()
    else:
        window.unsaved.menu.actions()[-1].trigger()
    assert "Bring it back" not in offers(window)
