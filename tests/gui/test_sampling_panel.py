"""The sampling panel with its real widgets; the engine counts what the model is asked."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QSlider
from pytestqt.qtbot import QtBot
from stub_engine import Stage

from logitscope.gui import theme
from logitscope.gui.panels.distribution import DistributionPanel
from logitscope.gui.panels.sampling import SamplingPanel
from logitscope.gui.widgets.draw_bar import Interval
from logitscope.sampling import LLAMACPP_ORDER, TRANSFORMERS_ORDER, SamplerSettings
from logitscope.sampling import Stage as ChainStage
from logitscope.steps import Draw, Origin, StepRecord

HALVES = np.log(np.array([0.5, 0.25, 0.125, 0.125], dtype=np.float32))
Opened = Callable[..., tuple[Stage, SamplingPanel]]


@pytest.fixture
def opened(qtbot: QtBot, styled_app: QApplication) -> Opened:
    """Opens the panel on a row of logits."""
    theme.set_mode(theme.Mode.LIGHT)

    def open_on(
        logits: np.ndarray | None = None, **settings: object
    ) -> tuple[Stage, SamplingPanel]:
        stage = Stage()
        panel = SamplingPanel(stage.session)
        qtbot.addWidget(panel)
        panel.resize(480, 900)
        panel.show()
        if logits is not None:
            stage.load(len(logits))
            stage.session.set_settings(replace(SamplerSettings(), **settings))
            stage.show(logits)
        panel.flush()
        return stage, panel

    return open_on


def philox(seed: int, position: int, attempt: int) -> float:
    """u as numpy's own generator gives it for this counter and key."""
    bits = np.random.Philox(counter=[attempt, 0, 0, 0], key=[seed, position])
    # numpy counts up before it makes a block.
    bits.advance(-1 % 2**256)
    return float(bits.random_raw() >> np.uint64(11)) * 2.0**-53


def drag(slider: QSlider, share: float) -> None:
    slider.setSliderDown(True)
    slider.setSliderPosition(round(share * slider.maximum()))
    slider.setSliderDown(False)


# -- sliders ----------------------------------------------------------------------------------


def test_a_slider_changes_settings_and_bars_and_asks_the_model_nothing(
    opened: Opened, qtbot: QtBot
) -> None:
    stage, panel = opened(HALVES)
    bars = DistributionPanel(stage.session)
    qtbot.addWidget(bars)
    bars.show()
    asked = list(stage.engine.requests)
    drag(panel.controls.temperature.slider, 0.25)
    assert stage.session.settings.temperature == 0.5
    bars.flush()
    squares = np.array([0.25, 0.0625, 0.015625, 0.015625])
    shown = [bar.shaped for bar in bars.bars.view.bars]
    np.testing.assert_allclose(shown, squares / squares.sum(), rtol=1e-6)
    assert panel.controls.temperature.box.value() == 0.5
    assert stage.engine.requests == asked


def test_typing_goes_beyond_the_slider(opened: Opened, qtbot: QtBot) -> None:
    stage, panel = opened(HALVES)
    field = panel.controls.temperature
    field.box.selectAll()
    qtbot.keyClicks(field.box, "5")
    assert stage.session.settings.temperature == 1.0
    qtbot.keyClick(field.box, Qt.Key.Key_Return)
    assert stage.session.settings.temperature == 5.0
    assert field.slider.value() == field.slider.maximum()
    panel.flush()
    assert field.box.value() == 5.0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("top_k", 40),
        ("top_p", 0.95),
        ("min_p", 0.05),
        ("typical_p", 0.9),
        ("repetition_penalty", 1.3),
        ("frequency_penalty", 0.5),
        ("presence_penalty", -0.25),
        ("penalty_last_n", -1),
    ],
)
def test_every_number_can_be_typed(opened: Opened, name: str, value: float) -> None:
    stage, panel = opened(HALVES)
    panel.controls.fields[name].box.setValue(value)
    assert getattr(stage.session.settings, name) == value
    assert type(getattr(stage.session.settings, name)) is type(getattr(SamplerSettings(), name))


def test_undo_puts_the_slider_back(opened: Opened) -> None:
    stage, panel = opened(HALVES, temperature=0.8)
    field = panel.controls.temperature
    drag(field.slider, 0.9)
    panel.flush()
    assert field.box.value() == 1.8
    stage.session.undo()
    panel.flush()
    assert stage.session.settings.temperature != 1.8
    assert field.box.value() == stage.session.settings.temperature
    assert field.slider.value() == round(500 * stage.session.settings.temperature)


def test_settings_from_elsewhere_move_the_controls_and_do_not_echo(opened: Opened) -> None:
    stage, panel = opened(HALVES)
    said: list[object] = []
    panel.controls.changed.connect(said.append)
    wanted = SamplerSettings(temperature=1.25, top_k=3, top_p=0.5, seed=99)
    stage.session.set_settings(wanted)
    panel.flush()
    assert panel.controls.temperature.slider.value() == 625
    assert panel.controls.top_k.box.value() == 3
    assert panel.seed.text() == "99"
    assert said == []
    assert stage.session.settings == wanted


def test_finer_settings_than_the_boxes_show_survive_another_change(opened: Opened) -> None:
    stage, panel = opened(HALVES, top_p=0.123456)
    panel.controls.temperature.box.setValue(0.5)
    assert stage.session.settings.top_p == 0.123456


# -- greedy, presets, seed ----------------------------------------------------------------------


def test_temperature_zero_is_greedy_in_words(opened: Opened) -> None:
    _, panel = opened(HALVES)
    drag(panel.controls.temperature.slider, 0.0)
    panel.flush()
    assert "greedy" in panel.chain.summary.text()
    assert panel.draw.sentence.text() == "Greedy takes “·the”: nothing is drawn."
    assert panel.draw.bar.u is None
    assert not panel.draw.again.isEnabled()
    assert not panel.controls.top_k.box.isEnabled()
    drag(panel.controls.temperature.slider, 0.5)
    panel.flush()
    assert panel.controls.top_k.box.isEnabled()


def press(panel: SamplingPanel, title: str) -> None:
    menu = panel.presets.menu()
    next(action for action in menu.actions() if action.text() == title).trigger()


def test_presets(opened: Opened) -> None:
    stage, panel = opened(HALVES, temperature=0.7, top_k=2, seed=5)
    press(panel, "transformers order")
    assert stage.session.settings.order == TRANSFORMERS_ORDER
    assert stage.session.settings.top_k == 2
    press(panel, "llama.cpp order")
    assert stage.session.settings.order == LLAMACPP_ORDER
    press(panel, "Greedy")
    assert stage.session.settings.greedy
    press(panel, "Reset to raw")
    settings = stage.session.settings
    assert not any(settings.is_active(entry) for entry in settings.order)
    assert settings.seed == 5


def test_the_seed_can_be_typed_and_made_anew(opened: Opened, qtbot: QtBot) -> None:
    stage, panel = opened(HALVES)
    panel.seed.selectAll()
    qtbot.keyClicks(panel.seed, "12x34")
    qtbot.keyClick(panel.seed, Qt.Key.Key_Return)
    assert stage.session.settings.seed == 1234
    seeds = set()
    for _ in range(5):
        panel.new_seed.click()
        seeds.add(stage.session.settings.seed)
    assert len(seeds) > 1
    panel.flush()
    assert panel.seed.text() == str(stage.session.settings.seed)


# -- chain ------------------------------------------------------------------------------------


def effects(panel: SamplingPanel) -> dict[str, str]:
    stages = panel.chain.list
    texts = (stages.item(i).data(Qt.ItemDataRole.AccessibleTextRole) for i in range(stages.count()))
    return {text.split()[0]: text.split(", ", 1)[1] for text in texts}


def test_each_stage_says_what_it_removed(opened: Opened) -> None:
    _, panel = opened(HALVES, top_k=3, top_p=0.8)
    shown = effects(panel)
    assert shown["top-k"] == "−1 · mass 0.1250"
    # Behind top-k: 4/7, 2/7, 1/7; two of them hold 6/7 >= 0.8.
    assert shown["top-p"] == "−1 · mass 0.1429"
    assert shown["min-p"] == "off"
    assert panel.chain.summary.text() == "2 of 4 tokens can be drawn."


def test_the_order_is_changed_with_the_keyboard(opened: Opened, qtbot: QtBot) -> None:
    stage, panel = opened(HALVES, top_k=3, temperature=0.5)
    stages = panel.chain.list
    stages.setFocus()
    stages.setCurrentRow(5)
    qtbot.keyClick(stages, Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    assert stage.session.settings.order[4:] == (ChainStage.TEMPERATURE, ChainStage.MIN_P)
    panel.flush()
    assert stages.currentRow() == 4
    panel.chain.up.click()
    panel.flush()
    assert stage.session.settings.order[3] is ChainStage.TEMPERATURE
    panel.chain.down.click()
    assert stage.session.settings.order[4] is ChainStage.TEMPERATURE


def test_the_order_is_changed_by_dragging(opened: Opened) -> None:
    stage, panel = opened(HALVES)
    root = panel.chain.list.rootIndex()
    assert panel.chain.list.model().moveRow(root, 5, root, 1)
    moved = (LLAMACPP_ORDER[0], LLAMACPP_ORDER[5], *LLAMACPP_ORDER[1:5])
    assert stage.session.settings.order == moved


# -- the draw ---------------------------------------------------------------------------------


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


def test_a_past_position_shows_its_own_draw_and_why(opened: Opened) -> None:
    stage, panel = opened(HALVES, seed=7)
    step = StepRecord(
        token_id=2, origin=Origin.SAMPLED, log_probability=float(np.log(0.125)), rank=3,
        entropy=1.213, shaped_probability=0.125, draw=Draw(0.8, 0.75, 0.875), top_ids=(0, 1, 2),
        top_log_probabilities=(-0.69, -1.39, -2.08), seconds=0.01,
    )  # fmt: skip
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


def test_settings_that_changed_since_explain_no_past_draw(opened: Opened) -> None:
    stage, panel = opened(HALVES, seed=7)
    # Token 3 holds [0.875, 1) at temperature 1; at 0.5 the squares 16 : 4 : 1 : 1 give [21/22, 1).
    step = StepRecord(
        token_id=3, origin=Origin.SAMPLED, log_probability=float(np.log(0.02)), rank=4,
        entropy=1.213, shaped_probability=0.125, draw=Draw(0.9, 0.875, 1.0), top_ids=(0, 1, 2),
        top_log_probabilities=(-0.69, -1.39, -2.08), seconds=0.01,
    )  # fmt: skip
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


# -- edges ------------------------------------------------------------------------------------


def test_without_a_row_the_panel_says_what_will_be_here(opened: Opened) -> None:
    stage, panel = opened()
    assert "once there is a distribution" in panel.draw.sentence.text()
    assert not panel.draw.many.isEnabled()
    assert not panel.grab().isNull()
    drag(panel.controls.temperature.slider, 0.25)
    assert stage.session.settings.temperature == 0.5


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


def test_penalties_are_folded_away_and_work_when_unfolded(opened: Opened) -> None:
    stage, panel = opened(HALVES)
    box = panel.controls.presence.box
    assert not box.isVisible()
    panel.controls.penalties.button.click()
    assert box.isVisible()
    box.setValue(1.0)
    panel.flush()
    # Tokens 0 and 1 stand in the text: e^-1 as likely against the others.
    assert effects(panel)["penalties"] == "changes probabilities"
    shaped = stage.session.shaped
    assert shaped is not None
    weights = np.array([0.5 / np.e, 0.25 / np.e, 0.125, 0.125])
    np.testing.assert_allclose(shaped.by_id, weights / weights.sum(), rtol=1e-6)


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
