"""Models, texts and sessions that are dropped on the window."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from dropping import SLOW_MS, Load, Read, drag_over, drop, files, shown
from PySide6.QtCore import QCoreApplication, QMimeData
from PySide6.QtGui import QDragLeaveEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from logitscope.document import Block, State
from logitscope.gui.main_window import MainWindow
from logitscope.gui.panels.loss import LossPanel
from logitscope.session_file import SavedSession, save


def a_folder(path: Path) -> Path:
    path.mkdir()
    return path


def test_a_file_over_the_window_is_welcome_and_leaves_no_trace(
    window: MainWindow, tmp_path: Path
) -> None:
    event = drag_over(window, files(tmp_path / "model.gguf"))
    assert event.isAccepted()
    assert window.drop_overlay.isVisible()
    QCoreApplication.sendEvent(window.windowHandle(), QDragLeaveEvent())
    assert not window.drop_overlay.isVisible()


def test_text_over_the_window_is_the_editors_business(window: MainWindow) -> None:
    data = QMimeData()
    data.setText("some words")
    drag_over(window, data)
    assert not window.drop_overlay.isVisible()


def test_what_is_no_model_gets_one_sentence_and_the_model_stays(
    loaded: MainWindow, read: Read, tmp_path: Path
) -> None:
    read(loaded, "The sky is")
    model, ids = loaded.session.model, loaded.session.ids
    part = tmp_path / "pytorch_model.bin"
    part.write_text("no model")
    for path in (part, a_folder(tmp_path / "empty"), tmp_path / "is not there.gguf"):
        drop(loaded, files(path))
        sentence = shown(loaded).sentence
        assert path.name in sentence
        assert sentence.endswith(".")
        assert "\n" not in sentence
        assert loaded.session.model is model
        assert loaded.session.ids == ids


@pytest.mark.parametrize("name", ["notes.txt", "读我 🧠.MD", "main.rs", "two words.py"])
def test_a_text_dropped_anywhere_is_scored_in_the_loss_panel(
    qtbot: QtBot, loaded: MainWindow, tmp_path: Path, name: str
) -> None:
    panel = loaded.panels["loss"]
    assert isinstance(panel, LossPanel)
    loaded.docks["loss"].close()
    model = loaded.session.model
    path = tmp_path / name
    path.write_text("The sky is blue.\n", encoding="utf-8")
    assert drag_over(loaded, files(path)).isAccepted()
    drop(loaded, files(path))
    qtbot.waitUntil(lambda: panel.opened_text.text == "The sky is blue.\n")
    assert panel.shows_opened
    assert panel.isVisible()
    assert loaded.session.model is model
    assert loaded.session.loading_path is None


def test_records_dropped_on_the_window_are_read_by_their_field(
    qtbot: QtBot, loaded: MainWindow, tmp_path: Path
) -> None:
    panel = loaded.panels["loss"]
    assert isinstance(panel, LossPanel)
    path = tmp_path / "records.jsonl"
    path.write_text('{"text": "one"}\n{"text": "two"}\n', encoding="utf-8")
    drop(loaded, files(path))
    qtbot.waitUntil(lambda: panel.opened_text.text == "one\n\ntwo")


def test_a_file_that_may_be_either_is_asked_about_without_holding_up(
    qtbot: QtBot, loaded: MainWindow, tmp_path: Path
) -> None:
    panel = loaded.panels["loss"]
    assert isinstance(panel, LossPanel)
    path = tmp_path / "config.json"
    path.write_text('{"model_type": "llama"}', encoding="utf-8")
    drop(loaded, files(path))
    asked = shown(loaded)
    assert "config.json" in asked.sentence
    assert [action.title for action in asked.actions] == ["As text", "As model"]
    assert QApplication.activeModalWidget() is None
    assert not panel.shows_opened
    asked.actions[0].call()
    qtbot.waitUntil(lambda: panel.opened_text.text == '{"model_type": "llama"}')
    asked.actions[1].call()
    assert "open the folder" in shown(loaded).sentence


def test_a_dropped_model_is_told_by_its_first_bytes(window: MainWindow, tmp_path: Path) -> None:
    path = tmp_path / "sha256-0b1c"
    path.write_bytes(b"GGUF" + bytes(60))
    drop(window, files(path))
    assert window.session.loading_path == str(path)


def test_a_dropped_session_is_opened(window: MainWindow, tmp_path: Path) -> None:
    path = tmp_path / "mine.logitscope.json"
    save(path, SavedSession(State(blocks=(Block("The sea"),)), None))
    drop(window, files(path))
    assert window.session.state.text == "The sea"


def test_of_two_drops_at_once_the_newest_wins(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    first, second = tmp_path / "first.gguf", tmp_path / "second.gguf"
    for path in (first, second):
        path.write_bytes(b"GGUF" + bytes(60))
    drop(window, files(first))
    drop(window, files(second))
    assert window.session.loading_path == str(second)
    qtbot.waitUntil(lambda: window.session.loading_path is None, timeout=SLOW_MS)
    assert "first" not in shown(window).sentence


def test_a_newer_load_replaces_one_that_takes_long(
    qtbot: QtBot, window: MainWindow, load: Load
) -> None:
    window.opener.open("fake:vocab=500,load_ms=60000")
    load(window, "fake:vocab=600")
    assert window.session.model is not None
    assert window.session.model.n_vocab == 600


def test_of_several_files_the_first_is_opened_and_it_is_said(
    window: MainWindow, tmp_path: Path
) -> None:
    for name in ("a.gguf", "b.gguf"):
        (tmp_path / name).write_bytes(b"GGUF")
    drop(window, files(tmp_path / "a.gguf", tmp_path / "b.gguf"))
    assert window.session.loading_path == str(tmp_path / "a.gguf")
    assert any("a.gguf" in message.sentence for message in window.messages.kept)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads all")
def test_a_file_without_permission_gets_one_sentence(window: MainWindow, tmp_path: Path) -> None:
    path = tmp_path / "secret.gguf"
    path.write_bytes(b"GGUF")
    path.chmod(0)
    drop(window, files(path))
    assert "permission" in shown(window).sentence
