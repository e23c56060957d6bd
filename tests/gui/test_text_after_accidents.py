"""What the text panel says when the model is gone, or was told to stop reading."""

from __future__ import annotations

import text_stage
from pytestqt.qtbot import QtBot

from logitscope.gui.panels.distribution import DistributionPanel
from logitscope.gui.panels.text import TextPanel
from logitscope.gui.session import Session

session = text_stage.session
panel = text_stage.panel


def test_the_text_of_a_dead_model_stays_readable(
    qtbot: QtBot, session: Session, panel: TextPanel
) -> None:
    session.open_model("fake:vocab=500,seed=3,decode_ms=20,abort=decode,after=4")
    session.set_prompt("abc")
    qtbot.waitUntil(lambda: session.is_ready and session.row_is_current, timeout=text_stage.WAIT_MS)
    session.run(50)
    qtbot.waitUntil(lambda: session.model is None, timeout=text_stage.WAIT_MS)
    assert len(session.document.path) > 0
    assert panel.view.ids == session.ids
    assert panel.view.vocabulary is not None
    assert panel.view.vocabulary.text_bytes(session.ids[:4]) == b"abc"


def test_a_stopped_reading_says_so_and_a_step_reads_on(
    qtbot: QtBot, session: Session, panel: TextPanel
) -> None:
    distribution = DistributionPanel(session)
    qtbot.addWidget(distribution)
    session.open_model("fake:vocab=500,seed=3,prefill_ms_per_token=4")
    qtbot.waitUntil(lambda: session.model is not None, timeout=text_stage.WAIT_MS)
    session.set_prompt("long " * 100)
    qtbot.waitUntil(lambda: session.engine.activity.phase is not None, timeout=text_stage.WAIT_MS)
    session.engine.stop_hard()
    qtbot.waitUntil(lambda: not session.is_reading, timeout=text_stage.WAIT_MS)
    assert "not read" in panel.strip.counter.text()
    assert not session.is_ready
    session.step()
    qtbot.waitUntil(lambda: bool(session.document.path), timeout=text_stage.WAIT_MS)
