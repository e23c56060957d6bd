"""The sampling panel's settings with its real widgets: sliders, presets, seed, chain."""

from __future__ import annotations

import numpy as np
import pytest
import sampling_stage
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSlider
from pytestqt.qtbot import QtBot
from sampling_stage import HALVES, Opened

from logitscope.gui.panels.distribution import DistributionPanel
from logitscope.gui.panels.sampling import SamplingPanel
from logitscope.sampling import LLAMACPP_ORDER, TRANSFORMERS_ORDER, SamplerSettings
from logitscope.sampling import Stage as ChainStage

opened = sampling_stage.opened


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


# -- edges ------------------------------------------------------------------------------------


def test_without_a_row_the_panel_says_what_will_be_here(opened: Opened) -> None:
    stage, panel = opened()
    assert "once there is a distribution" in panel.draw.sentence.text()
    assert not panel.draw.many.isEnabled()
    assert not panel.grab().isNull()
    drag(panel.controls.temperature.slider, 0.25)
    assert stage.session.settings.temperature == 0.5


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
