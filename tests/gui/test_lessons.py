"""Every lesson played to its end through the real widgets, on the fake model and on the demo model
in both formats; and what the panel does around that."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lesson_player import Player
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenuBar
from pytestqt.qtbot import QtBot

from logitscope.gui import learning
from logitscope.gui import stage as stages
from logitscope.gui.main_window import MainWindow
from logitscope.gui.panels.lessons import LessonsPanel
from logitscope.gui.settings import MOTION
from logitscope.gui.widgets.outline import seen_part
from logitscope.lessons import Progress

DEMO = Path(str(resources.files("logitscope.resources"))) / "demo"
MODELS = [
    pytest.param("fake:vocab=1000,seed=1", id="fake"),
    pytest.param(DEMO / "logitscope-tiny-F16.gguf", id="demo-gguf", marks=pytest.mark.llama),
    pytest.param(DEMO / "logitscope-tiny", id="demo-hf", marks=pytest.mark.torch),
]
Task = Callable[[Player], None]


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> str:
    path = request.param
    if isinstance(path, Path):
        library = "llama_cpp" if path.suffix else "transformers"
        if find_spec(library) is None:
            pytest.skip(f"{library} is not installed")
        if not path.exists():
            pytest.skip("the demo model is not there")
    return str(path)


@pytest.fixture
def player(window: MainWindow, load: Callable[..., MainWindow], model: str, qtbot: QtBot) -> Player:
    window.resize(1440, 900)
    load(window, model)
    return Player(window, qtbot)


@pytest.fixture
def fake_player(window: MainWindow, load: Callable[..., MainWindow], qtbot: QtBot) -> Player:
    window.resize(1440, 900)
    load(window)
    return Player(window, qtbot)


# -- the tasks of the four lessons ----------------------------------------------------------------


def bars_in_log(player: Player) -> None:
    player.tab("bars")
    player.scale("log")


def add_to_logits(player: Player) -> None:
    player.tab("how")
    player.distribution.how.added.slider.setValue(600)


def step_and_rewind(player: Player) -> None:
    player.step()
    player.qtbot.keyClick(player.window, Qt.Key.Key_F9)
    player.settled()


def greedy_steps(player: Player) -> None:
    player.temperature(0)
    player.step(4)


def draw_again(player: Player) -> None:
    for _ in range(5):
        player.click(player.sampling.draw.again)


def click_a_loss(player: Player) -> None:
    player.scored()
    player.select(2, player.loss.heat_view.view)


def show_passes(player: Player) -> None:
    player.scored()
    player.show("passes")


def largest_loss(player: Player) -> None:
    player.show("loss")
    losses = player.scored()
    player.select(1 + int(np.argmax(losses)), player.loss.heat_view.view)


def banana(player: Player) -> None:
    player.type_over("Paris", "banana")
    player.scored()


def long_run(player: Player) -> None:
    player.run(18)


def eight_tokens(player: Player) -> None:
    player.run(8)


def least_likely(player: Player) -> None:
    steps = player.session.document.steps
    at = min(range(len(steps)), key=lambda i: steps[i].log_probability)
    player.select(player.session.prompt_length + at, player.text.view)


def hot_run(player: Player) -> None:
    player.temperature(2)
    player.run(18)


def force_fifth(player: Player) -> None:
    player.qtbot.keyClick(player.window, Qt.Key.Key_5, Qt.KeyboardModifier.AltModifier)
    player.settled()


def show_ids(player: Player) -> None:
    player.click(player.text.strip.ids)


def mark_rule(player: Player) -> None:
    editor = player.text.editor
    cursor = editor.textCursor()
    cursor.setPosition(3)
    editor.setTextCursor(cursor)
    editor.setFocus()
    player.window.command_actions["mark_paragraph"].trigger()


def show_origin(player: Player) -> None:
    player.show("origin")


def change_rule(player: Player) -> None:
    player.type_over("45", "37")
    player.step(4)


def four(player: Player) -> None:
    player.step(4)


TASKS: dict[str, list[Task | None]] = {
    "distribution": [
        lambda player: player.tab("list"), bars_in_log, lambda player: player.scale("logit"),
        add_to_logits, step_and_rewind, greedy_steps, draw_again,
        lambda player: player.temperature(1.6),
    ],
    "loss": [
        click_a_loss, show_passes, largest_loss, None, banana, eight_tokens,
        lambda player: player.use_bigram(),
    ],
    "steps": [
        show_ids, lambda player: player.scale("logit"), lambda player: player.tab("how"),
        Player.step, Player.step, long_run, least_likely, hot_run, force_fifth,
    ],
    "origin": [
        Player.step, four, lambda player: player.temperature(2), four, mark_rule, show_origin,
        change_rule, show_passes,
    ],
}  # fmt: skip
"""What is to be done in each step but the last."""


def truth(player: Player, lesson: str) -> float:
    """The answer of the checkpoint, by its definition, from the row or the losses on show."""
    if lesson == "distribution":
        return 100 * float(player.probabilities(temperature=0.5)[0])
    if lesson == "loss":
        return math.exp(float(player.scored().mean()))
    if lesson == "steps":
        return float(np.searchsorted(np.cumsum(player.probabilities()), 0.9) + 1)
    return 100 * float(player.probabilities()[0])


@pytest.mark.timeout(600)
@pytest.mark.parametrize("index", range(4))
def test_a_lesson_is_played_to_its_end(player: Player, index: int) -> None:
    lesson = learning.lessons()[index]
    player.start(index)
    tasks = TASKS[lesson.id]
    assert len(tasks) == len(lesson.steps) - 1
    for number, task in enumerate(tasks):
        player.do_step(task, choice=number % 2)
    player.settled()
    answer = truth(player, lesson.id)
    player.panel.look()
    player.answer(answer + 3 + answer)
    assert not player.panel.next.isEnabled()
    player.answer(answer)
    player.until(player.panel.next.isEnabled)
    player.click(player.panel.next)
    assert player.panel.run is None
    stored = Progress.loads(player.window.settings.get(learning.PROGRESS))
    assert stored.is_finished(lesson)
    assert player.panel.chooser.cards[index].state.text() == "✓ Done"


# -- around the lessons ---------------------------------------------------------------------------


def test_one_can_leave_and_come_back(
    fake_player: Player, new_window: Callable[[], MainWindow], load: Callable[..., MainWindow],
    qtbot: QtBot,
) -> None:  # fmt: skip
    player = fake_player
    player.start(0)
    player.do_step(TASKS["distribution"][0])
    player.do_step(TASKS["distribution"][1])
    player.click(player.panel.leave)
    assert player.panel.run is None
    assert player.panel.chooser.cards[0].state.text() == "2 of 9 steps done"
    player.window.close()
    again = new_window()
    again.resize(1440, 900)
    load(again)
    later = Player(again, qtbot)
    later.start(0)
    run = later.panel.run
    assert run is not None and run.index == 2
    assert later.session.state.text == "The sky is"


def test_a_skipped_step_does_not_count_as_done(fake_player: Player) -> None:
    player = fake_player
    player.start(0)
    player.do_step(TASKS["distribution"][0])
    player.click(player.panel.skip)
    player.click(player.panel.leave)
    card = player.panel.chooser.cards[0]
    assert card.state.text() == "1 of 9 steps done"
    player.click(card.button)
    assert player.panel.run is not None and player.panel.run.index == 2


def test_the_outline_shows_the_control_that_is_meant(fake_player: Player) -> None:
    player = fake_player
    player.window.settings.set(MOTION, False)
    player.start(0)
    assert player.panel.outline is None or player.panel.outline.isHidden()
    player.click(player.panel.step.choices.buttons[0])
    outline = player.panel.outline
    assert outline is not None
    assert outline.target is player.distribution.tabs.tabBar()
    assert not outline.is_moving
    bar = player.distribution.tabs.tabBar()
    corner = bar.mapTo(player.window, bar.rect().topLeft())
    assert outline.geometry().contains(corner)
    assert outline.testAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
    player.tab("list")
    player.until(outline.isHidden)


def test_it_pulses_where_motion_is_wanted_and_then_stays(fake_player: Player) -> None:
    player = fake_player
    player.start(0)
    player.click(player.panel.step.choices.buttons[0])
    outline = player.panel.outline
    assert outline is not None and outline.is_moving
    player.until(lambda: not outline.is_moving)
    assert outline.isVisible()


def test_every_control_that_a_lesson_names_is_in_the_window(fake_player: Player) -> None:
    player = fake_player
    player.session.set_prompt("The sky is")
    player.settled()
    named = {s.highlight for one in learning.lessons() for s in one.steps if s.highlight}
    assert named <= set(stages.CONTROLS) | set(stages.MENUS)
    for name in sorted(named):
        stages.bring(player.window, stages.panel_of(name))
        if name == "added":
            player.tab("how")
        player.until(lambda name=name: meant(player, name))
    menus = [menu.title() for menu in menus_of(player.window)]
    assert [menus[place] for place in stages.MENUS.values()] == ["&File", "&View"]


def meant(player: Player, name: str) -> bool:
    """The control itself can be pointed at, and not only the way to it."""
    found = stages.control(player.window, name)
    if found is None:
        return False
    widget, part = found
    stages.reveal(widget)
    is_itself = name in stages.MENUS or not isinstance(widget, QMenuBar)
    return is_itself and not seen_part(widget, part).isEmpty()


def menus_of(window: MainWindow) -> list[Any]:
    bars = window.menuWidget()
    assert bars is not None
    bar = bars.findChild(QMenuBar)
    assert bar is not None
    return [action.menu() for action in bar.actions()]


def test_every_panel_and_view_of_lessons_and_examples_is_there(fake_player: Player) -> None:
    window = fake_player.window
    setups = [s.setup for one in learning.lessons() for s in one.steps if s.setup]
    setups += [example.setup for example in learning.examples()]
    for setup in setups:
        assert set(setup.panels) <= set(window.panels)
        learning.arrange(setup, window)
        if setup.panels:
            fake_player.until(lambda setup=setup: setup.panels[0] in stages.panels_in_sight(window))
        assert set(setup.views) <= stages.views(window)


def test_keys_lead_through_a_lesson(fake_player: Player) -> None:
    player = fake_player
    player.start(0)
    player.do_step(TASKS["distribution"][0])
    assert player.panel.run is not None and player.panel.run.index == 1
    alt = Qt.KeyboardModifier.AltModifier
    player.panel.back.setFocus()
    player.qtbot.keyClick(player.panel.back, Qt.Key.Key_PageUp, alt)
    player.until(lambda: player.panel.run is not None and player.panel.run.index == 0)


def test_without_a_model_nothing_begins(window: MainWindow, qtbot: QtBot) -> None:
    window.focus_panel("lessons")
    panel: Any = window.panels["lessons"]
    qtbot.waitUntil(panel.isVisible)
    assert all(not card.button.isEnabled() for card in panel.chooser.cards)
    assert "Open a model first" in panel.chooser.note.text()


def test_undo_brings_the_persons_text_back(fake_player: Player) -> None:
    player = fake_player
    player.session.set_prompt("My own text")
    player.settled()
    player.start(0)
    assert player.session.state.text == "The sky is"
    while player.session.state.text == "The sky is" and player.session.undo_stack.canUndo():
        player.session.undo()
    assert player.session.state.text == "My own text"


# -- the keyboard ---------------------------------------------------------------------------------


def test_the_keyboard_stays_in_the_lesson(fake_player: Player) -> None:
    player = fake_player
    player.window.activateWindow()
    player.start(0)
    panel = player.panel
    assert has_keyboard(panel)
    panel.step.choices.buttons[0].setFocus()
    player.qtbot.keyClick(panel.step.choices.buttons[0], Qt.Key.Key_Space)
    player.tab("list")
    player.until(panel.next.isEnabled)
    panel.next.setFocus()
    player.qtbot.keyClick(panel.next, Qt.Key.Key_Space)
    assert panel.run is not None and panel.run.index == 1
    assert has_keyboard(panel)
    panel.skip.setFocus()
    player.qtbot.keyClick(panel.skip, Qt.Key.Key_Space)
    assert panel.run.index == 2
    assert has_keyboard(panel)
    panel.leave.setFocus()
    player.qtbot.keyClick(panel.leave, Qt.Key.Key_Space)
    assert has_keyboard(panel)


def has_keyboard(panel: LessonsPanel) -> bool:
    held = panel.window().focusWidget()
    return held is not None and panel.isAncestorOf(held) and held.isVisible() and held.isEnabled()
