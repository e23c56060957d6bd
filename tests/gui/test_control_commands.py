"""Every control of the first window is reached, set or switched by a key of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QAbstractSpinBox, QApplication, QComboBox, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from logitscope.gui.commands import COMMANDS
from logitscope.gui.main_window import MainWindow
from logitscope.gui.settings import BARS, IDS, MARKS

Load = Callable[..., MainWindow]
Read = Callable[[MainWindow, str], None]
NewWindow = Callable[[], MainWindow]
KEYS = {command.id: command.shortcuts[0] for command in COMMANDS}

NUMBERS = {
    "set_temperature": ("temperature", "3.5"),
    "set_top_k": ("top_k", "40"),
    "set_top_p": ("top_p", "0.9"),
    "set_min_p": ("min_p", "0.05"),
    "set_typical_p": ("typical_p", "0.7"),
    "set_seed": ("seed", "4711"),
}


def press(qtbot: QtBot, window: MainWindow, command_id: str) -> None:
    focus = QApplication.focusWidget() or window
    qtbot.keySequence(focus, QKeySequence(KEYS[command_id]))


def type_into_focus(qtbot: QtBot, text: str) -> None:
    focus = QApplication.focusWidget()
    assert focus is not None
    qtbot.keyClicks(focus, text)
    qtbot.keySequence(focus, QKeySequence("Return"))


@pytest.mark.parametrize("command_id", NUMBERS)
@pytest.mark.parametrize("is_closed", [False, True])
def test_a_number_of_the_sampler_is_typed_behind_its_key(
    qtbot: QtBot, window: MainWindow, command_id: str, is_closed: bool
) -> None:
    name, text = NUMBERS[command_id]
    if is_closed:
        window.docks["sampling"].hide()
    window.focus_panel("text")
    press(qtbot, window, command_id)
    type_into_focus(qtbot, text)
    assert getattr(window.session.settings, name) == float(text)
    assert window.session.state.text == ""


@pytest.mark.parametrize(
    ("command_id", "text", "value"),
    [("set_temperature", "0,7", 0.7), ("set_top_p", "0,9", 0.9), ("set_min_p", "0.05", 0.05)],
)
def test_a_decimal_comma_is_a_point(
    qtbot: QtBot, window: MainWindow, command_id: str, text: str, value: float
) -> None:
    press(qtbot, window, command_id)
    type_into_focus(qtbot, text)
    assert getattr(window.session.settings, NUMBERS[command_id][0]) == value


def test_a_control_that_a_key_leads_to_is_scrolled_into_sight(
    qtbot: QtBot, window: MainWindow
) -> None:
    window.resize(1024, 640)
    window.focus_panel("text")
    press(qtbot, window, "set_typical_p")
    box = QApplication.focusWidget()
    assert box is not None
    whole = box.visibleRegion().boundingRect
    qtbot.waitUntil(lambda: whole() == box.rect())


def test_what_greedy_makes_idle_cannot_be_set(qtbot: QtBot, window: MainWindow) -> None:
    press(qtbot, window, "greedy")
    for command_id in ("set_top_k", "set_top_p", "set_min_p", "set_typical_p"):
        assert not window.command_actions[command_id].isEnabled()
    press(qtbot, window, "greedy")
    assert window.command_actions["set_top_k"].isEnabled()


def test_run_length_and_stop_text_are_typed_behind_their_keys(
    qtbot: QtBot, window: MainWindow
) -> None:
    transport: Any = window.panels["text"].transport  # type: ignore[attr-defined]
    press(qtbot, window, "set_run_length")
    type_into_focus(qtbot, "7")
    assert transport.length.value() == 7
    press(qtbot, window, "set_stop_text")
    type_into_focus(qtbot, "the end")
    assert transport.stop_texts == ("the end",)


def test_a_run_length_that_was_emptied_is_shown_again(
    qtbot: QtBot, loaded: MainWindow, read: Read
) -> None:
    read(loaded, "The sky is")
    box = loaded.panels["text"].transport.length  # type: ignore[attr-defined]
    press(qtbot, loaded, "set_run_length")
    qtbot.keyClicks(box, "3")
    qtbot.keySequence(box, QKeySequence("Backspace"))
    assert box.text() == ""
    press(qtbot, loaded, "run")
    assert box.text() == "3"
    qtbot.waitUntil(lambda: len(loaded.session.document.path) == 3)


def test_bars_by_key(qtbot: QtBot, loaded: MainWindow, read: Read) -> None:
    read(loaded, "The sky is")
    bars: Any = loaded.panels["distribution"].bars  # type: ignore[attr-defined]
    press(qtbot, loaded, "more_bars")
    assert len(bars.view.bars) == BARS.default + 5
    for _ in range(6):
        press(qtbot, loaded, "fewer_bars")
    assert len(bars.view.bars) == BARS.low
    assert loaded.settings.get(BARS) == BARS.low


def test_marks_and_ids_by_key_and_remembered(qtbot: QtBot, window: MainWindow) -> None:
    strip: Any = window.panels["text"].strip  # type: ignore[attr-defined]
    assert strip.marks.isChecked()
    assert not strip.ids.isChecked()
    press(qtbot, window, "marks")
    press(qtbot, window, "ids")
    assert not strip.marks.isChecked()
    assert strip.ids.isChecked()
    assert (window.settings.get(MARKS), window.settings.get(IDS)) == (False, True)
    strip.marks.click()
    assert window.settings.get(MARKS)


def test_the_switches_of_how_a_prompt_becomes_ids_by_key(
    qtbot: QtBot, window: MainWindow, load: Load
) -> None:
    for command_id in ("chat", "bos"):
        assert not window.command_actions[command_id].isEnabled()
    load(window)
    before = window.session.state
    for command_id, name in (
        ("bos", "add_special"),
        ("special", "parse_special"),
        ("chat", "chat"),
    ):
        press(qtbot, window, command_id)
        assert getattr(window.session.state, name) is not getattr(before, name)
    assert not window.command_actions["special"].isEnabled()


def test_a_model_without_a_template_has_no_key_for_it(
    qtbot: QtBot, window: MainWindow, load: Load
) -> None:
    load(window, "fake:vocab=500,seed=3,template=none")
    press(qtbot, window, "chat")
    assert not window.session.state.chat


def is_a_field(widget: QWidget) -> bool:
    is_part = isinstance(widget.parentWidget(), QAbstractSpinBox | QComboBox)
    return isinstance(widget, QAbstractSpinBox | QLineEdit) and not is_part


def test_every_field_of_text_and_sampling_has_a_key(qtbot: QtBot, window: MainWindow) -> None:
    """A field that is added gets a command, or stands in a fold, as the penalties do."""
    reached = set()
    for command in COMMANDS:
        if command.id.startswith("set_"):
            press(qtbot, window, command.id)
            reached.add(QApplication.focusWidget())
    for panel_id in ("text", "sampling"):
        panel = window.panels[panel_id]
        fields = [field for field in panel.findChildren(QWidget) if is_a_field(field)]
        shown = [field for field in fields if field.isVisibleTo(panel)]
        assert shown
        assert [field.accessibleName() for field in shown if field not in reached] == []
