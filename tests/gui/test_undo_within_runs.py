"""Undo and redo of what was changed while a run went on: nothing that was written is lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from pytestqt.qtbot import QtBot

from logitscope.gui.engine import Engine
from logitscope.gui.session import Session

SLOW = "fake:vocab=500,seed=3,decode_ms=5"
WAIT_MS = 20_000


@pytest.fixture
def session(qtbot: QtBot) -> Iterator[Session]:
    engine = Engine()
    made = Session(engine)
    made.open_model(SLOW)
    made.set_prompt("abc")
    qtbot.waitUntil(lambda: made.is_ready and made.row_is_current, timeout=WAIT_MS)
    made.undo_stack.clear()
    yield made
    engine.close()


def warm(session: Session, temperature: float) -> None:
    session.set_settings(replace(session.settings, temperature=temperature))


def grow(qtbot: QtBot, session: Session, tokens: int = 3) -> None:
    wanted = len(session.ids) + tokens
    qtbot.waitUntil(lambda: len(session.ids) >= wanted, timeout=WAIT_MS)


def test_what_follows_another_setting_within_a_run_is_made_again_with_it(
    qtbot: QtBot, session: Session
) -> None:
    session.run(4000)
    grow(qtbot, session)
    first = session.ids
    warm(session, 0.5)
    grow(qtbot, session)
    session.stop()
    whole = session.ids
    session.undo()
    assert session.ids == first
    assert session.settings.temperature == 1.0
    session.redo()
    assert session.ids == whole
    assert session.settings.temperature == 0.5
    session.undo()
    session.undo()
    assert len(session.ids) == session.prompt_length
    session.redo()
    assert session.ids == first
    session.redo()
    assert session.ids == whole


def test_so_it_is_when_a_slider_is_dragged(qtbot: QtBot, session: Session) -> None:
    session.run(4000)
    grow(qtbot, session)
    for temperature in (0.9, 0.8, 0.7):
        warm(session, temperature)
        grow(qtbot, session)
    session.stop()
    whole = session.ids
    while session.undo_stack.canUndo():
        session.undo()
    assert len(session.ids) == session.prompt_length
    while session.undo_stack.canRedo():
        session.redo()
    assert session.ids == whole
    assert session.settings.temperature == 0.7
