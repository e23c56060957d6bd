"""The draw in the sampling panel against numpy's own Philox."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
import sampling_stage
from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot
from sampling_stage import HALVES, Opened

from logitscope.gui.panels.distribution import DistributionPanel
from logitscope.gui.widgets.draw_bar import Interval
from logitscope.sampling import SamplerSettings
from logitscope.steps import Draw, Origin, StepRecord

opened = sampling_stage.opened


def philox(seed: int, position: int, attempt: int) -> float:
    """u as numpy's own generator gives it for this counter and key."""
    bits = np.random.Philox(counter=[attempt, 0, 0, 0], key=[seed, position])
    # numpy counts up before it makes a block.
    bits.advance(-1 % 2**256)
    return float(bits.random_raw() >> np.uint64(11)) * 2.0**-53


def test_the_next_draw_is_the_run_s_own(opened: Opened) -> None:
    _, panel = opened(HALVES, seed=7)
    u = philox(7, 2, 0)
    ends = np.array([0.5, 0.75, 0.875, 1.0])
    place = int(np.searchsorted(ends, u, side="right"))
    names = ["·the", "·blue", "·a", "⏎"]
    low = 0.0 if place == 0 else ends[place - 1]
    assert panel.draw.sentence.text() == (
        f"Next draw: u = {u:.4f} → “{names[place]}” [{low:.4f}, {ends[place]:.4f})"
    )
    assert panel.draw.bar.u == u
    assert panel.draw.bar.hit == place
    lows = [interval.low for interval in panel.draw.bar.intervals]
    np.testing.assert_allclose(lows, [0.0, 0.5, 0.75, 0.875], atol=1e-7)


@pytest.mark.parametrize("count", [4, 50_000, 262_144])
def test_no_interval_is_written_as_an_empty_one(opened: Opened, count: int) -> None:
    _, panel = opened(np.zeros(count, dtype=np.float32), seed=7)
    for attempt in range(5):
        text = panel.draw.sentence.text()
        found = re.search(r"u = ([\d.]+) → .* \[([\d.]+), ([\d.]+)\)$", text)
        assert found is not None, text
        u, low, high = map(float, found.groups())
        assert low < high
        # All tokens are as likely as each other: u lies in the interval that exact arithmetic says.
        place = int(philox(7, 2, attempt) * count)
        assert low <= u <= high
        assert low == pytest.approx(place / count, abs=1e-4)
        assert max(len(part) for part in found.groups()) <= 14
        panel.draw.again.click()


def test_a_draw_without_room_ends_in_an_ellipsis_and_is_told_whole(opened: Opened) -> None:
    _, panel = opened(np.zeros(262_144, dtype=np.float32), seed=7)
    panel.resize(260, 900)
    sentence = panel.draw.sentence
    assert sentence.shown.endswith("…")
    assert sentence.fontMetrics().horizontalAdvance(sentence.shown) <= sentence.width()
    assert sentence.text().endswith(")")
    assert sentence.text() in sentence.toolTip()


def test_the_tooltip_of_a_narrow_interval_tells_its_ends_apart(opened: Opened) -> None:
    # 1 - 1e-7 in front: what is left for the second token is 1e-7 wide.
    _, panel = opened(np.log(np.array([1 - 1e-7, 1e-7])).astype(np.float32))
    bar = panel.draw.bar
    narrow = Interval(1, "narrow", 0.9999999, 1.0)
    assert re.findall(r"[01]\.\d{6,}", bar.tooltip_of(narrow))[:2] == ["0.9999999", "1.0000000"]


def test_drawing_again_takes_the_next_number_and_leaves_the_text(opened: Opened) -> None:
    stage, panel = opened(HALVES, seed=7)
    asked = list(stage.engine.requests)
    for attempt in (1, 2, 3):
        panel.draw.again.click()
        assert panel.draw.bar.u == philox(7, 2, attempt)
    assert panel.draw.sentence.text().startswith("Draw 4: u = ")
    assert stage.session.ids == (0, 1)
    assert stage.engine.requests == asked
    panel.new_seed.click()
    panel.flush()
    assert panel.draw.attempt == 0


def test_a_thousand_draws_against_what_is_expected(opened: Opened) -> None:
    _, panel = opened(HALVES, seed=7)
    panel.draw.many.click()
    rows = panel.draw.counts.rows
    drawn = np.searchsorted(
        [0.5, 0.75, 0.875, 1.0], [philox(7, 2, i) for i in range(1, 1001)], "right"
    )
    assert [row.observed for row in rows] == np.bincount(drawn, minlength=4).tolist()
    np.testing.assert_allclose([row.expected for row in rows], [500, 250, 125, 125], rtol=1e-6)
    np.testing.assert_allclose([row.deviation for row in rows][:2], [250**0.5, 187.5**0.5])
    assert not panel.draw.counts.grab().isNull()


def test_many_tokens_are_counted_as_others(opened: Opened) -> None:
    _, panel = opened(np.zeros(1000, dtype=np.float32))
    panel.draw.many.click()
    rows = panel.draw.counts.rows
    assert len(rows) == 13
    assert rows[-1].text == "others"
    assert sum(row.observed for row in rows) == 1000
    assert rows[-1].expected == pytest.approx(988.0)


def test_the_bar_s_mark_stands_at_u(opened: Opened) -> None:
    _, panel = opened(HALVES, seed=7)
    bar = panel.draw.bar
    image = bar.grab().toImage()
    row = [image.pixelColor(x, 1).lightness() for x in range(image.width())]
    darkest = [x for x, value in enumerate(row) if value < 128]
    assert np.mean(darkest) == pytest.approx(philox(7, 2, 0) * image.width(), abs=2.0)


def test_an_interval_says_its_token_and_limits(opened: Opened) -> None:
    _, panel = opened(HALVES)
    bar = panel.draw.bar
    text = bar.tooltip_of(bar.interval_at(0.6 * bar.width()))
    for words in ("·blue", "0.500000", "0.750000", "0.2500"):
        assert words in text


def test_draws_and_stages_can_be_copied(opened: Opened) -> None:
    _, panel = opened(HALVES, top_k=2, seed=7)
    panel.draw.bar_menu.copy_text()
    lines = QGuiApplication.clipboard().text().splitlines()
    assert [line.split("\t")[:2] for line in lines[1:]] == [["·the", "0"], ["·blue", "1"]]
    drawn = [line.split("\t")[2:] for line in lines[1:] if line.split("\t")[4]]
    ((low, high, u),) = drawn
    assert float(low) <= float(u) < float(high)
    assert float(u) == philox(7, 2, 0)
    panel.draw.many.click()
    panel.draw.counts_menu.copy_text()
    counts = [line.split("\t") for line in QGuiApplication.clipboard().text().splitlines()[1:]]
    assert sum(int(count[1]) for count in counts) == 1000
    panel.chain.menu.copy_text()
    stages = [line.split("\t") for line in QGuiApplication.clipboard().text().splitlines()]
    top_k = next(cells for cells in stages if cells[0] == "top_k")
    assert top_k[1:4] == ["True", "4", "2"]
    assert float(top_k[4]) == pytest.approx(0.25)


def drawn(token_id: int, rank: int, probability: float, draw: Draw) -> StepRecord:
    """A step behind ``HALVES``."""
    return StepRecord(
        token_id=token_id, origin=Origin.SAMPLED, log_probability=float(np.log(probability)),
        rank=rank, entropy=1.213, shaped_probability=0.125, draw=draw, top_ids=(0, 1, 2),
        top_log_probabilities=(-0.69, -1.39, -2.08), seconds=0.01,
    )  # fmt: skip


def test_a_past_position_shows_its_own_draw_and_why(opened: Opened) -> None:
    stage, panel = opened(HALVES, seed=7)
    step = drawn(2, 3, 0.125, Draw(0.8, 0.75, 0.875))
    stage.session.document.append(step)
    stage.session.path_changed.emit()
    stage.session.select(2)
    panel.flush()
    assert panel.draw.sentence.text() == "Drawn: u = 0.8000 → “·a” [0.7500, 0.8750)"
    assert panel.draw.bar.u == 0.8
    assert panel.draw.bar.hit == 2
    reason = panel.draw.reason.text()
    assert re.search(r"rank 3", reason)
    assert "12.5 %" in reason


def test_the_draw_just_made_stands_beside_the_next_one(opened: Opened) -> None:
    stage, panel = opened(HALVES, seed=7)
    session, last = stage.session, panel.draw.last
    assert not last.isVisible()
    buttons = panel.draw.many.geometry()
    session.document.append(drawn(2, 3, 0.125, Draw(0.8, 0.75, 0.875)))
    session.path_changed.emit()
    stage.answer_end(HALVES)
    panel.flush()
    assert panel.draw.sentence.text().startswith(f"Next draw: u = {philox(7, 3, 0):.4f}")
    assert last.isVisible()
    assert last.text() == "Last draw: u = 0.8000 → “·a” (p 0.1250)"
    assert panel.draw.many.geometry() == buttons
    session.select(1)
    panel.flush()
    assert not last.isVisible()


@pytest.mark.parametrize("origin", [Origin.FORCED, Origin.SAMPLED])
def test_a_token_that_was_not_drawn_has_no_last_draw(opened: Opened, origin: Origin) -> None:
    stage, panel = opened(HALVES, seed=7)
    step = replace(drawn(2, 3, 0.125, Draw(0.8, 0.75, 0.875)), origin=origin, draw=None)
    stage.session.document.append(step)
    stage.session.path_changed.emit()
    stage.answer_end(HALVES)
    panel.flush()
    assert panel.draw.sentence.text().startswith("Next draw: ")
    assert not panel.draw.last.isVisible()


def test_settings_that_changed_since_explain_no_past_draw(opened: Opened) -> None:
    stage, panel = opened(HALVES, seed=7)
    # Token 3 holds [0.875, 1) at temperature 1; at 0.5 the squares 16 : 4 : 1 : 1 give [21/22, 1).
    step = drawn(3, 4, 0.02, Draw(0.9, 0.875, 1.0))
    stage.session.document.append(step)
    stage.session.path_changed.emit()
    stage.session.select(2)
    panel.flush()
    assert panel.draw.bar.u == 0.9
    assert "were others then" not in panel.draw.reason.text()
    stage.session.set_settings(SamplerSettings(temperature=0.5, seed=7))
    panel.flush()
    assert panel.draw.bar.u is None
    assert "u = 0.9000" in panel.draw.sentence.text()
    assert "were others then" in panel.draw.reason.text()
    # Temperature 1.5 is above 1, but it is not what made the step.
    stage.session.set_settings(SamplerSettings(temperature=1.5, seed=7))
    panel.flush()
    assert "temperature 1.5 made it likelier" not in panel.draw.reason.text()
    stage.session.set_settings(SamplerSettings(temperature=0.0))
    panel.flush()
    assert "were others then" in panel.draw.reason.text()
    assert panel.draw.bar.u is None


def test_a_past_draw_is_shown_with_the_settings_it_was_made_with(opened: Opened) -> None:
    then, now = SamplerSettings(seed=7), SamplerSettings(temperature=0.5, seed=7)
    stage, panel = opened(HALVES, temperature=0.5, seed=7)
    step = StepRecord(
        token_id=3, origin=Origin.SAMPLED, log_probability=float(np.log(0.125)), rank=4,
        entropy=1.213, shaped_probability=0.125, draw=Draw(0.9, 0.875, 1.0), top_ids=(0, 1, 2),
        top_log_probabilities=(-0.69, -1.39, -2.08), seconds=0.01, settings=then,
    )  # fmt: skip
    stage.session.document.append(step)
    stage.session.path_changed.emit()
    stage.session.select(2)
    panel.flush()
    assert stage.session.settings == now
    assert panel.draw.bar.u == 0.9
    ends = [interval.high for interval in panel.draw.bar.intervals]
    np.testing.assert_allclose(ends, [0.5, 0.75, 0.875, 1.0], rtol=1e-6)
    assert "were others then" not in panel.draw.reason.text()
    assert panel.draw.take.isVisible()
    panel.draw.take.click()
    panel.flush()
    assert stage.session.settings == then
    assert not panel.draw.take.isVisible()
    stage.session.undo()
    assert stage.session.settings == now


def test_a_forced_token_was_not_drawn(opened: Opened) -> None:
    stage, panel = opened(HALVES)
    stage.session.force(3)
    stage.answer_end(HALVES)
    stage.session.select(2)
    panel.flush()
    assert "was put here by you" in panel.draw.sentence.text()
    assert panel.draw.bar.u is None
    assert "You forced this token" in panel.draw.reason.text()


@pytest.mark.parametrize("size", [1, 262_144])
def test_any_size_of_vocabulary(opened: Opened, size: int) -> None:
    logits = np.random.default_rng(0).normal(0, 3, size).astype(np.float32)
    _, panel = opened(logits, temperature=1.5, top_p=0.99, seed=3)
    u = panel.draw.bar.u
    assert u is not None
    hit = next(i for i in panel.draw.bar.intervals if i.token_id == panel.draw.bar.hit)
    assert hit.low <= u < hit.high
    panel.draw.many.click()
    assert sum(row.observed for row in panel.draw.counts.rows) == 1000


def test_the_draw_and_the_bars_are_painted_from_one_row(opened: Opened, qtbot: QtBot) -> None:
    """Also where one of the two panels has just been drawn and the other has not."""
    stage, panel = opened(HALVES)
    bars = DistributionPanel(stage.session)
    qtbot.addWidget(bars)
    bars.show()
    qtbot.waitExposed(bars)
    qtbot.waitExposed(panel)
    pairs: list[tuple[int, int]] = []

    class Pairs(QObject):
        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            if event.type() is QEvent.Type.Paint and panel.draw.bar.intervals:
                drawn = panel.draw.bar.intervals[0]
                pairs.append((drawn.token_id, bars.bars.view.bars[0].token_id))
            return False

    watcher = Pairs()
    for painted in (panel.draw.bar, bars.bars.view.viewport()):
        painted.installEventFilter(watcher)
    for turn in range(1, 6):
        # As in a run, where the row of a frame has been overtaken by a newer one.
        stage.session.path_changed.emit()
        bars.flush()
        # Another likeliest token every time.
        stage.show(np.roll(HALVES, turn))
        likeliest = turn % len(HALVES)
        qtbot.waitUntil(lambda wanted=likeliest: bool(pairs) and pairs[-1] == (wanted, wanted))
    assert {draw for draw, _ in pairs} >= {1, 2, 3}
    assert all(draw == bar for draw, bar in pairs)
