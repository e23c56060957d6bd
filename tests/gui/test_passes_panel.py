"""The passes panel: what it counts on a live fake model, and what it draws of given passes."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot
from stub_engine import Stage

from logitscope.backends.base import PassStats
from logitscope.backends.messages import Ending, Finished
from logitscope.gui import theme
from logitscope.gui.engine import Engine
from logitscope.gui.panels.passes import PassesPanel
from logitscope.gui.session import Session
from logitscope.gui.widgets import numbers
from logitscope.passes import PassKind

Put = Callable[[int, int, float], None]


@pytest.fixture
def live(qtbot: QtBot) -> Iterator[Session]:
    engine = Engine()
    made = Session(engine)
    made.open_model("fake:vocab=500,seed=3")
    # Before the model is there: its first pass is then over the whole prompt.
    made.set_prompt("abcdefgh")
    qtbot.waitUntil(lambda: made.row is not None and made.row_is_current, timeout=20_000)
    yield made
    engine.close()


def show(qtbot: QtBot, session: Session) -> PassesPanel:
    made = PassesPanel(session)
    qtbot.addWidget(made)
    made.resize(900, 260)
    made.show()
    qtbot.waitExposed(made)
    return made


@pytest.fixture
def stage() -> Stage:
    made = Stage()
    made.load(300)
    return made


@pytest.fixture
def panel(qtbot: QtBot, stage: Stage) -> PassesPanel:
    return show(qtbot, stage.session)


@pytest.fixture
def put(qtbot: QtBot, stage: Stage, panel: PassesPanel) -> Put:
    """Lets a pass arrive from the model process, and waits until it is on show."""

    def arrive(cached: int, evaluated: int, seconds: float) -> None:
        cost = PassStats(cached, evaluated, seconds)
        stage.engine.replied.emit(Finished(0, Ending.LENGTH, None, 0, cost))
        log = stage.session.passes.log
        qtbot.waitUntil(lambda: panel.strip.passes == log.passes)

    return arrive


def test_an_empty_panel_says_what_to_do(qtbot: QtBot, panel: PassesPanel) -> None:
    assert panel.stack.currentWidget() is panel.empty
    assert "prompt" in panel.empty.text()
    without = show(qtbot, Stage().session)
    assert "Open a model" in without.empty.text()


def test_a_prompt_and_five_steps_are_counted(qtbot: QtBot, live: Session) -> None:
    """The fake reads exactly the ids that its cache lacks."""
    panel = show(qtbot, live)
    length = live.prompt_length
    live.run(5)
    qtbot.waitUntil(lambda: not live.is_running and len(live.ids) == length + 5)
    prefill = live.passes.log.totals(PassKind.PREFILL)
    decode = live.passes.log.totals(PassKind.DECODE)
    assert (prefill.passes, prefill.evaluated, prefill.cached) == (1, length, 0)
    # One pass behind each of the five tokens; the first was chosen from the prompt's own row.
    assert (decode.passes, decode.evaluated) == (5, 5)
    assert decode.cached == sum(range(length, length + 5))
    qtbot.waitUntil(lambda: len(panel.strip.passes) == 6)
    assert panel.stack.currentIndex() == 1


def test_another_model_begins_at_nought(qtbot: QtBot, stage: Stage, put: Put) -> None:
    put(0, 5, 0.1)
    stage.load(200)
    assert stage.session.passes.log.passes == ()


def test_longer_bars_are_more_tokens_and_higher_ones_more_time(
    panel: PassesPanel, put: Put
) -> None:
    put(0, 64, 0.5)
    put(64, 1, 0.004)
    put(65, 1, 0.04)
    slow, fast, prefill = (bar for _one, bar in panel.strip.bars())
    assert prefill.width() > 5 * fast.width() == 5 * slow.width()
    assert prefill.height() > slow.height() > fast.height()
    assert slow.left() > fast.left() > prefill.left()


def test_a_prefill_and_a_decode_look_different(panel: PassesPanel, put: Put) -> None:
    put(0, 3, 0.1)
    put(3, 1, 0.1)
    image = panel.strip.grab().toImage()
    ratio = image.devicePixelRatio()
    (_, decode), (_, prefill) = panel.strip.bars()
    colors = []
    for bar in (decode, prefill):
        inside = [
            image.pixelColor(round(x * ratio), round(y * ratio)).name()
            for x in range(round(bar.left()) + 2, round(bar.right()) - 2)
            for y in range(round(bar.top()) + 2, round(bar.bottom()) - 2)
        ]
        colors.append(set(inside))
    assert colors[0] == {theme.palette().bar_shaped.name()}
    assert len(colors[1]) > 1


def test_keys_walk_over_the_passes(qtbot: QtBot, panel: PassesPanel, put: Put) -> None:
    put(0, 12, 0.12)
    put(12, 1, 0.015)
    assert "Pass 2, decode" in panel.detail.text()
    panel.strip.setFocus()
    for key, words in (
        (Qt.Key.Key_Left, "Pass 2"),
        (Qt.Key.Key_Left, "Pass 1, prefill: 12 tokens read at once, 0 from the KV cache, 120 ms"),
        (Qt.Key.Key_End, "Pass 2, decode: 1 token read, 12 from the KV cache, 15.0 ms."),
        (Qt.Key.Key_Home, "(10.0 ms a token)"),
        (Qt.Key.Key_Right, "Pass 2"),
    ):
        qtbot.keyClick(panel.strip, key)
        assert words in panel.detail.text()
    place = panel.strip.bars()[1][1].center()
    qtbot.mouseClick(panel.strip, Qt.MouseButton.LeftButton, pos=place.toPoint())
    assert "Pass 1" in panel.detail.text()
    assert panel.strip.pass_at(QPointF(-5, 5)) is None


def test_the_two_kinds_of_number(qtbot: QtBot, live: Session) -> None:
    """The fake has 4 bytes of weights an entry of the vocabulary and 1,024 bytes of KV a token."""
    panel = show(qtbot, live)
    tokens = live.prompt_length
    assert "Weights: 2.00 kB" in panel.weights.text()
    assert f"among {tokens} tokens: {2000 / tokens:.0f} B a token" in panel.weights.text()
    assert f"1.02 kB a token × {tokens} tokens" in panel.activations.text()


def test_a_strip_keeps_what_fits(panel: PassesPanel, put: Put) -> None:
    for cached in range(1, 200):
        panel._session.passes.log.add(cached, 1, 0.01)
    put(200, 1, 0.01)
    bars = panel.strip.bars()
    assert 10 < len(bars) < 200
    assert bars[0][0].number == 200
    assert all(bar.left() >= 0 for _one, bar in bars)


def test_the_table_is_copied_with_exact_numbers(panel: PassesPanel, put: Put) -> None:
    put(0, 3, 0.12345678)
    put(3, 1, 0.015)
    panel.menu.copy_csv()
    lines = QGuiApplication.clipboard().text().splitlines()
    rows = list(csv.reader(line for line in lines if not line.startswith("#")))
    assert rows[0] == ["pass", "kind", "tokens_evaluated", "tokens_from_cache", "seconds"]
    assert rows[1:] == [
        ["1", "prefill", "3", "0", "0.12345678"],
        ["2", "decode", "1", "3", "0.015"],
    ]


@pytest.mark.parametrize(
    ("value", "words"),
    [(20, "20 B"), (999.6, "1.00 kB"), (18_432, "18.4 kB"), (241.4e6, "241 MB"), (7e9, "7.00 GB")],
)
def test_sizes_have_three_digits(value: float, words: str) -> None:
    assert numbers.size(value) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [(0, "0 ms"), (4.123e-4, "0.412 ms"), (0.0152, "15.2 ms"), (0.9999, "1.00 s"), (75, "75.0 s")],
)
def test_durations_have_three_digits(value: float, words: str) -> None:
    assert numbers.duration(value) == words
