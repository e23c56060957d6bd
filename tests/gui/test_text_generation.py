"""Runs, single steps and rewinding in the text panel."""

from __future__ import annotations

import text_stage
from pytestqt.qtbot import QtBot
from text_stage import MODEL, WAIT_MS, load, press_undo, reference_ids, run, settle

from logitscope.gui import theme
from logitscope.gui.panels.text import TextPanel
from logitscope.gui.session import Session

session = text_stage.session
panel = text_stage.panel
loaded = text_stage.loaded
sky = text_stage.sky


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
    assert sky.strip.counter.text().endswith("generated 1 token")
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
