"""What the engine tells of the model process, on the fake model in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from logitscope.backends.base import LoadOptions
from logitscope.backends.messages import Finished, Loaded, Phase
from logitscope.gui.engine import Activity, Engine
from logitscope.sampling import SamplerSettings

WAIT_MS = 20_000
STEPS = 400


@pytest.fixture
def engine(qtbot: QtBot) -> Iterator[Engine]:
    engine = Engine()
    yield engine
    engine.close()


def test_a_quick_run_is_not_told_step_by_step(qtbot: QtBot, engine: Engine) -> None:
    """Each telling reaches a dozen listeners, nearly all of which ask only whether it goes on."""
    replies: list[object] = []
    engine.replied.connect(replies.append)
    engine.load("fake:vocab=500,seed=3", "", LoadOptions())
    qtbot.waitUntil(lambda: any(isinstance(r, Loaded) for r in replies), timeout=WAIT_MS)
    told, counted = [], []
    engine.activity_changed.connect(told.append)
    engine.stepped.connect(lambda _reply: counted.append(engine.activity.done))
    engine.generate((0,), SamplerSettings(), STEPS, prompt_length=1, ignore_end=True)
    qtbot.waitUntil(lambda: any(isinstance(r, Finished) for r in replies), timeout=WAIT_MS)
    assert counted == list(range(1, STEPS + 1)), "who looks sees the newest count"
    assert told[0].phase is Phase.DECODE
    assert told[-1].phase is None
    assert len(told) < STEPS / 4


def test_a_run_says_how_many_tokens_it_may_make_although_the_text_is_read_first(
    qtbot: QtBot, engine: Engine
) -> None:
    replies: list[object] = []
    engine.replied.connect(replies.append)
    engine.load("fake:vocab=500,seed=3,prefill_ms_per_token=1", "", LoadOptions())
    qtbot.waitUntil(lambda: any(isinstance(r, Loaded) for r in replies), timeout=WAIT_MS)
    told: list[Activity] = []
    engine.activity_changed.connect(told.append)
    engine.generate(tuple(range(1, 200)), SamplerSettings(), 7, prompt_length=1, ignore_end=True)
    qtbot.waitUntil(lambda: any(isinstance(r, Finished) for r in replies), timeout=WAIT_MS)
    assert Phase.PREFILL in {one.phase for one in told}
    assert {one.total for one in told if one.phase is Phase.DECODE} == {7}
