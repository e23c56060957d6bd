"""What the panels say where there is nothing to show: the same, and what is true now."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import psutil
import pytest
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from logitscope.backends.base import LoadOptions
from logitscope.backends.fake import load as load_fake
from logitscope.distribution import log_softmax
from logitscope.gui.engine import Engine
from logitscope.gui.notices import CONTEXT_FULL, Notice
from logitscope.gui.panels.branches import BranchesPanel
from logitscope.gui.panels.compare import ComparePanel
from logitscope.gui.panels.distribution import DistributionPanel
from logitscope.gui.panels.game import GamePanel
from logitscope.gui.panels.loss import LossPanel
from logitscope.gui.panels.origin import OriginPanel
from logitscope.gui.panels.passes import PassesPanel
from logitscope.gui.panels.text import TextPanel
from logitscope.gui.reading import Stage
from logitscope.gui.session import Session

MODEL = "fake:vocab=400,seed=5,context=64"
SLOW = "fake:vocab=400,seed=5,context=4096,prefill_ms_per_token=4"
LONG = "word " * 100
TOO_LONG = "The text has 501 tokens, but the context holds 64"
WAIT_MS = 30_000
Panel = TypeVar("Panel", bound=QWidget)


@pytest.fixture
def session(qtbot: QtBot, styled_app: QApplication) -> Iterator[Session]:
    del styled_app
    engine = Engine()
    yield Session(engine)
    engine.close()


@pytest.fixture
def text(qtbot: QtBot, session: Session) -> TextPanel:
    return shown(qtbot, TextPanel(session))


@pytest.fixture
def distribution(qtbot: QtBot, session: Session) -> DistributionPanel:
    return shown(qtbot, DistributionPanel(session))


@pytest.fixture
def origin(qtbot: QtBot, session: Session) -> OriginPanel:
    return shown(qtbot, OriginPanel(session))


@pytest.fixture
def loss(qtbot: QtBot, session: Session) -> LossPanel:
    return shown(qtbot, LossPanel(session))


def shown(qtbot: QtBot, panel: Panel) -> Panel:
    qtbot.addWidget(panel)
    panel.resize(800, 400)
    panel.show()
    qtbot.waitExposed(panel)
    return panel


def open_model(qtbot: QtBot, session: Session, model: str = MODEL) -> None:
    session.open_model(model)
    qtbot.waitUntil(lambda: session.is_ready and session.row is not None, timeout=WAIT_MS)


def kill_model(qtbot: QtBot, session: Session) -> None:
    for process in psutil.Process().children(recursive=True):
        if "resource_tracker" not in " ".join(process.cmdline()):
            process.kill()
    qtbot.waitUntil(lambda: session.model is None, timeout=WAIT_MS)


# -- longer than the context --------------------------------------------------------------------


def test_a_prompt_longer_than_the_context_is_told_for_as_long_as_it_lasts(
    qtbot: QtBot,
    session: Session,
    text: TextPanel,
    distribution: DistributionPanel,
    origin: OriginPanel,
) -> None:
    notices: list[Notice] = []
    session.noticed.connect(notices.append)
    open_model(qtbot, session)
    session.set_prompt(LONG)
    qtbot.waitUntil(lambda: TOO_LONG in distribution.bars.view.empty_text, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: TOO_LONG in origin.empty.text())
    assert len(notices) == 1
    assert text.strip.counter.text() == "prompt 501 · generated 0 tokens"
    assert len(text.view.ids) == 501
    session.stop_all()
    distribution.flush()
    assert TOO_LONG in distribution.bars.view.empty_text
    session.set_prompt("word")
    qtbot.waitUntil(lambda: session.row is not None and len(session.ids) == 5, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: "Ctrl+M" in origin.empty.text())


def test_what_stands_within_the_context_can_be_looked_at(qtbot: QtBot, session: Session) -> None:
    open_model(qtbot, session)
    session.set_prompt(LONG)
    qtbot.waitUntil(lambda: len(session.ids) == 501, timeout=WAIT_MS)
    session.select(64)
    qtbot.waitUntil(lambda: session.row is not None, timeout=WAIT_MS)
    assert session.row is not None
    assert session.row.ids == session.ids[:64]
    session.select(65)
    assert session.row is None
    assert TOO_LONG in session.reading.sentence()


def test_a_continuation_beyond_a_shorter_context_is_kept(qtbot: QtBot, session: Session) -> None:
    open_model(qtbot, session)
    session.set_prompt("word")
    session.run(20)
    qtbot.waitUntil(lambda: len(session.ids) == 25 and not session.is_running, timeout=WAIT_MS)
    ids = session.ids
    session.open_model(MODEL, "", LoadOptions(context_length=16))
    qtbot.waitUntil(lambda: "25 tokens" in session.reading.sentence(), timeout=WAIT_MS)
    assert session.ids == ids
    session.rewind_to(10)
    qtbot.waitUntil(lambda: session.row_is_current, timeout=WAIT_MS)
    assert session.reading.sentence() == ""


# -- gone, stopped, failed ----------------------------------------------------------------------


def test_a_long_reading_tells_how_far_it_is_and_that_it_was_stopped(
    qtbot: QtBot,
    session: Session,
    text: TextPanel,
    distribution: DistributionPanel,
    origin: OriginPanel,
) -> None:
    open_model(qtbot, session, SLOW)
    session.set_prompt(LONG)
    of_all = re.compile(r"\d+ of 50\d tokens")
    counter, sentence = text.strip.counter, session.reading.sentence
    qtbot.waitUntil(lambda: bool(of_all.search(distribution.bars.view.empty_text + sentence())))
    qtbot.waitUntil(lambda: bool(of_all.search(counter.text())), timeout=WAIT_MS)
    qtbot.waitUntil(lambda: bool(of_all.search(origin.empty.text())), timeout=WAIT_MS)
    session.stop_all()
    qtbot.waitUntil(lambda: "stopped" in distribution.bars.view.empty_text, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: "stopped" in origin.empty.text())
    assert "not read" in counter.text()
    assert "stopped" in text.view._placeholder


def test_a_reading_that_fails_leaves_its_reason(
    qtbot: QtBot, session: Session, distribution: DistributionPanel, origin: OriginPanel
) -> None:
    notices: list[Notice] = []
    session.noticed.connect(notices.append)
    open_model(qtbot, session, f"{MODEL},nan_after=5")
    session.set_prompt("a longer text")
    qtbot.waitUntil(lambda: bool(notices), timeout=WAIT_MS)
    qtbot.waitUntil(lambda: distribution.bars.view.empty_text == notices[0].sentence)
    qtbot.waitUntil(lambda: origin.empty.text() == notices[0].sentence)


def test_a_dead_model_is_told_by_every_panel_until_it_is_loaded_again(
    qtbot: QtBot,
    session: Session,
    text: TextPanel,
    distribution: DistributionPanel,
    origin: OriginPanel,
) -> None:
    open_model(qtbot, session, SLOW)
    session.set_prompt(LONG)
    qtbot.waitUntil(lambda: session.reading.progress is not None, timeout=WAIT_MS)
    session.stop_all()
    qtbot.waitUntil(lambda: session.reading.stage is Stage.UNREAD, timeout=WAIT_MS)
    session.step()
    kill_model(qtbot, session)
    for said in placeholders(text, distribution, origin):
        qtbot.waitUntil(lambda said=said: "process has ended" in said())
    heard: set[str] = set()
    text.strip.counter.installEventFilter(Listener(text, text.strip.counter.text, heard))
    session.reload_model()
    for said in placeholders(text, distribution, origin):
        qtbot.waitUntil(lambda said=said: "Loading" in said())
    qtbot.waitUntil(lambda: session.reading.progress is not None, timeout=WAIT_MS)
    for said in placeholders(text, distribution, origin):
        qtbot.waitUntil(lambda said=said: "is reading" in said())
    qtbot.waitUntil(lambda: "tokens" in text.strip.counter.text())
    assert not any("not read" in words or "prompt 0" in words for words in heard)


def test_a_model_that_was_not_waited_for_is_told(
    qtbot: QtBot, session: Session, distribution: DistributionPanel
) -> None:
    session.open_model("fake:vocab=400,load_ms=20000")
    qtbot.waitUntil(lambda: session.engine.activity.done > 0, timeout=WAIT_MS)
    session.stop_all()
    qtbot.waitUntil(lambda: "was stopped" in distribution.bars.view.empty_text, timeout=WAIT_MS)
    session.open_model("fake:vocab=400,fail=load")
    qtbot.waitUntil(lambda: "not be loaded" in distribution.bars.view.empty_text, timeout=WAIT_MS)


def test_the_other_panels_say_the_same(qtbot: QtBot, session: Session) -> None:
    game = shown(qtbot, GamePanel(session))
    branches = shown(qtbot, BranchesPanel(session))
    passes = shown(qtbot, PassesPanel(session))
    compare = shown(qtbot, ComparePanel(session))
    empties = [one.empty for one in (game, branches, passes, compare)]
    for empty in empties:
        qtbot.waitUntil(lambda empty=empty: "Open a model" in empty.text())
    open_model(qtbot, session, SLOW)
    qtbot.waitUntil(lambda: "press Step" in branches.empty.text())
    session.set_prompt(LONG)
    qtbot.waitUntil(lambda: session.reading.progress is not None, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: "is reading" in branches.empty.text())
    session.stop_all()
    qtbot.waitUntil(lambda: "was stopped" in branches.empty.text(), timeout=WAIT_MS)
    kill_model(qtbot, session)
    for empty in empties:
        qtbot.waitUntil(lambda empty=empty: "process has ended" in empty.text())
    compare.shut_down()


def placeholders(
    text: TextPanel, distribution: DistributionPanel, origin: OriginPanel
) -> tuple[Callable[[], str], ...]:
    return (
        lambda: text.view._placeholder,
        lambda: distribution.bars.view.empty_text,
        origin.empty.text,
    )


class Listener(QObject):
    """Collects what a label says whenever something happens to it, painting included."""

    def __init__(self, parent: QObject, said: Callable[[], str], heard: set[str]) -> None:
        super().__init__(parent)
        self._said = said
        self._heard = heard

    def eventFilter(self, _watched: QObject, _event: QEvent) -> bool:
        self._heard.add(self._said())
        return False


# -- losses -------------------------------------------------------------------------------------


def test_a_prompt_longer_than_the_context_is_scored_in_windows(
    qtbot: QtBot, session: Session, loss: LossPanel
) -> None:
    open_model(qtbot, session)
    session.set_prompt(LONG)
    qtbot.waitUntil(lambda: len(loss.table) == 501, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: loss.table.first_unknown == 501, timeout=WAIT_MS)
    loss.flush()
    backend, ids = load_fake(Path(MODEL), LoadOptions()), session.ids
    for position in (1, 63):
        row = backend.next_logits(ids[:position])
        assert loss.table.loss[position] == pytest.approx(
            -log_softmax(row)[ids[position]], abs=1e-6
        )
    backend.close()
    assert loss.windows.isVisible()
    assert not loss.heat_view.view._is_stale


def test_losses_of_an_older_text_are_faint_and_say_so(
    qtbot: QtBot, session: Session, loss: LossPanel
) -> None:
    write(qtbot, session, loss, "word", SLOW)
    figures, view = loss.figures.summary, loss.heat_view.view
    assert "perplexity" in figures.text()
    session.set_prompt(LONG)
    qtbot.waitUntil(
        lambda: figures.text().startswith("Of an older text: The model is"), timeout=WAIT_MS
    )
    assert view._is_stale
    assert veiled(loss)
    session.stop_all()
    qtbot.waitUntil(lambda: "stopped" in figures.text(), timeout=WAIT_MS)
    session.set_prompt("words")
    qtbot.waitUntil(lambda: "perplexity" in figures.text(), timeout=WAIT_MS)
    assert not view._is_stale
    assert not veiled(loss)


def test_losses_outlive_their_model_and_are_there_again_with_it(
    qtbot: QtBot, session: Session, loss: LossPanel
) -> None:
    write(qtbot, session, loss, "word", MODEL)
    figures, view = loss.figures.summary, loss.heat_view.view
    before, ids = figures.text(), tuple(view.ids)
    kill_model(qtbot, session)
    qtbot.waitUntil(lambda: figures.text().startswith("The model's process has ended"))
    assert (tuple(view.ids), view._is_stale, view.vocabulary is None) == (ids, True, False)
    session.reload_model()
    qtbot.waitUntil(lambda: figures.text() == before, timeout=WAIT_MS)
    assert not view._is_stale


def test_one_token_without_a_model_is_no_text(
    qtbot: QtBot, session: Session, loss: LossPanel
) -> None:
    write(qtbot, session, loss, "", MODEL)
    assert len(loss.heat_view.view.ids) == 1
    kill_model(qtbot, session)
    qtbot.waitUntil(lambda: not loss.heat_view.view.ids)
    assert "process has ended" in loss.heat_view.view._placeholder
    assert loss.figures.summary.text() == ""


def write(qtbot: QtBot, session: Session, loss: LossPanel, prompt: str, model: str) -> None:
    """Open a model, and wait until a prompt is scored and drawn."""
    open_model(qtbot, session, model)
    session.set_prompt(prompt)
    count = len(prompt) + 1
    qtbot.waitUntil(lambda: len(loss.table) == count and session.is_ready, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: loss.table.first_unknown == count, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: loss.curve.has_plot)
    loss.flush()


def veiled(loss: LossPanel) -> bool:
    return bool(loss.curve.plot.foregroundBrush().style() != Qt.BrushStyle.NoBrush)


def test_a_run_behind_a_text_that_is_too_long_is_refused_and_leaves_nothing_to_undo(
    qtbot: QtBot, session: Session
) -> None:
    notices: list[Notice] = []
    session.noticed.connect(notices.append)
    session.open_model("fake:vocab=500,seed=3,context=8")
    session.set_prompt("more than eight tokens")
    qtbot.waitUntil(lambda: session.reading.stage is Stage.TOO_LONG, timeout=WAIT_MS)
    session.undo_stack.clear()
    notices.clear()
    session.run(4)
    session.step()
    assert not session.is_running
    assert [notice.sentence for notice in notices] == [session.reading.too_long_sentence()] * 2
    assert not session.undo_stack.canUndo()


def test_a_run_that_writes_nothing_leaves_nothing_to_undo(qtbot: QtBot, session: Session) -> None:
    notices: list[Notice] = []
    session.noticed.connect(notices.append)
    session.open_model("fake:vocab=500,seed=3,context=8")
    session.set_prompt("1234567")
    qtbot.waitUntil(lambda: session.is_ready and session.row_is_current, timeout=WAIT_MS)
    assert len(session.ids) == 8
    session.undo_stack.clear()
    session.run(4)
    qtbot.waitUntil(lambda: bool(notices))
    assert notices == [CONTEXT_FULL]
    assert not session.undo_stack.canUndo()
    session.set_prompt("123456")
    qtbot.waitUntil(lambda: session.is_ready and session.row_is_current, timeout=WAIT_MS)
    session.run(4)
    qtbot.waitUntil(lambda: len(notices) == 2, timeout=WAIT_MS)
    assert len(session.ids) == 8
    assert session.undo_stack.undoText() == "Run"
    session.undo()
    assert len(session.ids) == 7
