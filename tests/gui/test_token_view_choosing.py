"""Tokens of the view are chosen, copied and told of, through a real widget."""

from __future__ import annotations

import math

import token_view_stage
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QHelpEvent
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot
from token_view_stage import BOS, E2, NBSP, REST, SKY, STOP, THE, VOCABULARY, ZWJ, A, click, middle

from logitscope.gui.widgets.token_tooltip import tooltip
from logitscope.gui.widgets.token_view import TokenView
from logitscope.steps import Draw, Origin, StepRecord

view = token_view_stage.view
sky = token_view_stage.sky


# -- choosing ------------------------------------------------------------------------------------


def test_a_click_selects_and_a_click_beside_the_text_goes_to_the_end(
    sky: TokenView, qtbot: QtBot
) -> None:
    with qtbot.waitSignal(sky.position_selected) as chosen:
        click(qtbot, sky, 3)
    assert chosen.args == [3]
    with qtbot.waitSignal(sky.position_selected) as chosen:
        qtbot.mouseClick(
            sky.viewport(), Qt.MouseButton.LeftButton, pos=sky.viewport().rect().bottomRight()
        )
    assert chosen.args == [None]


def test_keys_move_the_selection(sky: TokenView, qtbot: QtBot) -> None:
    for key, expected in (
        (Qt.Key.Key_Left, 5),
        (Qt.Key.Key_Left, 4),
        (Qt.Key.Key_Right, 5),
        (Qt.Key.Key_Home, 0),
        (Qt.Key.Key_Left, 0),
        (Qt.Key.Key_Up, 0),
        (Qt.Key.Key_End, None),
        (Qt.Key.Key_Up, 0),
        (Qt.Key.Key_Down, None),
    ):
        qtbot.keyClick(sky, key)
        assert sky.selected_position == expected


def test_up_and_down_stay_in_the_column(view: TokenView, qtbot: QtBot) -> None:
    view.set_tokens((THE, SKY, STOP, THE, SKY, STOP), VOCABULARY)
    view.set_selected_position(1)
    qtbot.keyClick(view, Qt.Key.Key_Down)
    assert view.selected_position == 4
    qtbot.keyClick(view, Qt.Key.Key_Up)
    assert view.selected_position == 1


def test_deleting_and_double_clicking_ask_for_a_rewind(sky: TokenView, qtbot: QtBot) -> None:
    for act, position in (
        (lambda: qtbot.keyClick(sky, Qt.Key.Key_Backspace), 5),
        (lambda: (sky.set_selected_position(3), qtbot.keyClick(sky, Qt.Key.Key_Delete)), 3),
        (
            lambda: qtbot.mouseDClick(
                sky.viewport(), Qt.MouseButton.LeftButton, pos=middle(sky, 4)
            ),
            4,
        ),
    ):
        with qtbot.waitSignal(sky.rewind_requested) as asked:
            act()
        assert asked.args == [position]


def test_a_drag_chooses_a_range_in_both_directions(sky: TokenView, qtbot: QtBot) -> None:
    ranges: list[tuple[int, int]] = []
    sky.range_selected.connect(lambda start, stop: ranges.append((start, stop)))
    for start, stop in ((1, 3), (4, 2)):
        qtbot.mousePress(sky.viewport(), Qt.MouseButton.LeftButton, pos=middle(sky, start))
        qtbot.mouseMove(sky.viewport(), middle(sky, stop))
        qtbot.mouseRelease(sky.viewport(), Qt.MouseButton.LeftButton, pos=middle(sky, stop))
        assert sky.chosen == range(min(start, stop), max(start, stop) + 1)
    assert (1, 4) in ranges
    assert (2, 5) in ranges


def test_shift_extends_the_selection(sky: TokenView, qtbot: QtBot) -> None:
    click(qtbot, sky, 2)
    qtbot.keyClick(sky, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClick(sky, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    assert sky.chosen == range(2, 5)
    qtbot.keyClick(sky, Qt.Key.Key_Left, Qt.KeyboardModifier.ShiftModifier)
    assert sky.chosen == range(2, 4)
    click(qtbot, sky, 5, modifier=Qt.KeyboardModifier.ShiftModifier)
    assert sky.chosen == range(2, 6)
    qtbot.keyClick(sky, Qt.Key.Key_Left)
    assert not sky.chosen


# -- copying -------------------------------------------------------------------------------------


def test_copying_gives_text_ids_and_bytes(view: TokenView, qtbot: QtBot) -> None:
    view.set_tokens((BOS, A, E2, REST, NBSP), VOCABULARY)
    clipboard = QGuiApplication.clipboard()
    qtbot.keyClick(view, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    qtbot.keyClick(view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert clipboard.text() == " a€\u00a0"
    view.choose(2, 4)
    view.copy_ids()
    assert clipboard.text() == f"{E2} {REST}"
    view.copy_bytes()
    assert clipboard.text() == "E2 82 AC"


def test_without_a_range_the_selected_token_is_copied(sky: TokenView, qtbot: QtBot) -> None:
    click(qtbot, sky, 2)
    qtbot.keyClick(sky, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == " sky"


# -- tooltips and menus --------------------------------------------------------------------------


def test_the_tooltip_is_that_of_the_token_under_the_pointer(sky: TokenView) -> None:
    sky.set_tooltip(lambda token: f"token {token}")
    where = middle(sky, 2)
    event = QHelpEvent(QEvent.Type.ToolTip, where, sky.viewport().mapToGlobal(where))
    QApplication.sendEvent(sky.viewport(), event)
    assert QToolTip.text() == "token 2"


def test_hovering_tells_the_token(sky: TokenView, qtbot: QtBot) -> None:
    with qtbot.waitSignal(sky.hovered) as under:
        qtbot.mouseMove(sky.viewport(), middle(sky, 3))
    assert under.args == [3]


def test_the_menu_key_asks_for_the_selected_token(sky: TokenView, qtbot: QtBot) -> None:
    sky.set_selected_position(2)
    with qtbot.waitSignal(sky.menu_requested) as asked:
        menu_key(sky)
    assert asked.args is not None
    assert asked.args[0] == 2


def menu_key(view: TokenView) -> None:
    event = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(0, 0), QPoint(0, 0))
    QApplication.sendEvent(view.viewport(), event)


def test_a_tooltip_tells_bytes_names_and_numbers() -> None:
    step = StepRecord(
        token_id=ZWJ,
        origin=Origin.SAMPLED,
        log_probability=math.log(0.25),
        rank=2,
        entropy=1.5,
        shaped_probability=0.125,
        draw=Draw(0.5, 0.4, 0.6),
        top_ids=(THE, ZWJ),
        top_log_probabilities=(math.log(0.5), math.log(0.25)),
        seconds=0.0,
    )
    text = tooltip(VOCABULARY, ZWJ, 7, step)
    for expected in ("‹ZWJ›", f"id {ZWJ}", "position 7", "E2 80 8D", "U+200D ZERO WIDTH JOINER",
                     "25.0 %", "rank 2", "1.50 nats", "12.5 %", "The", "50.0 %"):  # fmt: skip
        assert expected in text


def test_a_tooltip_of_a_special_token_names_it_and_has_no_markup_of_the_models() -> None:
    text = tooltip(VOCABULARY, BOS, 0, None)
    assert "&lt;bos&gt;" in text
    assert "<bos>" not in text


def test_screen_readers_hear_the_selected_token(sky: TokenView) -> None:
    sky.set_selected_position(2)
    assert "·sky" in sky.accessibleDescription()
    assert f"id {SKY}" in sky.accessibleDescription()
