"""The table of commands: complete, free of conflicts, and doing what it says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QGuiApplication, QKeySequence
from PySide6.QtWidgets import QApplication, QTreeWidgetItem
from pytestqt.qtbot import QtBot

from logitscope.backends.base import LoadOptions
from logitscope.backends.fake import load as load_fake
from logitscope.gui import theme
from logitscope.gui.actions import Command, Menu, key_text
from logitscope.gui.commands import COMMANDS
from logitscope.gui.dialogs.shortcuts import ShortcutsDialog
from logitscope.gui.main_window import MainWindow
from logitscope.gui.settings import ZOOM
from logitscope.gui.widgets.token_view import TokenView

Read = Callable[[MainWindow, str], None]
CONTROL, ALT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.AltModifier


def canonical(key: str) -> str:
    return QKeySequence(key).toString(QKeySequence.SequenceFormat.PortableText)


def test_no_key_belongs_to_two_commands() -> None:
    keys = Counter(canonical(key) for command in COMMANDS for key in command.all_keys)
    assert [key for key, count in keys.items() if count > 1] == []


def test_ids_are_unique() -> None:
    assert len({command.id for command in COMMANDS}) == len(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.id)
def test_every_command_has_a_valid_key_and_one_sentence(command: Command) -> None:
    assert command.shortcuts
    assert all(canonical(key) for key in command.all_keys)
    assert command.tip.endswith(".")
    assert command.tip.count(".") == 1 or "0.05" in command.tip


def test_the_menus_hold_every_command(window: MainWindow) -> None:
    in_menus = {
        action.objectName()
        for menu in window.menuWidget().findChildren(type(window.model_menu))
        for action in menu.actions()
    }
    assert {command.id for command in COMMANDS} <= in_menus


# -- the overview -------------------------------------------------------------------------------


def items_of(dialog: ShortcutsDialog) -> list[QTreeWidgetItem]:
    root = dialog.tree.invisibleRootItem()
    headings = [root.child(row) for row in range(root.childCount())]
    return [heading.child(row) for heading in headings for row in range(heading.childCount())]


def open_overview(qtbot: QtBot, window: MainWindow) -> ShortcutsDialog:
    qtbot.keyClick(window, Qt.Key.Key_F1)
    qtbot.waitUntil(lambda: window.findChild(ShortcutsDialog) is not None)
    dialog = window.findChild(ShortcutsDialog)
    assert dialog is not None
    qtbot.waitExposed(dialog)
    return dialog


def test_the_overview_lists_every_command_with_all_its_keys(
    qtbot: QtBot, window: MainWindow
) -> None:
    dialog = open_overview(qtbot, window)
    listed = {item.text(0): item.text(1) for item in items_of(dialog)}
    assert len(listed) == len(COMMANDS)
    for command in COMMANDS:
        assert all(key_text(key) in listed[command.title] for key in command.all_keys)
    dialog.reject()


def test_the_overview_is_searched_and_runs_what_was_found(qtbot: QtBot, window: MainWindow) -> None:
    dialog = open_overview(qtbot, window)
    qtbot.keyClicks(dialog.search, "larger tex")
    assert [item.text(0) for item in items_of(dialog) if not item.isHidden()] == ["Larger text"]
    qtbot.keyClick(dialog.search, Qt.Key.Key_Return)
    assert window.settings.get(ZOOM) == 1
    assert theme.zoom() == 1


def test_titles_in_the_overview_begin_at_one_place(qtbot: QtBot, window: MainWindow) -> None:
    dialog = open_overview(qtbot, window)
    sizes = [item.icon(0).actualSize(dialog.tree.iconSize()) for item in items_of(dialog)]
    assert len({(size.width(), size.height()) for size in sizes}) == 1
    dialog.reject()


@pytest.mark.parametrize("width", [None, 640])
def test_sentences_in_the_overview_are_not_cut(
    qtbot: QtBot, window: MainWindow, width: int | None
) -> None:
    dialog = open_overview(qtbot, window)
    tree = dialog.tree
    if width is None:
        # The screen of the tests is narrow.
        assert dialog.width() <= dialog.screen().availableGeometry().width()
    else:
        dialog.resize(width, dialog.height())
        qtbot.waitUntil(lambda: tree.width() < width)

    def is_whole(item: QTreeWidgetItem) -> bool:
        place = tree.visualRect(tree.indexFromItem(item, 2))
        # What the style sheet puts around a text, and Qt within that.
        room = QRect(0, 0, place.width() - 18, 999)
        wrapped = tree.fontMetrics().boundingRect(room, Qt.TextFlag.TextWordWrap, item.text(2))
        return place.height() >= wrapped.height() + 8

    qtbot.waitUntil(lambda: all(is_whole(item) for item in items_of(dialog)))
    assert tree.horizontalScrollBar().maximum() == 0
    dialog.reject()


def test_a_search_without_result_runs_nothing(qtbot: QtBot, window: MainWindow) -> None:
    dialog = open_overview(qtbot, window)
    qtbot.keyClicks(dialog.search, "no such thing")
    qtbot.keyClick(dialog.search, Qt.Key.Key_Return)
    assert dialog.isVisible()
    dialog.reject()


def test_a_question_mark_outside_the_editor_opens_the_overview(
    qtbot: QtBot, window: MainWindow
) -> None:
    qtbot.keyClick(window.model_bar.name, Qt.Key.Key_Question, Qt.KeyboardModifier.ShiftModifier)
    qtbot.waitUntil(lambda: window.findChild(ShortcutsDialog) is not None)
    window.findChild(ShortcutsDialog).reject()


def test_a_question_mark_among_the_tokens_belongs_to_the_prompt(
    qtbot: QtBot, loaded: MainWindow, read: Read
) -> None:
    read(loaded, "Why")
    text: Any = loaded.panels["text"]
    loaded.activateWindow()
    qtbot.waitUntil(loaded.isActiveWindow)
    qtbot.mouseClick(text.view.viewport(), Qt.MouseButton.LeftButton)
    qtbot.keyClick(text.view, Qt.Key.Key_Question, Qt.KeyboardModifier.ShiftModifier)
    assert loaded.session.state.text == "Why?"
    assert loaded.findChild(ShortcutsDialog) is None


# -- what they do -------------------------------------------------------------------------------


def test_without_a_model_nothing_can_run(window: MainWindow) -> None:
    for command_id in ("step", "run", "stop", "rewind", "force_1", "undo"):
        assert not window.command_actions[command_id].isEnabled(), command_id
    for command_id in ("open_file", "library", "settings", "commands", "quit"):
        assert window.command_actions[command_id].isEnabled(), command_id


def test_right_steps_outside_the_editor_and_moves_the_cursor_in_it(
    qtbot: QtBot, loaded: MainWindow, read: Read
) -> None:
    read(loaded, "The sky is")
    loaded.focus_panel("text")
    editor = QApplication.focusWidget()
    qtbot.keyClick(editor, Qt.Key.Key_Right)
    assert loaded.session.document.path == ()
    loaded.setFocus()
    qtbot.keyClick(loaded, Qt.Key.Key_Right)
    qtbot.waitUntil(lambda: len(loaded.session.document.path) == 1)


def test_right_in_the_tokens_walks_to_the_end_and_then_steps(
    qtbot: QtBot, loaded: MainWindow, read: Read
) -> None:
    read(loaded, "The sky is")
    session = loaded.session
    view = loaded.panels["text"].findChild(TokenView)
    assert view is not None
    view.setFocus()
    session.select(len(session.ids) - 1)
    qtbot.keyClick(view, Qt.Key.Key_Right)
    assert session.follows_end
    assert session.document.path == ()
    qtbot.keyClick(view, Qt.Key.Key_Right)
    qtbot.waitUntil(lambda: len(session.document.path) == 1)


def test_step_run_rewind_undo_by_key(qtbot: QtBot, loaded: MainWindow, read: Read) -> None:
    read(loaded, "The sky is")
    document = loaded.session.document
    qtbot.keyClick(loaded, Qt.Key.Key_F10)
    qtbot.waitUntil(lambda: len(document.path) == 1 and not loaded.session.is_running)
    qtbot.keyClick(loaded, Qt.Key.Key_F5)
    qtbot.waitUntil(lambda: len(document.path) > 3 and not loaded.session.is_running)
    length = len(document.path)
    qtbot.keyClick(loaded, Qt.Key.Key_F9)
    assert len(document.path) == length - 1
    loaded.model_bar.name.setFocus()
    qtbot.keyClick(loaded.model_bar.name, Qt.Key.Key_Z, CONTROL)
    assert len(document.path) == length


def test_escape_stops_a_slow_run(qtbot: QtBot, window: MainWindow, load: Callable[..., MainWindow],
                                 read: Read) -> None:  # fmt: skip
    load(window, "fake:vocab=500,seed=3,decode_ms=40")
    read(window, "The sky is")
    qtbot.keyClick(window, Qt.Key.Key_F5)
    qtbot.waitUntil(lambda: len(window.session.document.path) >= 2)
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert not window.session.is_running
    assert 2 <= len(window.session.document.path) < 64
    qtbot.waitUntil(lambda: window.session.row_is_current)
    assert window.messages.kept == ()


def test_alt_and_a_figure_force_the_token_of_that_rank(
    qtbot: QtBot, loaded: MainWindow, read: Read
) -> None:
    read(loaded, "The sky is")
    backend = load_fake("fake:vocab=500,seed=3", LoadOptions())
    logits = backend.next_logits(loaded.session.ids)
    backend.close()
    third = int((-logits).argsort(kind="stable")[2])
    qtbot.keyClick(loaded, Qt.Key.Key_3, ALT)
    assert loaded.session.document.tail_ids == (third,)


def test_temperature_greedy_and_seed_by_key(qtbot: QtBot, window: MainWindow) -> None:
    session = window.session
    before = session.settings
    qtbot.keyClick(window, Qt.Key.Key_Up, ALT)
    assert session.settings.temperature == pytest.approx(1.05)
    qtbot.keyClick(window, Qt.Key.Key_G, CONTROL)
    assert session.settings.greedy
    qtbot.keyClick(window, Qt.Key.Key_Down, ALT)
    assert session.settings.temperature == 0.0
    qtbot.keyClick(window, Qt.Key.Key_G, CONTROL)
    assert session.settings.temperature == pytest.approx(1.05)
    seeds = set()
    for _ in range(3):
        qtbot.keyClick(window, Qt.Key.Key_D, CONTROL)
        seeds.add(session.settings.seed)
    assert len(seeds) > 1
    assert session.settings.top_k == before.top_k


def test_the_selection_walks_and_returns_to_the_end(
    qtbot: QtBot, loaded: MainWindow, read: Read
) -> None:
    read(loaded, "The sky is")
    end = loaded.session.position
    qtbot.keyClick(loaded, Qt.Key.Key_Left, ALT)
    assert loaded.session.position == end - 1
    qtbot.keyClick(loaded, Qt.Key.Key_Right, ALT)
    assert loaded.session.follows_end
    qtbot.keyClick(loaded, Qt.Key.Key_Left, ALT)
    qtbot.keyClick(loaded, Qt.Key.Key_End, ALT)
    assert loaded.session.follows_end


def test_copy_takes_prompt_and_continuation(qtbot: QtBot, loaded: MainWindow, read: Read) -> None:
    read(loaded, "Grüße 👋🏽")
    loaded.session.step()
    session = loaded.session
    qtbot.waitUntil(lambda: len(session.document.path) == 1 and not session.is_running)
    qtbot.keyClick(loaded, Qt.Key.Key_C, CONTROL | Qt.KeyboardModifier.ShiftModifier)
    assert session.vocabulary is not None
    step = session.vocabulary.text_bytes(session.document.tail_ids)
    assert QGuiApplication.clipboard().text() == "Grüße 👋🏽" + step.decode(errors="replace")


def test_behind_a_new_session_the_keyboard_is_in_the_prompt(
    qtbot: QtBot, window: MainWindow
) -> None:
    window.focus_control("text", "transport.length")
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_N, CONTROL)
    qtbot.keyClicks(QApplication.focusWidget(), "Tokyo")
    assert window.session.state.text == "Tokyo"


def test_every_menu_has_its_own_mnemonic() -> None:
    letters = [menu.value[menu.value.index("&") + 1].casefold() for menu in Menu]
    assert len(set(letters)) == len(letters)


@pytest.mark.parametrize("with_model", [False, True])
def test_a_key_that_cannot_act_now_never_writes(
    qtbot: QtBot, window: MainWindow, load: Callable[..., MainWindow], read: Read, with_model: bool
) -> None:
    if with_model:
        load(window, "fake:vocab=500,seed=3,decode_ms=40")
        read(window, "The sky is")
        window.session.run(1000)
        qtbot.waitUntil(lambda: len(window.session.document.path) >= 2)
        # Within the prompt nothing can be forced.
        window.session.select(1)
    window.focus_panel("text")
    editor = QApplication.focusWidget()
    assert not window.command_actions["force_1"].isEnabled()
    before = window.session.state.text
    for command in COMMANDS:
        if not window.command_actions[command.id].isEnabled():
            for key in command.shortcuts:
                qtbot.keySequence(editor, QKeySequence(key))
    qtbot.keyClick(editor, Qt.Key.Key_0, ALT)
    assert window.session.state.text == before
    assert window.session.is_running == with_model


def test_a_key_that_cannot_act_now_writes_into_no_other_field(
    qtbot: QtBot, window: MainWindow
) -> None:
    box = window.panels["text"].transport.length  # type: ignore[attr-defined]
    box.setFocus()
    box.selectAll()
    before = box.value()
    qtbot.keyClick(box, Qt.Key.Key_3, ALT)
    assert box.value() == before
