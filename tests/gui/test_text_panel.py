"""The text panel on a live model process with the fake backend."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import cast
from xml.etree import ElementTree

import pytest
from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QAction, QImage, QInputMethodEvent, QTextCursor
from PySide6.QtWidgets import QApplication, QFileDialog, QInputDialog, QMenu
from pytestqt.qtbot import QtBot

from logitscope.backends.base import LoadOptions
from logitscope.backends.fake import load as load_fake
from logitscope.backends.messages import Evaluated
from logitscope.document import Block
from logitscope.gui import theme
from logitscope.gui.engine import Engine
from logitscope.gui.notices import Notice
from logitscope.gui.panels.text import TextPanel
from logitscope.gui.session import Session
from logitscope.gui.widgets.prompt_edit import LEAST_LINES, MOST_LINES
from logitscope.gui.widgets.shrinking_area import ShrinkingArea
from logitscope.gui.widgets.token_painter import CellStyle, Mark
from logitscope.sampling import SamplerSettings
from logitscope.steps import Origin

MODEL = "fake:vocab=500,seed=3"
WAIT_MS = 30_000
BOS = 1


@pytest.fixture
def session(qtbot: QtBot) -> Iterator[Session]:
    engine = Engine()
    yield Session(engine)
    engine.close()


@pytest.fixture
def panel(qtbot: QtBot, styled_app: QApplication, session: Session) -> TextPanel:
    panel = TextPanel(session)
    qtbot.addWidget(panel)
    panel.resize(700, 480)
    panel.show()
    panel.activateWindow()
    qtbot.waitActive(panel)
    return panel


@pytest.fixture
def loaded(qtbot: QtBot, session: Session, panel: TextPanel) -> TextPanel:
    load(qtbot, session, MODEL)
    return panel


@pytest.fixture
def sky(qtbot: QtBot, session: Session, loaded: TextPanel) -> TextPanel:
    """A prompt that the model has read."""
    qtbot.keyClicks(loaded.editor, "The sky is")
    settle(qtbot, session)
    return loaded


def load(qtbot: QtBot, session: Session, model: str) -> None:
    session.open_model(model)
    qtbot.waitUntil(lambda: session.model is not None, timeout=WAIT_MS)


def settle(qtbot: QtBot, session: Session) -> None:
    """Wait until nothing is on its way."""
    qtbot.waitUntil(
        lambda: session.is_ready and not session.is_running and session.row_is_current,
        timeout=WAIT_MS,
    )


def run(qtbot: QtBot, panel: TextPanel, session: Session, count: int) -> None:
    panel.transport.length.setValue(count)
    with qtbot.waitSignal(session.run_changed):
        panel.transport.run.click()
    settle(qtbot, session)


def reference_ids(text: str, *, add_special: bool = True, parse_special: bool = False) -> list[int]:
    backend = load_fake(MODEL, LoadOptions())
    ids = backend.tokenize(text, add_special=add_special, parse_special=parse_special)
    backend.close()
    return ids


def press_undo(qtbot: QtBot, panel: TextPanel) -> None:
    qtbot.keyClick(panel.editor, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)


def entries(menu: QMenu) -> dict[str, QAction]:
    return {action.text(): action for action in menu.actions() if action.text()}


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


# -- generation ----------------------------------------------------------------------------------


def test_generated_tokens_are_shown_on_a_tint_and_counted(
    qtbot: QtBot, session: Session, sky: TextPanel
) -> None:
    run(qtbot, sky, session, 12)
    prompt = session.prompt_length
    assert tuple(sky.view.ids) == session.ids
    assert len(session.ids) == prompt + 12
    tint = theme.palette().generated_tint
    styles = [sky._style_of(token) for token in range(len(session.ids))]
    assert [style.background for style in styles] == [None] * prompt + [tint] * 12
    assert [style.is_chip for style in styles[:2]] == [True, False]
    assert sky.strip.counter.text() == f"prompt {prompt} · generated 12 tokens"


def test_the_view_follows_every_frame_of_a_run(
    qtbot: QtBot, session: Session, panel: TextPanel
) -> None:
    load(qtbot, session, "fake:vocab=500,seed=3,decode_ms=5")
    panel.editor.insertPlainText("The sky is")
    settle(qtbot, session)
    lengths: set[int] = set()

    def compare() -> None:
        assert tuple(panel.view.ids) == session.ids
        lengths.add(len(session.ids))

    session.path_changed.connect(compare)
    run(qtbot, panel, session, 40)
    assert len(lengths) > 3


def test_stop_ends_a_run_and_keeps_what_is_there(
    qtbot: QtBot, session: Session, panel: TextPanel
) -> None:
    load(qtbot, session, "fake:vocab=500,seed=3,decode_ms=10")
    panel.editor.insertPlainText("The sky is")
    settle(qtbot, session)
    panel.transport.length.setValue(100_000)
    panel.transport.run.click()
    qtbot.waitUntil(lambda: len(session.document.path) > 3, timeout=WAIT_MS)
    assert panel.transport.stop.isEnabled()
    panel.transport.stop.click()
    assert not session.is_running
    kept = session.ids
    settle(qtbot, session)
    assert session.ids == kept == tuple(panel.view.ids)


def test_a_run_ends_at_the_stop_text(qtbot: QtBot, session: Session, sky: TextPanel) -> None:
    run(qtbot, sky, session, 30)
    vocabulary = session.vocabulary
    assert vocabulary is not None
    written = vocabulary.text_bytes(session.document.tail_ids)
    stop = next(chr(value) for value in written if 0x61 <= value < 0x7B)
    end = written.index(stop.encode())
    session.clear()
    sky.transport.stop_text.setText(stop)
    run(qtbot, sky, session, 30)
    again = vocabulary.text_bytes(session.document.tail_ids)
    assert written.startswith(again)
    assert stop.encode() in again
    assert stop.encode() not in vocabulary.text_bytes(session.document.tail_ids[:-1])
    assert len(again) >= end + 1


def test_stop_texts_may_hold_line_feeds(panel: TextPanel) -> None:
    assert panel.transport.stop_texts == ()
    panel.transport.stop_text.setText(r"\n\tx")
    assert panel.transport.stop_texts == ("\n\tx",)


def test_rewind_step_and_clear(qtbot: QtBot, session: Session, sky: TextPanel) -> None:
    transport = sky.transport
    for _ in range(2):
        with qtbot.waitSignal(session.run_changed):
            transport.step.click()
        settle(qtbot, session)
    two = session.ids
    transport.rewind.click()
    assert tuple(sky.view.ids) == two[:-1]
    transport.rewind.click()
    assert not transport.rewind.isEnabled()
    assert transport.clear.isEnabled()
    transport.clear.click()
    assert not transport.clear.isEnabled()
    assert tuple(sky.view.ids) == session.ids == two[:-2]


def test_buttons_can_be_used_only_where_they_do_something(
    qtbot: QtBot, session: Session, panel: TextPanel
) -> None:
    transport = panel.transport
    buttons = [transport.rewind, transport.step, transport.run, transport.stop, transport.clear]
    assert not any(button.isEnabled() for button in buttons)
    load(qtbot, session, MODEL)
    panel.editor.insertPlainText("The")
    settle(qtbot, session)
    assert [button.isEnabled() for button in buttons] == [False, True, True, False, False]


def test_typing_drops_the_continuation_and_undo_brings_it_back(
    qtbot: QtBot, session: Session, sky: TextPanel
) -> None:
    run(qtbot, sky, session, 5)
    before = session.ids
    qtbot.keyClicks(sky.editor, "!")
    settle(qtbot, session)
    assert list(sky.view.ids) == reference_ids("The sky is!")
    press_undo(qtbot, sky)
    settle(qtbot, session)
    assert tuple(sky.view.ids) == session.ids == before
    assert sky.editor.text == "The sky is"


# -- selection -----------------------------------------------------------------------------------


def test_a_click_looks_at_a_position_and_the_session_moves_the_view(
    qtbot: QtBot, session: Session, sky: TextPanel
) -> None:
    run(qtbot, sky, session, 6)
    token = session.prompt_length + 2
    where = sky.view.rect_of(token).center()
    qtbot.mouseClick(sky.view.viewport(), Qt.MouseButton.LeftButton, pos=where)
    assert session.position == token
    settle(qtbot, session)
    session.select(token + 1)
    assert sky.view.selected_position == token + 1
    session.select(None)
    assert sky.view.selected_position is None


def test_a_range_chosen_for_copying_survives_the_row_of_its_first_token(
    qtbot: QtBot, session: Session, sky: TextPanel
) -> None:
    run(qtbot, sky, session, 4)
    viewport, first, last = sky.view.viewport(), sky.view.rect_of(1), sky.view.rect_of(3)
    qtbot.mousePress(viewport, Qt.MouseButton.LeftButton, pos=first.center())
    qtbot.mouseMove(viewport, last.center())
    qtbot.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=last.center())
    settle(qtbot, session)
    assert sky.view.chosen == range(1, 4)
    qtbot.keyClick(sky.view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    copied = QApplication.clipboard().text()
    assert copied
    assert "The sky is".startswith(copied)
    assert reference_ids(copied) == list(session.ids[:4])
    session.rewind_to(len(session.ids) - 1)
    assert sky.view.chosen == range(1, 4)
    session.set_prompt("Other")
    settle(qtbot, session)
    assert not sky.view.chosen


def test_the_first_token_has_no_distribution_so_the_next_is_selected(
    qtbot: QtBot, session: Session, sky: TextPanel
) -> None:
    where = sky.view.rect_of(0).center()
    qtbot.mouseClick(sky.view.viewport(), Qt.MouseButton.LeftButton, pos=where)
    assert session.position == 1
    assert sky.view.selected_position == 1


def test_a_double_click_rewinds_to_a_generated_token_only(
    qtbot: QtBot, session: Session, sky: TextPanel
) -> None:
    run(qtbot, sky, session, 6)
    ids = session.ids
    for token, kept in ((2, len(ids)), (session.prompt_length + 3, session.prompt_length + 3)):
        where = sky.view.rect_of(token).center()
        qtbot.mouseDClick(sky.view.viewport(), Qt.MouseButton.LeftButton, pos=where)
        assert session.ids == ids[:kept] == tuple(sky.view.ids)


def test_backspace_in_the_tokens_takes_the_last_one_back(
    qtbot: QtBot, session: Session, sky: TextPanel
) -> None:
    run(qtbot, sky, session, 3)
    ids = session.ids
    qtbot.keyClick(sky.view, Qt.Key.Key_Backspace)
    assert session.ids == ids[:-1]
    for _ in range(5):
        qtbot.keyClick(sky.view, Qt.Key.Key_Backspace)
    assert session.ids == ids[:-3]


def test_another_panel_may_mark_the_tokens(sky: TextPanel) -> None:
    style = CellStyle(theme.palette().copied, mark=Mark.DOTTED)
    sky.set_overlay(lambda token: style if token == 1 else None)
    assert sky._style_of(1) is style
    assert sky._style_of(0).is_chip
    sky.set_overlay(None)
    assert sky._style_of(1) == CellStyle()


# -- menu ----------------------------------------------------------------------------------------


def test_the_menu_branches_with_another_of_the_likeliest(
    qtbot: QtBot, session: Session, sky: TextPanel
) -> None:
    run(qtbot, sky, session, 4)
    position = session.prompt_length + 1
    step = session.document.step_at(position)
    assert step is not None
    other = next(i for i in step.top_ids if i != step.token_id)
    menu = sky.token_menu.menu(position, sky)
    branch = cast(QMenu, entries(menu)["Branch here with"].menu())
    assert len(branch.actions()) == len(step.top_ids)
    assert [a.isEnabled() for a in branch.actions()] == [i != step.token_id for i in step.top_ids]
    before = session.ids
    branch.actions()[step.top_ids.index(other)].trigger()
    qtbot.waitUntil(lambda: session.ids == (*before[:position], other), timeout=WAIT_MS)
    forced = session.document.step_at(position)
    assert forced is not None
    assert forced.origin is Origin.FORCED
    assert forced.log_probability == pytest.approx(
        step.top_log_probabilities[step.top_ids.index(other)], abs=1e-6
    )
    assert sky._style_of(position).mark is Mark.UNDERLINE
    session.undo()
    assert session.ids == before


def test_a_prompt_token_can_only_be_copied(session: Session, sky: TextPanel) -> None:
    enabled = {title for title, a in entries(sky.token_menu.menu(1, sky)).items() if a.isEnabled()}
    assert enabled == {"Insert text at the end…", "Copy text", "Copy ids", "Copy bytes"}


@pytest.mark.parametrize("written", [" blue", "#{id}", "20 62 6C 75 65"])
def test_a_token_is_forced_by_text_id_or_bytes(
    qtbot: QtBot, session: Session, sky: TextPanel, written: str
) -> None:
    vocabulary = session.vocabulary
    assert vocabulary is not None
    blue = vocabulary.ids_of_bytes(b" blue")[0]
    end = len(session.ids)
    entries(sky.token_menu.menu(end, sky))["Force a token…"].trigger()
    answer(qtbot, sky, written.format(id=blue))
    qtbot.waitUntil(lambda: len(session.ids) == end + 1, timeout=WAIT_MS)
    assert session.ids[-1] == blue


def test_a_text_that_is_no_token_is_told(qtbot: QtBot, session: Session, sky: TextPanel) -> None:
    entries(sky.token_menu.menu(len(session.ids), sky))["Force a token…"].trigger()
    before = session.ids
    with qtbot.waitSignal(session.noticed) as told:
        answer(qtbot, sky, "no such token")
    assert told.args is not None
    notice = told.args[0]
    assert isinstance(notice, Notice)
    assert "no such token" in notice.sentence
    assert session.ids == before


def test_text_is_inserted_as_tokens(qtbot: QtBot, session: Session, sky: TextPanel) -> None:
    entries(sky.token_menu.menu(len(session.ids), sky))["Insert text at the end…"].trigger()
    answer(qtbot, sky, " blue 🙂")
    qtbot.waitUntil(lambda: bool(session.document.path), timeout=WAIT_MS)
    assert list(session.document.tail_ids) == reference_ids(" blue 🙂", add_special=False)
    assert {step.origin for step in session.document.steps} == {Origin.INSERTED}
    assert sky._style_of(len(session.ids) - 1).mark is Mark.DASHED


def answer(qtbot: QtBot, panel: TextPanel, text: str) -> None:
    dialog = panel.window().findChild(QInputDialog)
    assert dialog is not None
    dialog.setTextValue(text)
    dialog.accept()
    qtbot.waitUntil(lambda: panel.window().findChild(QInputDialog) is None)


def test_the_tooltip_of_a_generated_token_has_its_numbers(
    qtbot: QtBot, session: Session, sky: TextPanel
) -> None:
    run(qtbot, sky, session, 2)
    step = session.document.steps[0]
    text = sky._tooltip_of(session.prompt_length)
    assert f"id {step.token_id}" in text
    assert f"rank {step.rank}" in text
    assert text.count("<tr>") == len(step.top_ids) == 10
    assert "rank" not in sky._tooltip_of(1)


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


# -- states --------------------------------------------------------------------------------------


def test_without_a_model_the_view_says_how_to_open_one(
    qtbot: QtBot, session: Session, panel: TextPanel
) -> None:
    assert "Ctrl+O" in panel._placeholder()
    qtbot.keyClicks(panel.editor, "typed before")
    assert list(panel.view.ids) == []
    load(qtbot, session, MODEL)
    settle(qtbot, session)
    assert list(panel.view.ids) == reference_ids("typed before")


def test_typing_never_blanks_the_tokens(qtbot: QtBot, session: Session, sky: TextPanel) -> None:
    shown: list[int] = []
    session.prompt_changed.connect(lambda: shown.append(len(sky.view.ids)))
    session.path_changed.connect(lambda: shown.append(len(sky.view.ids)))
    for character in " the sky":
        qtbot.keyClicks(sky.editor, character)
        settle(qtbot, session)
    assert len(shown) >= 8
    assert min(shown) >= len(reference_ids("The sky is"))


def test_old_tokens_fade_while_the_model_reads(
    qtbot: QtBot, session: Session, panel: TextPanel
) -> None:
    load(qtbot, session, "fake:vocab=500,seed=3,prefill_ms_per_token=40")
    panel.editor.insertPlainText("The")
    settle(qtbot, session)
    clear = panel.view.grab().toImage()
    panel.editor.insertPlainText(" sky is blue and the sky is blue")
    qtbot.waitUntil(lambda: "reading" in panel.strip.counter.text(), timeout=WAIT_MS)
    assert panel.view.grab().toImage() != clear
    settle(qtbot, session)
    assert "reading" not in panel.strip.counter.text()
    assert tuple(panel.view.ids) == session.ids


def test_another_model_shows_its_own_ids(qtbot: QtBot, session: Session, sky: TextPanel) -> None:
    run(qtbot, sky, session, 3)
    load(qtbot, session, "fake:vocab=900,seed=9")
    settle(qtbot, session)
    assert tuple(sky.view.ids) == session.ids
    assert sky.view.vocabulary is session.vocabulary
    assert sky.editor.text == "The sky is"


def test_every_part_has_a_name_for_screen_readers(sky: TextPanel) -> None:
    transport, strip = sky.transport, sky.strip
    for widget in (sky.editor, sky.view, transport.rewind, transport.step, transport.run,
                   transport.length, transport.stop, transport.stop_text, transport.clear,
                   strip.bos, strip.special, strip.marks, strip.ids):  # fmt: skip
        assert widget.accessibleName()


# -- taking it away ------------------------------------------------------------------------------


def test_the_tokens_leave_with_their_numbers_and_their_source(
    qtbot: QtBot, session: Session, sky: TextPanel
) -> None:
    session.set_settings(SamplerSettings(temperature=0.9, seed=31))
    run(qtbot, sky, session, 3)
    menu = QMenu(sky)
    sky.export.add_to(menu)
    table = cast(QMenu, entries(menu)["Table of all tokens"].menu())
    entries(table)["Copy as CSV"].trigger()
    lines = QApplication.clipboard().text().splitlines()
    made_from = [line for line in lines if line.startswith("# ")]
    rows = list(csv.DictReader(line for line in lines if not line.startswith("# ")))
    assert [int(row["id"]) for row in rows] == list(session.ids)
    prompt = b"".join(bytes.fromhex(row["bytes"]) for row in rows[1 : session.prompt_length])
    assert prompt == b"The sky is"
    assert {row["origin"] for row in rows[: session.prompt_length]} == {"prompt"}
    for row, step in zip(rows[session.prompt_length :], session.document.steps, strict=True):
        assert row["origin"] == "sampled"
        assert float(row["log_probability"]) == step.log_probability
        assert step.draw is not None
        assert float(row["low"]) <= float(row["u"]) < float(row["high"])
        assert row["top_ids"].split() == [str(i) for i in step.top_ids]
    assert session.model is not None
    assert f'# header_hash: "{session.model.header_hash}"' in made_from
    assert f"# prompt_ids: {list(session.state.prompt_ids)}" in made_from
    assert any('"seed": 31' in line and '"temperature": 0.9' in line for line in made_from)


def test_a_chosen_range_of_tokens_is_copied_as_a_table(sky: TextPanel) -> None:
    sky.view.choose(1, 3)
    sky.export.copy_text()
    lines = QApplication.clipboard().text().splitlines()
    assert [line.split("\t")[0] for line in lines] == ["position", "1", "2"]
    # The view's own copy key still copies text.
    sky.view.copy_text()
    assert "\t" not in QApplication.clipboard().text()


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_pictures_of_the_tokens_say_what_they_come_from(
    session: Session, sky: TextPanel, tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"text.{suffix}"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    session.set_settings(SamplerSettings(seed=77))
    menu = QMenu(sky)
    sky.export.fill(menu)
    entries(menu)[f"Export {suffix.upper()} …"].trigger()
    if suffix == "png":
        words = QImage(str(path)).text("Description")
    else:
        words = ElementTree.parse(path).findtext("{http://www.w3.org/2000/svg}desc") or ""
    made_from = json.loads(words)
    assert session.model is not None
    assert made_from["header_hash"] == session.model.header_hash
    assert made_from["model"] == session.model.name
    assert made_from["settings"]["seed"] == 77
    assert made_from["prompt_ids"] == list(session.ids)


def test_the_panels_own_stop_ends_the_reading_of_a_prompt(
    qtbot: QtBot, session: Session, panel: TextPanel
) -> None:
    load(qtbot, session, "fake:vocab=500,seed=3,prefill_ms_per_token=2")
    notices: list[Notice] = []
    session.noticed.connect(notices.append)
    stop = panel.transport.stop
    settle(qtbot, session)
    qtbot.waitUntil(lambda: not stop.isEnabled(), timeout=WAIT_MS)
    panel.editor.insertPlainText("The sky is blue. " * 200)
    qtbot.waitUntil(stop.isEnabled, timeout=WAIT_MS)
    stop.click()
    qtbot.waitUntil(lambda: bool(notices), timeout=WAIT_MS)
    assert notices[0].sentence.startswith("Reading the prompt was stopped")
    qtbot.waitUntil(lambda: not stop.isEnabled(), timeout=WAIT_MS)


@pytest.mark.parametrize("width", [360, 700])
def test_a_narrow_panel_shows_everything_without_a_scroll_bar(
    qtbot: QtBot, styled_app: QApplication, sky: TextPanel, width: int
) -> None:
    assert styled_app.styleSheet()
    area = ShrinkingArea(sky)
    qtbot.addWidget(area)
    area.resize(width, 500)
    area.show()
    qtbot.waitExposed(area)
    qtbot.waitUntil(lambda: sky.width() == width)
    assert area.horizontalScrollBar().maximum() == 0
    bar = sky.transport
    shown = (bar.rewind, bar.step, bar.run, bar.length, bar.stop, bar.stop_text, bar.clear)
    is_low = width == 360
    qtbot.waitUntil(lambda: (bar.stop_text.y() > bar.run.geometry().bottom()) is is_low)
    assert all(bar.rect().contains(one.geometry()) for one in shown)
    area.takeWidget()
