"""Session files through the window: save, open, recovery, and what a bad file says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from offers import answer_dialogs, take, unsaved, wait_for_offer
from pytestqt.qtbot import QtBot

from logitscope import session_file
from logitscope.backends.base import LoadOptions
from logitscope.document import Block, State
from logitscope.gui.app import open_first
from logitscope.gui.kept import SUFFIX
from logitscope.gui.main_window import MainWindow
from logitscope.session_file import ModelReference, SavedSession

NewWindow = Callable[[], MainWindow]


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
