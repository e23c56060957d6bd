"""Models that cannot be loaded, or that end while they run: one sentence and a way back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from dropping import SLOW_MS, Load, Read, drop, files, shown
from hang_sign import hang_sign
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from logitscope.backends.base import LoadOptions
from logitscope.backends.inspect import inspect, least_memory
from logitscope.gui.dialogs.messages import BugDialog
from logitscope.gui.main_window import MainWindow
from logitscope.gui.message import Severity
from logitscope.gui.notices import Notice


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


def test_a_file_that_is_cut_does_not_take_the_loaded_model_away(
    qtbot: QtBot, loaded: MainWindow, read: Read, tiny_gguf: Path, tmp_path: Path
) -> None:
    read(loaded, "The sky is")
    model = loaded.session.model
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(tiny_gguf.read_bytes()[:-50_000])
    models = []
    loaded.session.model_changed.connect(lambda: models.append(loaded.session.model))
    loaded.opener.open(str(cut))
    qtbot.waitUntil(lambda: bool(loaded.toasts.toasts), timeout=SLOW_MS)
    assert "0.1 MB of its weights are missing" in shown(loaded).sentence
    assert loaded.session.model is model
    assert models == []
    assert loaded.session.row_is_current


def leave_free(monkeypatch: pytest.MonkeyPatch, n_bytes: int) -> None:
    monkeypatch.setattr(
        psutil, "virtual_memory", lambda: SimpleNamespace(available=n_bytes, total=n_bytes)
    )


def test_a_model_that_may_not_fit_does_not_take_the_loaded_model_away(
    qtbot: QtBot, loaded: MainWindow, tiny_gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = loaded.session
    model = session.model
    assert model is not None
    leave_free(monkeypatch, 1_000_000)
    loaded.opener.open(str(tiny_gguf))
    qtbot.waitUntil(lambda: bool(loaded.toasts.toasts), timeout=SLOW_MS)
    message = shown(loaded)
    from gguf import GGUFReader

    weights = sum(int(tensor.n_bytes) for tensor in GGUFReader(tiny_gguf).tensors)
    assert f"({weights / 1e3:.0f} kB of weights)" in message.sentence
    assert f"{(1_000_000 + model.weight_bytes) / 1e6:.1f} MB are free" in message.sentence
    assert session.model is model
    assert session.loading_path is None
    assert message.actions == ()


def test_where_models_go_to_a_gpu_one_that_may_not_fit_can_be_opened(
    qtbot: QtBot, loaded: MainWindow, tiny_gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = loaded.session
    assert session.model is not None
    session.model = replace(session.model, cpu_threads=0)
    leave_free(monkeypatch, 1_000_000)
    loaded.opener.open(str(tiny_gguf))
    qtbot.waitUntil(lambda: bool(loaded.toasts.toasts), timeout=SLOW_MS)
    (anyway,) = shown(loaded).actions
    anyway.call()
    assert session.loading_path == str(tiny_gguf)
    assert loaded.toasts.toasts == []


def test_a_model_that_fits_with_a_short_context_is_not_asked_about(
    qtbot: QtBot, loaded: MainWindow, tiny_gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = loaded.session
    least = least_memory(inspect(tiny_gguf), LoadOptions())
    assert session.model is not None
    leave_free(monkeypatch, least.total - session.model.weight_bytes)
    loaded.opener.open(str(tiny_gguf))
    qtbot.waitUntil(lambda: session.loading_path is not None, timeout=SLOW_MS)
    assert loaded.toasts.toasts == []


def test_a_model_whose_numbers_are_no_logits_has_a_way_back(
    qtbot: QtBot, loaded: MainWindow, read: Read
) -> None:
    read(loaded, "The sky is")
    session = loaded.session
    good = session.last_load
    loaded.opener.open("fake:vocab=500,nan_after=2")
    qtbot.waitUntil(lambda: session.loading_path is None, timeout=SLOW_MS)
    qtbot.waitUntil(lambda: bool(loaded.toasts.toasts), timeout=SLOW_MS)
    message = shown(loaded)
    assert "are no logits" in message.sentence
    assert message.severity is Severity.PROBLEM
    assert [one.title.partition(" ")[0] for one in message.actions] == ["Back", "Open"]
    message.actions[0].call()
    qtbot.waitUntil(lambda: session.row_is_current, timeout=SLOW_MS)
    assert session.last_load == good
    assert loaded.toasts.toasts == []


def test_a_whole_file_takes_the_place_of_the_loaded_model(
    qtbot: QtBot, loaded: MainWindow, tiny_gguf: Path
) -> None:
    pytest.importorskip("llama_cpp")
    session = loaded.session
    loaded.opener.open(str(tiny_gguf))
    qtbot.waitUntil(
        lambda: session.model is not None and session.model.path == str(tiny_gguf), timeout=SLOW_MS
    )
    assert loaded.toasts.toasts == []


def test_the_newest_wish_wins_over_a_file_that_is_still_looked_at(
    qtbot: QtBot, loaded: MainWindow, tiny_gguf: Path
) -> None:
    session = loaded.session
    loaded.opener.open(str(tiny_gguf))
    loaded.opener.open("fake:vocab=300,seed=4")
    qtbot.waitUntil(lambda: session.model is not None and session.is_ready, timeout=SLOW_MS)
    threads = loaded.opener.background._threads
    qtbot.waitUntil(lambda: not any(thread.is_alive() for thread in threads), timeout=SLOW_MS)
    assert session.model is not None
    assert session.model.n_vocab == 300
    assert session.loading_path is None


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


def test_what_is_typed_while_a_death_is_on_its_way_says_nothing_else(
    qtbot: QtBot, loaded: MainWindow, read: Read
) -> None:
    read(loaded, "The sky is")
    supervisor = loaded.session.engine._client._supervisor
    assert supervisor is not None
    assert supervisor.pid is not None
    psutil.Process(supervisor.pid).kill()
    # The window is busy: the death is known, and was not delivered yet.
    supervisor._thread.join(SLOW_MS / 1000)
    failed: list[Notice] = []
    loaded.session.noticed.connect(failed.append)
    loaded.session.set_prompt("The sky was")
    qtbot.waitUntil(lambda: len(failed) == 2, timeout=SLOW_MS)
    assert failed[1].is_told_already
    (toast,) = loaded.toasts.toasts
    assert toast.message is not None
    assert toast.message.actions[0].title == "Load again"


def test_stop_ends_a_model_that_does_not_obey(
    qtbot: QtBot, window: MainWindow, load: Load, read: Read, tmp_path: Path
) -> None:
    with hang_sign(tmp_path) as sign:
        load(window, f"fake:vocab=500,hang=decode,after=9,sign={sign.path}")
        read(window, "The sky is")
        window.session.run(1000)
        qtbot.waitUntil(sign.is_given, timeout=SLOW_MS)
    qtbot.waitUntil(lambda: bool(window.session.document.tail_ids), timeout=SLOW_MS)
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
