"""What the text panel shows while models come, read and go."""

from __future__ import annotations

import pytest
import text_stage
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from text_stage import MODEL, WAIT_MS, load, reference_ids, run, settle

from logitscope.gui.notices import Notice
from logitscope.gui.panels.text import TextPanel
from logitscope.gui.session import Session
from logitscope.gui.widgets.shrinking_area import ShrinkingArea

session = text_stage.session
panel = text_stage.panel
loaded = text_stage.loaded
sky = text_stage.sky


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
