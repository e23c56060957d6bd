"""Marking sources with keys and buttons, seen in the editor and among the tokens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QColor, QContextMenuEvent, QTextCursor
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from logitscope.document import Block
from logitscope.gui.main_window import MainWindow
from logitscope.gui.origin_style import source_tint
from logitscope.gui.panels.text import TextPanel
from logitscope.gui.widgets.prompt_edit import PromptEdit

Read = Callable[[MainWindow, str], None]
TEXT = "Rule one. Rule two.\n\nAsk this?"


@pytest.fixture
def window(loaded: MainWindow, read: Read) -> MainWindow:
    read(loaded, TEXT)
    return loaded


def panel_of(window: MainWindow) -> TextPanel:
    panel = window.panels["text"]
    assert isinstance(panel, TextPanel)
    return panel


def choose(editor: PromptEdit, start: int, stop: int) -> None:
    cursor = editor.textCursor()
    cursor.setPosition(start)
    cursor.setPosition(stop, QTextCursor.MoveMode.KeepAnchor)
    editor.setTextCursor(cursor)
    editor.setFocus()


def marked(window: MainWindow) -> list[str]:
    (block,) = window.session.state.blocks
    return [block.text[start:stop] for start, stop in block.sources]


def tinted(editor: PromptEdit) -> list[tuple[str, QColor]]:
    return [
        (one.cursor.selectedText().replace("\u2029", "\n"), one.format.background().color())
        for one in editor.extraSelections()
    ]


def test_the_paragraph_at_the_caret_is_marked_by_its_key(qtbot: QtBot, window: MainWindow) -> None:
    editor = panel_of(window).editor
    ids = window.session.ids
    choose(editor, 3, 3)
    qtbot.keyClick(editor, Qt.Key.Key_M, Qt.KeyboardModifier.ControlModifier)
    assert marked(window) == ["Rule one. ", "Rule two.\n\n"]
    assert window.session.is_ready
    assert window.session.ids == ids
    assert tinted(editor) == [
        ("Rule one. ", source_tint(0)),
        ("Rule two.\n\n", source_tint(1)),
    ]
    assert source_tint(0) != source_tint(1)


def test_selection_sentence_split_join_unmark_and_undo(qtbot: QtBot, window: MainWindow) -> None:
    editor, alt = panel_of(window).editor, Qt.KeyboardModifier.AltModifier
    choose(editor, 0, 4)
    qtbot.keyClick(editor, Qt.Key.Key_M, Qt.KeyboardModifier.ControlModifier)
    assert marked(window) == ["Rule"]
    choose(editor, 12, 12)
    qtbot.keyClick(editor, Qt.Key.Key_S, alt)
    assert marked(window) == ["Rule", "Rule two.\n\n"]
    choose(editor, 14, 14)
    qtbot.keyClick(editor, Qt.Key.Key_K, alt)
    assert marked(window) == ["Rule", "Rule", " two.\n\n"]
    choose(editor, 11, 11)
    qtbot.keyClick(editor, Qt.Key.Key_J, alt)
    assert marked(window) == ["Rule", "Rule two.\n\n"]
    choose(editor, 2, 2)
    qtbot.keyClick(editor, Qt.Key.Key_U, alt)
    assert marked(window) == ["Rule two.\n\n"]
    for before in (["Rule", "Rule two.\n\n"], ["Rule", "Rule", " two.\n\n"]):
        window.session.undo()
        assert marked(window) == before
    qtbot.keyClick(editor, Qt.Key.Key_M, alt)
    assert window.session.state.blocks == (Block(TEXT, is_source=True),)
    window.command_actions["unmark_all"].trigger()
    assert window.session.state.blocks == (Block(TEXT),)
    assert not window.command_actions["unmark_all"].isEnabled()


def test_marks_stay_on_their_words_while_the_prompt_is_typed(
    qtbot: QtBot, window: MainWindow
) -> None:
    editor = panel_of(window).editor
    choose(editor, 12, 12)
    qtbot.keyClick(editor, Qt.Key.Key_S, Qt.KeyboardModifier.AltModifier)
    choose(editor, 0, 0)
    qtbot.keyClicks(editor, "New. ")
    assert marked(window) == ["Rule two.\n\n"]
    assert [text for text, _ in tinted(editor)] == ["Rule two.\n\n"]
    choose(editor, 15 + len("Rule two.\n\n"), 15 + len("Rule two.\n\n"))
    qtbot.keyClicks(editor, "x")
    assert [text for text, _ in tinted(editor)] == ["Rule two.\n\n"]


def test_the_tokens_of_a_span_are_tinted_too(qtbot: QtBot, window: MainWindow) -> None:
    panel, session = panel_of(window), window.session
    choose(panel.editor, 3, 3)
    window.command_actions["mark_sentence"].trigger()
    vocabulary = session.vocabulary
    assert vocabulary is not None
    tinted_ids = [
        token_id
        for index, token_id in enumerate(session.ids)
        if panel._style_of(index).background == source_tint(0)
    ]
    assert vocabulary.text_bytes(tinted_ids).strip() == b"Rule one."


def test_the_tokens_of_a_session_that_is_opened_are_tinted(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    panel, session = panel_of(window), window.session
    choose(panel.editor, 3, 3)
    window.command_actions["mark_paragraph"].trigger()

    def tints() -> list[QColor | None]:
        return [panel._style_of(index).background for index in range(len(session.ids))]

    before = tints()
    assert source_tint(0) in before
    window.files.keeper.save(tmp_path / "rules.logitscope.json")
    window.command_actions["new_session"].trigger()
    qtbot.waitUntil(lambda: session.is_ready)
    window.files.open_path(tmp_path / "rules.logitscope.json")
    qtbot.waitUntil(lambda: session.is_ready and session.row_is_current)
    assert tints() == before


def test_the_context_menu_offers_it(qtbot: QtBot, window: MainWindow) -> None:
    editor = panel_of(window).editor
    where = editor.rect().center()
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, where, editor.mapToGlobal(where))
    editor.contextMenuEvent(event)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    titles = {action.text() for action in menu.actions()}
    assert {"Mark as source", "Unmark", "Mark paragraph", "Mark sentence"} <= titles
    menu.close()


def test_a_chat_begins_with_the_system_message_as_source(qtbot: QtBot, window: MainWindow) -> None:
    session, panel = window.session, panel_of(window)
    session.set_blocks((Block("Be kind. Be brief.", "system"), Block("Why?", "user")))
    session.set_wrapping(chat=True, add_special=True, parse_special=False)
    assert [block.is_source for block in session.state.blocks] == [True, False]
    first, second = panel.chat.rows
    assert first.source.isChecked()
    assert not second.source.isChecked()
    assert [text for text, _ in tinted(first.text)] == ["Be kind. ", "Be brief."]
    second.source.click()
    assert session.state.blocks[1].is_source
    first.source.click()
    assert [block.is_source for block in session.state.blocks] == [False, True]


def test_a_document_pasted_into_a_message_is_a_source_and_a_word_is_not(
    qtbot: QtBot, window: MainWindow
) -> None:
    session, panel = window.session, panel_of(window)
    session.set_blocks((Block("Read: ", "user"),))
    session.set_wrapping(chat=True, add_special=True, parse_special=False)
    (row,) = panel.chat.rows
    row.text.moveCursor(QTextCursor.MoveOperation.End)
    for pasted in ("short", " One \U0001f600.\nTwo."):
        data = QMimeData()
        data.setText(pasted)
        row.text.insertFromMimeData(data)
    (block,) = session.state.blocks
    assert block.text == "Read: short One \U0001f600.\nTwo."
    found = [block.text[start:stop] for start, stop in block.sources]
    assert found == [" One \U0001f600.\n", "Two."]


def test_marking_survives_a_file(window: MainWindow) -> None:
    window.command_actions["mark_block"].trigger()
    keeper = window.files.keeper
    assert keeper.is_modified
    keeper.autosave()
    assert '"is_source":true' in keeper._recovery.read_text()
