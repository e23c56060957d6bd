"""A start that is told nothing: the demo model, a prompt, its first tokens, and a hint."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from logitscope.backends import packaged
from logitscope.backends.base import MissingBackend, ModelFileError
from logitscope.backends.packaged import demo_path
from logitscope.gui import learning, opening
from logitscope.gui import stage as stages
from logitscope.gui.first_minute import HINT
from logitscope.gui.main_window import MainWindow
from logitscope.gui.settings import OPEN_LAST

DEMO = "fake:vocab=700,seed=5"
SLOW_MS = 60_000


@pytest.fixture
def begun(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> Callable[[], MainWindow]:
    """A start with a fake in the demo model's place, up to the end of its first tokens."""
    monkeypatch.setattr(opening, "demo_path", lambda: DEMO)

    def start() -> MainWindow:
        window.opener.open_at_start(None)
        path = window.session.document
        qtbot.waitUntil(lambda: bool(path.steps) and not window.session.is_running, timeout=SLOW_MS)
        return window

    return start


def test_the_window_fills_itself(begun: Callable[[], MainWindow]) -> None:
    window = begun()
    first = next(e for e in learning.examples() if e.id == "once")
    assert window.session.state.text == "Once upon a time, there was a"
    assert len(window.session.document.steps) == first.setup.run
    assert window.session.settings == first.setup.settings
    assert window.session.row is not None
    assert "Press →" in window.beginning.hint.text
    assert not window.files.keeper.is_modified
    assert QApplication.activeModalWidget() is None


def test_the_arrow_key_makes_the_next_token(begun: Callable[[], MainWindow], qtbot: QtBot) -> None:
    window = begun()
    text: Any = window.panels["text"]
    assert window.focusWidget() is text.view
    before = len(window.session.ids)
    qtbot.keyClick(text.view, Qt.Key.Key_Right)
    qtbot.waitUntil(lambda: len(window.session.ids) == before + 1, timeout=SLOW_MS)


def test_the_hint_is_put_away_for_good(begun: Callable[[], MainWindow], qtbot: QtBot) -> None:
    window = begun()
    assert not window.beginning.hint.isHidden()
    qtbot.mouseClick(window.beginning.hint.close_button, Qt.MouseButton.LeftButton)
    assert window.beginning.hint.isHidden()
    assert window.settings.get(HINT) is False
    window.opener.open_demo()
    assert window.beginning.hint.isHidden()


def test_another_model_has_no_use_for_the_hint(
    begun: Callable[[], MainWindow], qtbot: QtBot
) -> None:
    window = begun()
    window.opener.open("fake:vocab=300")
    assert window.beginning.hint.isHidden()
    assert window.settings.get(HINT) is True


def test_what_the_person_typed_meanwhile_stays(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> None:
    monkeypatch.setattr(opening, "demo_path", lambda: DEMO)
    window.opener.open_at_start(None)
    window.session.set_prompt("mine")
    session = window.session
    qtbot.waitUntil(lambda: session.is_ready and session.row_is_current, timeout=SLOW_MS)
    assert not session.is_running
    assert session.state.text == "mine"
    assert not session.document.steps


def test_a_model_that_was_open_last_goes_before_the_demo(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "demo_path", lambda: DEMO)
    window.settings.remember_model("fake:vocab=300")
    window.opener.open_at_start(None)
    assert window.session.loading_path == "fake:vocab=300"
    assert window.session.state.text == ""


def test_the_demo_that_was_open_last_is_a_first_minute_again(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "demo_path", lambda: DEMO)
    window.settings.remember_model(DEMO)
    window.opener.open_at_start(None)
    assert window.session.state.text == "Once upon a time, there was a"


def test_who_wants_an_empty_window_gets_one(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "demo_path", lambda: DEMO)
    window.settings.set(OPEN_LAST, False)
    window.opener.open_at_start(None)
    assert window.session.loading_path is None
    assert window.session.state.text == ""


def test_without_a_library_the_bar_names_the_extra(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packaged, "find_spec", lambda _name: None)
    monkeypatch.setattr(opening, "find_models", list)
    window.opener.open_at_start(None)
    assert "pip install 'logitscope[llama]'" in window.beginning.hint.text
    assert not window.beginning.hint.isHidden()


@pytest.mark.parametrize(
    ("installed", "name"),
    [
        ({"llama_cpp", "torch", "transformers"}, "logitscope-tiny-F16.gguf"),
        ({"torch", "transformers"}, "logitscope-tiny"),
    ],
)
def test_the_demo_comes_in_the_format_of_an_installed_backend(
    monkeypatch: pytest.MonkeyPatch, installed: set[str], name: str
) -> None:
    monkeypatch.setattr(packaged, "find_spec", lambda module: module in installed or None)
    monkeypatch.setattr(Path, "exists", lambda _path: True)
    assert packaged.demo_path().name == name
    monkeypatch.setattr(Path, "exists", lambda _path: False)
    with pytest.raises(ModelFileError, match="install Logitscope again"):
        packaged.demo_path()


def test_one_library_of_two_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packaged, "find_spec", lambda module: module == "torch" or None)
    with pytest.raises(MissingBackend):
        packaged.demo_path()


# -- examples -------------------------------------------------------------------------------------


def test_the_menu_holds_every_example(loaded: MainWindow) -> None:
    menu = loaded.beginning.menu
    menu.aboutToShow.emit()
    groups = [action.menu() for action in menu.actions()]
    named = [a.objectName() for group in groups if group is not None for a in group.actions()]  # type: ignore[attr-defined]
    assert sorted(named) == sorted(f"example_{e.id}" for e in learning.examples())
    menu.aboutToShow.emit()
    assert len(menu.actions()) == len(groups)
    assert loaded.command_actions["examples"].menu() is menu


@pytest.fixture(params=["fake", "demo", "gemma"])
def any_model(request: pytest.FixtureRequest) -> str:
    if request.param == "fake":
        return "fake:vocab=1000,seed=1"
    pytest.importorskip("llama_cpp", reason="the extra `llama` is not installed")
    path = demo_path() if request.param == "demo" else request.getfixturevalue("gemma_path")
    return str(path)


@pytest.mark.timeout(900)
def test_every_example_comes_with_its_sources_settings_and_panels(
    window: MainWindow, load: Callable[..., MainWindow], any_model: str, qtbot: QtBot
) -> None:
    window.resize(1440, 900)
    loaded = load(window, any_model)
    session = loaded.session
    for example in learning.examples():
        loaded.beginning.open_example(example)
        setup = example.setup
        qtbot.waitUntil(
            lambda setup=setup: (
                session.is_ready
                and not session.is_running
                and session.row_is_current
                and bool(session.document.steps) is bool(setup.run)
            ),
            timeout=SLOW_MS,
        )
        assert session.state.blocks == setup.blocks, example.id
        assert session.settings == setup.settings, example.id
        qtbot.waitUntil(
            lambda setup=setup: setup.panels[0] in stages.panels_in_sight(loaded), timeout=SLOW_MS
        )
        assert len(session.ids) + 64 < 512, example.id


def test_the_text_before_an_example_can_be_had_back(
    loaded: MainWindow, read: Callable[[MainWindow, str], None]
) -> None:
    read(loaded, "my own")
    loaded.beginning.open_example(learning.examples()[0])
    assert loaded.session.state.text == "The sky is"
    offer = loaded.messages.kept[0]
    offer.actions[0].call()
    assert loaded.session.state.text == "my own"


def test_an_example_leaves_no_view_to_the_next(loaded: MainWindow) -> None:
    by_id = {example.id: example for example in learning.examples()}
    loaded.beginning.open_example(by_id["pieces"])
    distribution: Any = loaded.panels["distribution"]
    distribution.how.added.slider.setValue(600)
    assert {"ids", "added"} <= stages.views(loaded)
    assert "switch on" not in by_id["pieces"].tip
    loaded.beginning.open_example(by_id["dog"])
    assert stages.views(loaded) == {"tab:bars", "scale:linear"}
