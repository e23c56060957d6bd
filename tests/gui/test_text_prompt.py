"""Writing a prompt in the text panel, and the special tokens in it."""

from __future__ import annotations

import text_stage
from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QImage, QInputMethodEvent, QTextCursor
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from text_stage import BOS, load, press_undo, reference_ids, settle

from logitscope.backends.messages import Evaluated
from logitscope.document import Block
from logitscope.gui.panels.text import TextPanel
from logitscope.gui.session import Session
from logitscope.gui.widgets.prompt_edit import LEAST_LINES, MOST_LINES

session = text_stage.session
panel = text_stage.panel
loaded = text_stage.loaded
sky = text_stage.sky


# -- writing among the tokens --------------------------------------------------------------------


def click_a_token(qtbot: QtBot, panel: TextPanel) -> None:
    panel.editor.moveCursor(QTextCursor.MoveOperation.Start)
    where = panel.view.rect_of(1).center()
    qtbot.mouseClick(panel.view.viewport(), Qt.MouseButton.LeftButton, pos=where)
    assert panel.view.hasFocus()
    assert panel.view.selected_position is not None


def type_where_the_focus_is(qtbot: QtBot, text: str) -> None:
    for character in text:
        qtbot.keyClicks(QApplication.focusWidget(), character)


def test_what_is_typed_after_a_click_on_a_token_goes_behind_the_prompt(
    qtbot: QtBot, session: Session, sky: TextPanel
) -> None:
    click_a_token(qtbot, sky)
    type_where_the_focus_is(qtbot, " Blue?")
    assert sky.editor.text == session.state.text == "The sky is Blue?"
    assert sky.editor.hasFocus()
    assert sky.editor.textCursor().atEnd()


def test_what_is_pasted_among_the_tokens_goes_behind_the_prompt(
    qtbot: QtBot, session: Session, sky: TextPanel
) -> None:
    QApplication.clipboard().setText(" blue\nand wide")
    click_a_token(qtbot, sky)
    qtbot.keyClick(sky.view, "v", Qt.KeyboardModifier.ControlModifier)
    assert session.state.text == "The sky is blue\nand wide"
    assert sky.editor.hasFocus()


def test_other_keys_among_the_tokens_write_nothing(
    qtbot: QtBot, session: Session, sky: TextPanel
) -> None:
    click_a_token(qtbot, sky)
    held = Qt.KeyboardModifier
    for modifier in (held.ControlModifier, held.AltModifier, held.MetaModifier):
        qtbot.keyClick(sky.view, "x", modifier)
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Escape, Qt.Key.Key_Home):
        qtbot.keyClick(sky.view, key)
    assert session.state.text == "The sky is"
    assert sky.view.hasFocus()
    assert sky.view.selected_position == 0


def test_in_a_chat_it_goes_behind_the_last_message(
    qtbot: QtBot, session: Session, sky: TextPanel
) -> None:
    sky.strip.chat.click()
    session.set_blocks((Block("Hello", "user"), Block("Hi", "assistant")))
    settle(qtbot, session)
    click_a_token(qtbot, sky)
    type_where_the_focus_is(qtbot, " you?")
    assert [block.text for block in session.state.blocks] == ["Hello", "Hi you?"]
    assert sky.chat.rows[1].text.hasFocus()


# -- prompt --------------------------------------------------------------------------------------


def test_typing_becomes_the_prompt_and_its_tokens(
    qtbot: QtBot, session: Session, sky: TextPanel
) -> None:
    assert session.state.text == "The sky is"
    assert list(sky.view.ids) == reference_ids("The sky is")
    assert sky.view.drawn_lines() == ["<bos>The·sky·is"]


def test_what_is_shown_is_what_was_evaluated_and_what_the_session_has(
    qtbot: QtBot, session: Session, loaded: TextPanel
) -> None:
    evaluated: list[tuple[int, ...]] = []

    def note(reply: object) -> None:
        if isinstance(reply, Evaluated):
            evaluated.append(reply.prompt_ids + reply.tail)

    session.engine.replied.connect(note)
    for text in ("你好 🙂", "\tnaïve\u00a0", "🙂👩\u200d💻 مرحبا", "\u0000\u202e\n\n"):
        loaded.editor.selectAll()
        loaded.editor.insertPlainText(text)
        settle(qtbot, session)
        assert tuple(loaded.view.ids) == session.ids == evaluated[-1]
        assert list(loaded.view.ids) == reference_ids(text)


def test_no_break_spaces_and_line_separators_reach_the_model(
    session: Session, panel: TextPanel
) -> None:
    panel.editor.insertPlainText("a\u00a0b\u2028c\u3000d")
    assert session.state.text == "a\u00a0b\u2028c\u3000d"


def test_return_with_shift_is_a_line_feed_too(
    qtbot: QtBot, session: Session, panel: TextPanel
) -> None:
    qtbot.keyClicks(panel.editor, "a")
    qtbot.keyClick(panel.editor, Qt.Key.Key_Return)
    qtbot.keyClicks(panel.editor, "b")
    qtbot.keyClick(panel.editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClick(panel.editor, Qt.Key.Key_Tab)
    assert session.state.text == "a\nb\n\t"


def test_only_plain_text_is_pasted(session: Session, panel: TextPanel) -> None:
    rich = QMimeData()
    rich.setHtml("<b>bold</b>")
    rich.setText("bold")
    panel.editor.insertFromMimeData(rich)
    picture = QMimeData()
    picture.setImageData(QImage(2, 2, QImage.Format.Format_RGB32))
    panel.editor.insertFromMimeData(picture)
    assert session.state.text == "bold"


def test_two_hundred_thousand_characters_can_be_pasted(
    qtbot: QtBot, session: Session, panel: TextPanel
) -> None:
    load(qtbot, session, "fake:vocab=500,seed=3,context=400000,prefill_ms_per_token=0")
    text = "The sky is blue. \n" * 11_112
    source = QMimeData()
    source.setText(text)
    panel.editor.insertFromMimeData(source)
    assert session.state.text == text
    qtbot.waitUntil(lambda: session.is_ready, timeout=120_000)
    qtbot.waitUntil(lambda: panel.view.is_complete, timeout=120_000)
    assert tuple(panel.view.ids) == session.ids
    vocabulary = session.vocabulary
    assert vocabulary is not None
    assert vocabulary.text_bytes(panel.view.ids) == text.encode()


def test_unfinished_input_of_an_input_method_is_no_prompt(
    session: Session, panel: TextPanel
) -> None:
    QApplication.sendEvent(panel.editor, QInputMethodEvent("ni", []))
    assert session.state.text == ""
    done = QInputMethodEvent()
    done.setCommitString("你")
    QApplication.sendEvent(panel.editor, done)
    assert session.state.text == "你"


def test_undo_and_redo_are_those_of_the_window(
    qtbot: QtBot, session: Session, panel: TextPanel
) -> None:
    qtbot.keyClicks(panel.editor, "abc")
    press_undo(qtbot, panel)
    assert session.state.text == panel.editor.text == ""
    session.redo()
    assert panel.editor.text == "abc"


def test_a_change_from_elsewhere_leaves_the_caret_where_it_was(
    session: Session, panel: TextPanel
) -> None:
    panel.editor.insertPlainText("👩 one two")
    cursor = panel.editor.textCursor()
    cursor.setPosition(4)
    panel.editor.setTextCursor(cursor)
    session.set_prompt("👩 one two three")
    assert panel.editor.text == "👩 one two three"
    assert panel.editor.textCursor().position() == 4
    session.set_prompt("zero 👩 one two three")
    assert panel.editor.textCursor().position() == 9


def test_blocks_keep_their_roles_while_their_text_is_edited(
    session: Session, panel: TextPanel
) -> None:
    session.set_blocks((Block("Be kind.", "system"), Block("Hello", "user")))
    assert panel.editor.text == "Be kind.Hello"
    panel.editor.moveCursor(QTextCursor.MoveOperation.End)
    panel.editor.insertPlainText(" you")
    assert session.state.blocks == (Block("Be kind.", "system"), Block("Hello you", "user"))


def test_characters_that_an_editor_loses_are_kept_until_the_next_edit(
    session: Session, panel: TextPanel
) -> None:
    session.set_prompt("a\r\nb")
    assert session.state.text == "a\r\nb"
    assert "carriage" in panel.note.text
    panel.editor.moveCursor(QTextCursor.MoveOperation.End)
    panel.editor.insertPlainText("!")
    assert session.state.text == "a\nb!"
    assert panel.note.text == ""


def test_the_editor_grows_with_its_text_within_limits(qtbot: QtBot, panel: TextPanel) -> None:
    line = panel.editor.fontMetrics().lineSpacing()
    least = panel.editor.height()
    assert LEAST_LINES * line <= least <= (LEAST_LINES + 2) * line
    panel.editor.insertPlainText("a\n" * 4)
    qtbot.waitUntil(lambda: panel.editor.height() >= least + 3 * line - 4)
    panel.editor.insertPlainText("a\n" * 40)
    qtbot.waitUntil(lambda: panel.editor.height() >= MOST_LINES * line)
    assert panel.editor.height() <= (MOST_LINES + 2) * line
    panel.editor.selectAll()
    panel.editor.insertPlainText("")
    qtbot.waitUntil(lambda: panel.editor.height() == least)


# -- BOS and special tokens ----------------------------------------------------------------------


def test_a_missing_bos_is_told_and_put_back(qtbot: QtBot, session: Session, sky: TextPanel) -> None:
    assert sky.strip.bos.text() == "<bos>"
    assert sky.strip.bos.isChecked()
    assert not sky.note.isVisible()
    sky.strip.bos.click()
    settle(qtbot, session)
    assert list(sky.view.ids) == reference_ids("The sky is", add_special=False)
    assert "missing" in sky.note.text
    sky.note.button.click()
    settle(qtbot, session)
    assert sky.view.ids[0] == BOS
    assert sky.note.text == ""
    assert sky.strip.bos.isChecked()


def test_a_doubled_bos_is_told_and_left_out(
    qtbot: QtBot, session: Session, loaded: TextPanel
) -> None:
    loaded.strip.special.click()
    loaded.editor.insertPlainText("<bos>The sky")
    settle(qtbot, session)
    assert list(loaded.view.ids[:2]) == [BOS, BOS]
    assert "twice" in loaded.note.text
    loaded.note.button.click()
    settle(qtbot, session)
    assert list(loaded.view.ids).count(BOS) == 1
    assert loaded.note.text == ""


def test_written_special_tokens_are_text_unless_asked_for(
    qtbot: QtBot, session: Session, loaded: TextPanel
) -> None:
    loaded.editor.insertPlainText("a<eos>")
    settle(qtbot, session)
    assert list(loaded.view.ids) == reference_ids("a<eos>")
    assert not any(loaded._style_of(i).is_chip for i in range(1, len(loaded.view.ids)))
    loaded.strip.special.click()
    settle(qtbot, session)
    assert list(loaded.view.ids) == reference_ids("a<eos>", parse_special=True)
    assert loaded._style_of(len(loaded.view.ids) - 1).is_chip


def test_the_models_template_is_put_around_a_chat(
    qtbot: QtBot, session: Session, sky: TextPanel
) -> None:
    assert sky.strip.chat.isVisible()
    sky.strip.chat.click()
    settle(qtbot, session)
    assert session.state.chat
    chips = [i for i in range(len(sky.view.ids)) if sky._style_of(i).is_chip]
    assert len(chips) > 2
    assert session.state.text == "The sky is"
