"""The model bar: what it says of the model and of what the model is doing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import psutil
import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from logitscope.backends.messages import Phase
from logitscope.gui import theme
from logitscope.gui.engine import Activity
from logitscope.gui.main_window import MainWindow
from logitscope.gui.panels.model import size_text

SLOW_MS = 30_000
Load = Callable[..., MainWindow]
Read = Callable[[MainWindow, str], None]


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 MB"),
        (1_100_000, "1.1 MB"),
        (18_432, "18 kB"),
        (253_113_024, "253 MB"),
        (999_999_999, "1000 MB"),
        (7_250_000_000, "7.2 GB"),
        (140_000_000_000, "140 GB"),
    ],
)
def test_sizes_are_in_powers_of_a_thousand(count: int, text: str) -> None:
    assert size_text(count) == text


def test_without_a_model_it_invites_to_open_one(window: MainWindow) -> None:
    bar = window.model_bar
    assert bar.name.text() == "Open a model"
    assert bar.doing.text() == "No model"
    assert not bar.stop.isVisible()
    assert bar.context.value == ""


def test_a_long_name_leaves_room_for_the_figures(
    qtbot: QtBot, loaded: MainWindow, read: Read
) -> None:
    read(loaded, "The sky is")
    session, bar = loaded.session, loaded.model_bar
    assert session.model is not None
    name = "a-model-R&D-" + "of-a-very-long-name-" * 6 + "Q4_K_M"
    session.model = replace(session.model, name=name)
    loaded.resize(1440, 900)
    session.model_changed.emit()
    shown = bar.name.text().replace("&&", "&")
    assert shown.startswith("a-model-R&D")
    assert shown.endswith("Q4_K_M")
    assert "…" in shown
    assert name in bar.name.toolTip()
    for fact in (bar.quantization, bar.device, bar.context):
        assert fact.isVisible()


def test_a_loaded_model_is_described(qtbot: QtBot, loaded: MainWindow, read: Read) -> None:
    read(loaded, "The sky is")
    session, bar = loaded.session, loaded.model_bar
    model = session.model
    assert model is not None
    assert bar.name.text() == model.name
    assert bar.quantization.value == model.quantization
    used = len(session.ids)
    expected = f"{used} / {model.context_length:,}"
    qtbot.waitUntil(lambda: bar.context.value == expected)
    assert bar.cache.value == size_text(round(used * model.kv_bytes_per_token))
    assert loaded.windowTitle() == f"{model.name} – Logitscope"
    qtbot.waitUntil(lambda: bar.doing.text() == "Ready")


def test_the_speed_appears_after_a_run(qtbot: QtBot, loaded: MainWindow, read: Read) -> None:
    read(loaded, "The sky is")
    assert loaded.model_bar.speed.value == ""
    loaded.session.run(5)
    qtbot.waitUntil(lambda: loaded.model_bar.speed.value.endswith("tok/s"))


def test_another_model_begins_without_a_speed(
    qtbot: QtBot, loaded: MainWindow, load: Load, read: Read
) -> None:
    read(loaded, "The sky is")
    loaded.session.run(5)
    qtbot.waitUntil(lambda: loaded.model_bar.speed.value.endswith("tok/s"))
    qtbot.waitUntil(lambda: not loaded.session.is_running)
    load(loaded, "fake:vocab=1000,seed=2")
    qtbot.waitUntil(lambda: loaded.model_bar.doing.text() == "Ready")
    assert loaded.session.tokens_per_second is None
    assert loaded.model_bar.speed.value == ""


@pytest.mark.parametrize(
    ("activity", "words"),
    [
        (Activity(Phase.LOAD, 420, 1000, 1), "Loading 42 %"),
        (Activity(Phase.PREFILL, 512, 2000, 1), "Prefill 512 / 2,000"),
        (Activity(Phase.DECODE, 12, 64, 1), "Decoding 12 / 64"),
        (Activity(Phase.SCORE, 7, 1500, 1), "Scoring 7 / 1,500"),
    ],
)
def test_it_says_what_the_model_is_doing(
    qtbot: QtBot, window: MainWindow, activity: Activity, words: str
) -> None:
    engine, bar = window.session.engine, window.model_bar
    engine.activity = activity
    engine.activity_changed.emit(activity)
    qtbot.waitUntil(lambda: bar.doing.text() == words)
    assert bar.progress.isVisible()
    assert bar.progress.value() / bar.progress.maximum() == activity.done / activity.total
    assert bar.stop.isVisible()
    assert window.command_actions["stop"].isEnabled()


def test_what_does_not_tell_how_far_it_is_can_be_stopped(qtbot: QtBot, window: MainWindow) -> None:
    engine, bar = window.session.engine, window.model_bar
    engine.activity = Activity(Phase.PREFILL, 0, 0, 1)
    engine.activity_changed.emit(engine.activity)
    qtbot.waitUntil(bar.stop.isVisible)
    assert bar.doing.text() == "Reading …"
    assert not bar.progress.isVisible()
    assert window.command_actions["stop"].isEnabled()


def test_a_quick_prefill_does_not_make_it_blink(window: MainWindow) -> None:
    engine, bar = window.session.engine, window.model_bar
    seen: list[str] = []
    for _ in range(20):
        engine.activity = Activity(Phase.PREFILL, 0, 4, 1)
        engine.activity_changed.emit(engine.activity)
        QApplication.processEvents()
        seen.append(bar.doing.text())
        engine.activity = Activity()
        engine.activity_changed.emit(engine.activity)
        QApplication.processEvents()
        seen.append(bar.doing.text())
    assert set(seen) == {"No model"}


def test_a_text_that_is_not_read_yet_is_not_ready(
    qtbot: QtBot, window: MainWindow, load: Load, read: Read
) -> None:
    """A long paste is made into ids before the model tells how far it is."""
    load(window, "fake:vocab=500,seed=3")
    read(window, "The sky is")
    qtbot.waitUntil(lambda: window.model_bar.doing.text() == "Ready")
    model = psutil.Process(window.session.engine._client.pid)
    model.suspend()
    window.session.set_prompt("The sky was")
    qtbot.waitUntil(lambda: window.model_bar.doing.text() == "Reading …")
    model.resume()
    qtbot.waitUntil(lambda: window.model_bar.doing.text() == "Ready")


def test_the_stop_button_ends_a_run(
    qtbot: QtBot, window: MainWindow, load: Load, read: Read
) -> None:
    load(window, "fake:vocab=500,seed=3,decode_ms=30")
    read(window, "The sky is")
    window.session.run(500)
    qtbot.waitUntil(window.model_bar.stop.isVisible)
    window.model_bar.stop.click()
    assert not window.session.is_running
    qtbot.waitUntil(lambda: window.model_bar.doing.text() == "Ready")


def test_a_full_context_is_marked(qtbot: QtBot, window: MainWindow, load: Load, read: Read) -> None:
    load(window, "fake:vocab=500,seed=3,context=16")
    warning, bar = theme.palette().warning.name(), window.model_bar
    read(window, "a" * 13)
    qtbot.waitUntil(lambda: bar.context.value == "14 / 16")
    assert warning not in bar.context.text()
    read(window, "a" * 15)
    qtbot.waitUntil(lambda: bar.context.value == "16 / 16")
    assert warning in bar.context.text()


def test_a_text_that_was_not_read_has_no_count_and_one_too_long_no_more_than_fits(
    qtbot: QtBot, window: MainWindow, load: Load
) -> None:
    load(window, "fake:vocab=500,seed=3,context=64,prefill_ms_per_token=20")
    session, bar = window.session, window.model_bar
    session.set_prompt("a" * 60)
    qtbot.waitUntil(lambda: session.reading.progress is not None, timeout=SLOW_MS)
    qtbot.waitUntil(lambda: bar.context.value == "– / 64")
    session.stop_all()
    qtbot.waitUntil(lambda: bool(session.trouble), timeout=SLOW_MS)
    session.set_prompt("a" * 200)
    qtbot.waitUntil(lambda: bar.context.value == "201 / 64", timeout=SLOW_MS)
    model = session.model
    assert model is not None
    assert bar.cache.value == size_text(round(64 * model.kv_bytes_per_token))


@pytest.mark.parametrize("width", [520, 700, 900, 1440, 2400])
def test_in_a_narrow_window_facts_go_and_nothing_is_cut(
    qtbot: QtBot, loaded: MainWindow, width: int
) -> None:
    model = loaded.session.model
    assert model is not None
    loaded.session.model = replace(model, name="A model with a rather long name, 123B Instruct")
    loaded.session.model_changed.emit()
    loaded.resize(width, 600)
    bar = loaded.model_bar
    facts = (bar.quantization, bar.device, bar.weights, bar.context, bar.cache)

    def nothing_is_cut() -> bool:
        shown = [fact for fact in facts if fact.isVisible()]
        return (
            all(fact.width() >= fact.sizeHint().width() for fact in shown)
            and all(fact.geometry().right() <= bar.facts.width() for fact in shown)
            and bar.doing.width() >= bar.doing.sizeHint().width()
            and (width < 1440 or len(shown) == len(facts))
        )

    qtbot.waitUntil(nothing_is_cut)
