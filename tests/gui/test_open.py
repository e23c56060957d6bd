"""Every way to a model, and what happens when it is none."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QDialogButtonBox, QMenu
from pytestqt.qtbot import QtBot

from logitscope.backends.base import LoadOptions
from logitscope.document import Block, State
from logitscope.gui.app import with_defaults
from logitscope.gui.dialogs.library import LibraryDialog
from logitscope.gui.dialogs.messages import BugDialog
from logitscope.gui.dialogs.open_model import OpenModelDialog
from logitscope.gui.main_window import MainWindow
from logitscope.gui.message import Message, Severity
from logitscope.gui.panels.loss import LossPanel
from logitscope.gui.settings import OPEN_LAST
from logitscope.session_file import SavedSession, save

Load = Callable[..., MainWindow]
Read = Callable[[MainWindow, str], None]
COPY = Qt.DropAction.CopyAction
LEFT, NO_KEY = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
SLOW_MS = 60_000


def files(*paths: Path | str) -> QMimeData:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    return data


def drag_over(window: MainWindow, data: QMimeData) -> QDragEnterEvent:
    event = QDragEnterEvent(QPoint(300, 300), COPY, data, LEFT, NO_KEY)
    QCoreApplication.sendEvent(window.windowHandle(), event)
    return event


def drop(window: MainWindow, data: QMimeData) -> None:
    event = QDropEvent(QPointF(300, 300), COPY, data, LEFT, NO_KEY, QEvent.Type.Drop)
    QCoreApplication.sendEvent(window.windowHandle(), event)


def shown(window: MainWindow) -> Message:
    newest = window.toasts.newest
    assert newest is not None
    assert newest.isVisible()
    assert newest.message is not None
    return newest.message


def a_folder(path: Path) -> Path:
    path.mkdir()
    return path


# -- dropping -----------------------------------------------------------------------------------


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


# -- models that cannot be loaded ---------------------------------------------------------------


@pytest.mark.parametrize(
    "accident", ["fail=load", "abort=load", "crash=load"], ids=lambda accident: accident
)
def test_a_failed_load_leaves_text_and_window_and_a_way_back(
    qtbot: QtBot, loaded: MainWindow, read: Read, accident: str
) -> None:
    read(loaded, "The sky is")
    loaded.session.step()
    qtbot.waitUntil(lambda: len(loaded.session.document.path) == 1)
    qtbot.waitUntil(lambda: not loaded.session.is_running)
    document = loaded.session.state
    loaded.opener.open(f"fake:vocab=500,{accident}")
    qtbot.waitUntil(lambda: loaded.session.loading_path is None, timeout=SLOW_MS)
    qtbot.waitUntil(lambda: bool(loaded.toasts.toasts))
    message = shown(loaded)
    assert message.severity is Severity.PROBLEM
    assert "\n" not in message.sentence
    assert loaded.session.state == document
    titles = [action.title for action in message.actions]
    assert titles[0].startswith("Back to")
    # A file that is no model stays one; a process that died may have lacked memory.
    again = [] if accident == "fail=load" else ["Load again"]
    assert titles[1:] == [*again, "Open another model…"]
    message.actions[0].call()
    qtbot.waitUntil(lambda: loaded.session.model is not None, timeout=SLOW_MS)
    qtbot.waitUntil(lambda: loaded.session.is_ready, timeout=SLOW_MS)
    assert loaded.toasts.toasts == []
    assert loaded.session.state.text == "The sky is"
    assert loaded.session.ids == (*document.prompt_ids, document.tree[0].step.token_id)


def test_a_bug_while_loading_shows_its_details(qtbot: QtBot, window: MainWindow) -> None:
    window.opener.open("fake:vocab=500,bug=load")
    qtbot.waitUntil(lambda: window.findChild(BugDialog) is not None, timeout=SLOW_MS)
    dialog = window.findChild(BugDialog)
    assert dialog is not None
    assert "Traceback" in dialog.details.toPlainText()
    assert "Traceback" not in dialog.message.sentence
    dialog.reject()


@pytest.mark.parametrize(
    "content", [b"", b"GGUF", b"GGUF" + b"\xff" * 200, b"not a model at all" * 9]
)
@pytest.mark.parametrize("name", ["plain.gguf", "with space 模型 🧠.gguf"])
def test_a_damaged_file_gets_one_sentence(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, content: bytes, name: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    drop(window, files(path))
    qtbot.waitUntil(lambda: bool(window.toasts.toasts), timeout=SLOW_MS)
    message = shown(window)
    assert "\n" not in message.sentence
    assert "Traceback" not in message.sentence
    assert window.session.model is None
    assert message.severity is Severity.PROBLEM
    assert [action.title for action in message.actions] == ["Open another model…"]


def test_the_model_dies_while_running_and_is_loaded_again(
    qtbot: QtBot, window: MainWindow, load: Load, read: Read
) -> None:
    load(window, "fake:vocab=500,decode_ms=20,abort=decode,after=3")
    read(window, "The sky is")
    window.session.run(20)
    qtbot.waitUntil(lambda: window.session.model is None, timeout=SLOW_MS)
    qtbot.waitUntil(lambda: bool(window.toasts.toasts))
    written = window.session.document.tail_ids
    assert written
    message = shown(window)
    assert [action.title for action in message.actions] == ["Load again", "Open another model…"]
    message.actions[0].call()
    qtbot.waitUntil(lambda: window.session.is_ready, timeout=SLOW_MS)
    assert window.session.document.tail_ids == written
    assert window.toasts.toasts == []


def test_stop_ends_a_model_that_does_not_obey(
    qtbot: QtBot, window: MainWindow, load: Load, read: Read
) -> None:
    load(window, "fake:vocab=500,hang=decode,after=9")
    read(window, "The sky is")
    window.session.run(1000)
    qtbot.waitUntil(lambda: len(window.session.document.path) >= 5, timeout=SLOW_MS)
    written = window.session.document.tail_ids
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert not window.session.is_running
    qtbot.waitUntil(lambda: window.session.model is None, timeout=SLOW_MS)
    qtbot.waitUntil(lambda: bool(window.toasts.toasts))
    assert shown(window).actions[0].title == "Load again"
    assert window.session.document.tail_ids[: len(written)] == written


def test_loading_can_be_stopped(qtbot: QtBot, window: MainWindow) -> None:
    window.opener.open("fake:vocab=500,load_ms=60000")
    assert window.command_actions["stop"].isEnabled()
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: window.session.loading_path is None, timeout=SLOW_MS)
    assert window.session.model is None
    assert "stopped" in shown(window).sentence.lower()


def test_a_model_with_a_smaller_vocabulary_takes_over(
    qtbot: QtBot, window: MainWindow, load: Load, read: Read
) -> None:
    load(window, "fake:vocab=1000,seed=3")
    read(window, "The sky is")
    window.session.run(30)
    qtbot.waitUntil(lambda: not window.session.is_running)
    window.opener.open("fake:vocab=300,seed=4")
    session = window.session
    qtbot.waitUntil(lambda: session.model is not None and session.is_ready, timeout=SLOW_MS)
    assert session.model is not None
    assert session.model.n_vocab == 300
    assert session.state.text == "The sky is"


# -- recent models ------------------------------------------------------------------------------


def test_a_loaded_model_is_remembered_and_a_missing_one_is_grey(
    window: MainWindow, load: Load, tmp_path: Path
) -> None:
    window.settings.remember_model(str(tmp_path / "gone.gguf"))
    load(window, "fake:vocab=500")
    menu = QMenu()
    window.opener.fill_recent(menu)
    entries = [(action.text(), action.isEnabled()) for action in menu.actions()][:2]
    assert entries == [("fake:vocab=500", True), ("gone.gguf  (missing)", False)]


def test_a_recent_model_opens_from_the_menu(window: MainWindow) -> None:
    window.settings.remember_model("fake:vocab=700")
    window.model_menu.aboutToShow.emit()
    window.model_menu.actions()[0].trigger()
    assert window.session.loading_path == "fake:vocab=700"


def test_a_model_that_failed_is_not_remembered(qtbot: QtBot, window: MainWindow) -> None:
    window.opener.open("fake:fail=load")
    qtbot.waitUntil(lambda: window.session.loading_path is None, timeout=SLOW_MS)
    assert window.settings.recent == ()


# -- the start ----------------------------------------------------------------------------------


def test_the_last_model_is_opened_unless_it_is_gone_or_not_wanted(
    window: MainWindow, tmp_path: Path
) -> None:
    window.settings.remember_model("fake:vocab=700")
    window.settings.remember_model(str(tmp_path / "gone.gguf"))
    window.settings.set(OPEN_LAST, False)
    window.opener.open_at_start(None)
    assert window.session.loading_path is None
    window.settings.set(OPEN_LAST, True)
    window.opener.open_at_start(None)
    assert window.session.loading_path == "fake:vocab=700"
    window.opener.open_at_start("fake:vocab=800")
    assert window.session.loading_path == "fake:vocab=800"


def test_what_was_asked_for_goes_before_the_settings() -> None:
    defaults = LoadOptions(context_length=1024, threads=4, cache_type="f32")
    assert with_defaults(None, defaults) == defaults
    asked = LoadOptions(context_length=2048, device="cpu")
    assert with_defaults(asked, defaults) == LoadOptions(
        context_length=2048, threads=4, cache_type="f32", device="cpu"
    )


# -- the dialogs --------------------------------------------------------------------------------


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with nothing but what the test puts there."""
    for name in ("HF_HOME", "HF_HUB_CACHE", "OLLAMA_MODELS", "LLAMA_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_the_library_lists_models_of_other_programs_and_opens_one(
    qtbot: QtBot, window: MainWindow, own_home: Path
) -> None:
    folder = own_home / ".lmstudio" / "models" / "someone" / "tiny"
    folder.mkdir(parents=True)
    (folder / "tiny-q4.gguf").write_bytes(b"GGUF" + bytes(1_000_000))
    window.show_library()
    dialog = window.findChild(LibraryDialog)
    assert dialog is not None
    qtbot.waitUntil(lambda: dialog.tree.topLevelItemCount() > 0, timeout=SLOW_MS)
    qtbot.keyClicks(dialog.search, "tiny lm")
    items = [dialog.tree.topLevelItem(row) for row in range(dialog.tree.topLevelItemCount())]
    (item,) = [item for item in items if not item.isHidden()]
    assert [item.text(column) for column in range(3)] == ["tiny-q4", "LM Studio", "1.0 MB"]
    dialog.tree.setCurrentItem(item)
    dialog.buttons.button(QDialogButtonBox.StandardButton.Open).click()
    assert window.session.loading_path == str(folder / "tiny-q4.gguf")


def open_with_options(qtbot: QtBot, window: MainWindow, path: Path) -> OpenModelDialog:
    window.ask_for_options()
    dialog = window.findChild(OpenModelDialog)
    assert dialog is not None
    dialog.path.setText(str(path))
    dialog.look()
    return dialog


def test_the_options_show_header_and_memory_before_loading(
    qtbot: QtBot, window: MainWindow, tiny_gguf: Path
) -> None:
    dialog = open_with_options(qtbot, window, tiny_gguf)
    qtbot.waitUntil(lambda: dialog.estimate is not None, timeout=SLOW_MS)
    from gguf import GGUFReader

    reader = GGUFReader(tiny_gguf)
    value = {name: field.contents() for name, field in reader.fields.items()}
    weights = sum(int(tensor.n_bytes) for tensor in reader.tensors)
    width = value["llama.embedding_length"] // value["llama.attention.head_count"]
    per_token = 2 * value["llama.block_count"] * value["llama.attention.head_count_kv"] * width
    dialog.context.setValue(200)
    dialog.cache.setCurrentIndex(dialog.cache.findData("f32"))
    assert dialog.estimate is not None
    assert dialog.estimate.weights == weights
    assert dialog.estimate.kv_cache == 200 * per_token * 4
    dialog.cache.setCurrentIndex(dialog.cache.findData("f16"))
    assert dialog.estimate.kv_cache == 200 * per_token * 2
    assert "llama" in dialog.says.text()
    # No loader takes more than was trained.
    dialog.context.setValue(1 + value["llama.context_length"])
    assert dialog.estimate.kv_cache == value["llama.context_length"] * per_token * 2
    dialog.context.setValue(200)
    wanted: list[tuple[str, str, LoadOptions]] = []
    dialog.wanted.connect(lambda *what: wanted.append(what))
    dialog.wanted.disconnect(window.opener.open)
    dialog.threads.setValue(2)
    dialog.buttons.button(QDialogButtonBox.StandardButton.Open).click()
    assert wanted == [(str(tiny_gguf), "", LoadOptions(context_length=200, threads=2))]


def test_the_options_refuse_what_is_no_model(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF" + b"\xff" * 100)
    dialog = open_with_options(qtbot, window, path)
    qtbot.waitUntil(lambda: "broken.gguf" in dialog.says.text(), timeout=SLOW_MS)
    assert not dialog.buttons.button(QDialogButtonBox.StandardButton.Open).isEnabled()
    assert dialog.estimate is None
    dialog.reject()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads all")
def test_a_file_without_permission_gets_one_sentence(window: MainWindow, tmp_path: Path) -> None:
    path = tmp_path / "secret.gguf"
    path.write_bytes(b"GGUF")
    path.chmod(0)
    drop(window, files(path))
    assert "permission" in shown(window).sentence
