"""Work in pieces, and a long text that is shown with it."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

import numpy as np
import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from stub_engine import BOS, Stage, StubEngine

from logitscope.backends.messages import Tokenized
from logitscope.gui.panels.loss import LossPanel
from logitscope.gui.panels.loss_drawn import Drawn
from logitscope.gui.turns import Turns
from logitscope.losses import LossTable

SIZE, LENGTH = 1000, 150_000


class TurnCounter:
    """Counts turns of the event loop while it runs: each one is over before the next tick."""

    def __init__(self) -> None:
        self.turn = 0
        self._timer = QTimer(interval=0)
        self._timer.timeout.connect(self._count)
        self._timer.start()

    def _count(self) -> None:
        self.turn += 1

    def stop(self) -> None:
        self._timer.stop()


@pytest.fixture
def counter() -> TurnCounter:
    return TurnCounter()


def asked(engine: StubEngine, name: str) -> Callable[..., int]:
    """A request that is only written down."""
    return lambda *_args, **_named: engine._note(name)


def test_every_piece_has_a_turn_of_its_own(qtbot: QtBot, counter: TurnCounter) -> None:
    turns = Turns()
    seen: list[tuple[str, int]] = []

    def piece(name: str) -> Callable[[], object]:
        return lambda: seen.append((name, counter.turn))

    turns.start(map(piece, "abc"))
    turns.start([piece("d")])
    assert turns.is_busy
    with qtbot.waitSignal(turns.finished):
        pass
    counter.stop()
    assert "".join(name for name, _ in seen) == "abcd"
    assert len({turn for _, turn in seen}) == 4
    turns.start(map(piece, "ef"))
    turns.finish()
    assert "".join(name for name, _ in seen) == "abcdef"
    assert not turns.is_busy


def test_a_piece_that_fails_does_not_hold_up_the_others(qtbot: QtBot) -> None:
    turns = Turns()
    done: list[int] = []
    with pytest.raises(ZeroDivisionError):
        turns.start([lambda: 1 // 0, lambda: done.append(1)])
    qtbot.waitUntil(lambda: done == [1])
    assert not turns.is_busy


def test_a_long_text_is_read_off_the_windows_thread_and_shown_in_turns(
    qtbot: QtBot, styled_app: QApplication, counter: TurnCounter, monkeypatch: pytest.MonkeyPatch
) -> None:
    del styled_app
    stage = Stage()
    stage.load(SIZE)
    engine = stage.engine
    for name in ("tokenize", "score"):
        monkeypatch.setattr(engine, name, asked(engine, name), raising=False)
    made_in: list[threading.Thread] = []
    make = LossTable.of.__func__  # type: ignore[attr-defined]

    def make_here(cls: type[LossTable], ids: tuple[int, ...]) -> LossTable:
        made_in.append(threading.current_thread())
        return make(cls, ids)

    monkeypatch.setattr(LossTable, "of", classmethod(make_here))
    parts: dict[str, int] = {}

    def note(name: str, do: Callable[..., None]) -> Callable[..., None]:
        def part(*args: object) -> None:
            parts[name] = counter.turn
            do(*args)

        return part

    for name in ("update_loss", "update_entropy", "update_paragraphs"):
        monkeypatch.setattr(Drawn, name, note(name, getattr(Drawn, name)))
    panel = LossPanel(stage.session)
    qtbot.addWidget(panel)
    panel.resize(900, 300)
    panel.show()
    qtbot.waitExposed(panel)
    panel.show_text("a text", "long")
    ids = tuple(random.Random(0).choices(range(BOS + 1, SIZE), k=LENGTH))
    engine.replied.emit(Tokenized(len(engine.requests), ids))
    assert len(panel.table) == 0
    qtbot.waitUntil(lambda: len(panel.table) == LENGTH and len(panel.heat.codes) == LENGTH)
    qtbot.waitUntil(lambda: engine.requests[-1] == "score")
    assert made_in and threading.current_thread() not in made_in
    np.testing.assert_array_equal(panel.table.ids, ids)
    qtbot.waitUntil(lambda: len(panel.heat_view.view.ids) == 100_000)
    qtbot.waitUntil(lambda: panel.curve.has_plot)
    counter.stop()
    assert len(set(parts.values())) == 3
