"""Steps pressed faster than the model makes them: none is lost, and all can be called off."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from logitscope.gui.main_window import MainWindow
from logitscope.gui.step_queue import MOST_WAITING

SLOW = "fake:vocab=500,seed=3,decode_ms=30"
Load = Callable[..., MainWindow]
Read = Callable[[MainWindow, str], None]


@pytest.fixture
def slow(window: MainWindow, load: Load, read: Read) -> MainWindow:
    """A window on a model that is slower than fingers."""
    load(window, SLOW)
    read(window, "The sky is")
    return window


def press(qtbot: QtBot, window: MainWindow, times: int) -> None:
    for _ in range(times):
        qtbot.keyClick(window, Qt.Key.Key_F10)


def count(window: MainWindow) -> int:
    return len(window.session.document.path)


def rest(qtbot: QtBot, window: MainWindow) -> None:
    session = window.session
    qtbot.waitUntil(lambda: not session.is_running and session.row_is_current, timeout=20_000)


def test_ten_presses_make_ten_tokens(qtbot: QtBot, slow: MainWindow) -> None:
    press(qtbot, slow, 10)
    qtbot.waitUntil(lambda: count(slow) == 10, timeout=20_000)
    rest(qtbot, slow)
    assert count(slow) == 10
    # Each press is a step of its own: undo takes one token back.
    slow.session.undo()
    assert count(slow) == 9


def test_presses_before_the_prompt_is_read_count_too(
    qtbot: QtBot, window: MainWindow, load: Load
) -> None:
    load(window, "fake:vocab=500,seed=3,decode_ms=30,prefill_ms_per_token=20")
    window.session.set_prompt("The sky is blue and the sea is grey")
    assert not window.session.is_ready
    press(qtbot, window, 4)
    qtbot.waitUntil(lambda: count(window) == 4, timeout=20_000)
    rest(qtbot, window)
    assert count(window) == 4


def test_clicks_on_the_button_count_as_well(qtbot: QtBot, slow: MainWindow) -> None:
    button = slow.panels["text"].transport.step  # type: ignore[attr-defined]
    for _ in range(5):
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: count(slow) == 5, timeout=20_000)


def test_no_more_wait_than_can_be_counted(qtbot: QtBot, slow: MainWindow) -> None:
    press(qtbot, slow, 2 * MOST_WAITING)
    assert slow.session.steps.waiting == MOST_WAITING
    qtbot.keyClick(slow, Qt.Key.Key_Escape)


def escape(window: MainWindow) -> None:
    window.command_actions["stop"].trigger()


def type_something(window: MainWindow) -> None:
    window.session.set_prompt("Another text")


def take_back(window: MainWindow) -> None:
    window.session.undo()


def change_temperature(window: MainWindow) -> None:
    window.command_actions["warmer"].trigger()


def look_elsewhere(window: MainWindow) -> None:
    window.session.select(1)


@pytest.mark.parametrize(
    "act", [escape, type_something, take_back, change_temperature, look_elsewhere]
)
def test_stop_and_edits_forget_what_waits(
    qtbot: QtBot, slow: MainWindow, act: Callable[[MainWindow], None]
) -> None:
    press(qtbot, slow, 20)
    qtbot.waitUntil(lambda: count(slow) >= 2, timeout=20_000)
    act(slow)
    assert slow.session.steps.waiting == 0
    rest(qtbot, slow)
    assert count(slow) < 19
    after = count(slow)
    press(qtbot, slow, 1)
    qtbot.waitUntil(lambda: count(slow) == after + 1, timeout=20_000)


def test_a_step_during_a_run_waits_for_nothing(qtbot: QtBot, slow: MainWindow) -> None:
    slow.session.run(5)
    press(qtbot, slow, 3)
    assert slow.session.steps.waiting == 0
    rest(qtbot, slow)
    assert count(slow) == 5


def test_a_key_held_down_stops_with_the_finger(qtbot: QtBot, slow: MainWindow) -> None:
    press(qtbot, slow, 1)
    assert slow.session.is_running
    again = QKeyEvent(
        QEvent.Type.ShortcutOverride, Qt.Key.Key_F10, Qt.KeyboardModifier.NoModifier, "", True
    )
    QApplication.sendEvent(slow, again)
    slow.command_actions["step"].trigger()
    assert slow.session.steps.waiting == 0
    qtbot.keyRelease(slow, Qt.Key.Key_F10)
    press(qtbot, slow, 1)
    assert slow.session.steps.waiting == 1
    qtbot.waitUntil(lambda: count(slow) == 2, timeout=20_000)
