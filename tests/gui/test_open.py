"""Opening models from menus, at the start, and in the dialogs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from dropping import SLOW_MS, Load
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialogButtonBox, QMenu, QTreeWidgetItem
from pytestqt.qtbot import QtBot

from logitscope.backends.base import LoadOptions
from logitscope.gui.app import with_defaults
from logitscope.gui.dialogs.library import LibraryDialog
from logitscope.gui.dialogs.open_model import OpenModelDialog
from logitscope.gui.main_window import MainWindow
from logitscope.gui.settings import OPEN_LAST

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


def library(qtbot: QtBot, window: MainWindow) -> LibraryDialog:
    """Opened, and behind its look around."""
    window.show_library()
    dialog = window.findChild(LibraryDialog)
    assert dialog is not None
    qtbot.waitUntil(lambda: dialog.tree.topLevelItemCount() > 0, timeout=SLOW_MS)
    return dialog


def items(dialog: LibraryDialog) -> list[QTreeWidgetItem]:
    """Those that are seen."""
    rows = range(dialog.tree.topLevelItemCount())
    every = [item for row in rows if (item := dialog.tree.topLevelItem(row)) is not None]
    return [item for item in every if not item.isHidden()]


def test_the_library_lists_models_of_other_programs_and_opens_one(
    qtbot: QtBot, window: MainWindow, own_home: Path
) -> None:
    folder = own_home / ".lmstudio" / "models" / "someone" / "tiny"
    folder.mkdir(parents=True)
    (folder / "tiny-q4.gguf").write_bytes(b"GGUF" + bytes(1_000_000))
    dialog = library(qtbot, window)
    qtbot.keyClicks(dialog.search, "tiny lm")
    (item,) = items(dialog)
    assert [item.text(column) for column in range(3)] == ["tiny-q4", "LM Studio", "1.0 MB"]
    qtbot.keyClick(dialog.search, Qt.Key.Key_Return)
    assert not dialog.isVisible()
    assert window.session.loading_path == str(folder / "tiny-q4.gguf")


def test_behind_a_search_that_finds_nothing_there_is_nothing_to_open(
    qtbot: QtBot, window: MainWindow, own_home: Path
) -> None:
    dialog = library(qtbot, window)
    button = dialog.buttons.button(QDialogButtonBox.StandardButton.Open)
    assert button.isEnabled()
    qtbot.keyClicks(dialog.search, "no such model")
    assert items(dialog) == []
    assert not button.isEnabled()
    dialog.search.clear()
    assert button.isEnabled()


def test_a_model_that_is_not_whole_says_why_and_is_not_opened(
    qtbot: QtBot, window: MainWindow, own_home: Path
) -> None:
    folder = own_home / ".lmstudio" / "models" / "someone" / "broken"
    folder.mkdir(parents=True)
    (folder / "broken-00001-of-00002.gguf").write_bytes(b"GGUF" + bytes(1_000))
    dialog = library(qtbot, window)
    (item,) = [item for item in items(dialog) if item.text(0).startswith("broken")]
    button = dialog.buttons.button(QDialogButtonBox.StandardButton.Open)
    assert dialog.status.text().startswith("Looked where")
    dialog.tree.setCurrentItem(item)
    assert dialog.status.text() == (
        f"{item.text(0)} cannot be opened: 1 of its 2 files is missing."
    )
    assert not button.isEnabled()
    dialog.tree.itemActivated.emit(item, 0)
    assert dialog.isVisible()
    assert window.session.loading_path is None


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
    dialog.flash.setCurrentIndex(dialog.flash.findData("on"))
    dialog.buttons.button(QDialogButtonBox.StandardButton.Open).click()
    assert wanted == [
        (str(tiny_gguf), "", LoadOptions(context_length=200, threads=2, flash_attention=True))
    ]


def test_the_options_say_where_the_memory_may_not_do(
    qtbot: QtBot, window: MainWindow, tiny_gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dialog = open_with_options(qtbot, window, tiny_gguf)
    qtbot.waitUntil(lambda: dialog.estimate is not None, timeout=SLOW_MS)
    assert dialog.estimate is not None
    dialog.context.setValue(200)
    for free, is_short in ((dialog.estimate.total, False), (dialog.estimate.total - 1, True)):
        monkeypatch.setattr(
            psutil, "virtual_memory", lambda free=free: SimpleNamespace(available=free)
        )
        dialog.context.valueChanged.emit(200)
        assert ("This may not fit." in dialog.memory.text()) == is_short
    dialog.reject()


def test_what_is_typed_into_the_options_replaces_the_path(
    qtbot: QtBot, window: MainWindow, tiny_gguf: Path
) -> None:
    window.session.open_model(str(tiny_gguf))
    window.ask_for_options()
    dialog = window.findChild(OpenModelDialog)
    assert dialog is not None
    assert dialog.path.text() == str(tiny_gguf)
    qtbot.keyClicks(dialog.path, "other")
    assert dialog.path.text() == "other"
    dialog.reject()


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
