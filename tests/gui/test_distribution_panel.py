"""The next-token panel as a whole: tokens forced from it, and what it says when it is empty."""

from __future__ import annotations

import distribution_stage
import numpy as np
import pytest
from distribution_stage import TEXTBOOK, Opened, picture, random_row, softmax, width_of_color
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from stub_engine import Stage

from logitscope.backends.messages import Channel
from logitscope.gui import theme
from logitscope.gui.panels.distribution import DistributionPanel
from logitscope.gui.shown import KEPT_ROWS
from logitscope.gui.widgets.eliding_label import ElidingLabel

stage = distribution_stage.stage
opened = distribution_stage.opened


# -- acting -----------------------------------------------------------------------------------


def test_enter_forces_the_token_under_the_cursor(opened: Opened, qtbot: QtBot) -> None:
    stage, panel = opened(TEXTBOOK)
    view = panel.bars.view
    view.setFocus()
    for _ in range(3):
        qtbot.keyClick(view, Qt.Key.Key_Down)
    qtbot.keyClick(view, Qt.Key.Key_Up)
    assert view.current == 1
    qtbot.keyClick(view, Qt.Key.Key_Return)
    assert stage.session.document.tail_ids == (1,)
    step = stage.session.document.step_at(2)
    assert step is not None
    assert step.rank == 2
    assert np.exp(step.log_probability) == pytest.approx(softmax(TEXTBOOK)[1])


def test_a_double_click_forces_the_token(opened: Opened, qtbot: QtBot) -> None:
    stage, panel = opened(TEXTBOOK)
    view = panel.bars.view
    place = QPoint(40, int(view.head_height + 2.5 * view.row_height))
    qtbot.mouseDClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert stage.session.document.tail_ids == (2,)


def test_the_nth_likeliest_can_be_forced_by_number(opened: Opened) -> None:
    stage, panel = opened(random_row(100))
    panel.force_nth(3)
    likeliest = np.argsort(-random_row(100).astype(np.float64), kind="stable")
    assert stage.session.document.tail_ids == (likeliest[2],)
    panel.force_nth(0)
    assert len(stage.session.document.tail_ids) == 1


def test_a_prompt_token_cannot_be_forced_and_the_panel_says_so(
    opened: Opened, qtbot: QtBot
) -> None:
    stage, panel = opened(TEXTBOOK)
    stage.session.select(1)
    stage.answer_inspection(TEXTBOOK)
    with qtbot.waitSignal(stage.session.noticed) as said:
        panel.force(3)
    assert "edit the prompt" in said.args[0].sentence
    assert stage.session.document.tail_ids == ()


def test_a_past_position_marks_the_token_that_stands_there(opened: Opened, qtbot: QtBot) -> None:
    logits = random_row(1000)
    stage, panel = opened(logits)
    order = np.argsort(-logits.astype(np.float64), kind="stable")
    outsider = int(order[776])
    stage.session.force(outsider)
    stage.answer_end(random_row(1000, seed=1))
    stage.session.select(2)
    panel.flush()
    bars = panel.bars.view.bars
    assert len(bars) == 21
    assert (bars[-1].token_id, bars[-1].rank) == (outsider, 777)
    assert (bars[-1].note, bars[-1].is_extra) == ("rank 777 · forced", True)
    tail = panel.bars.view.tail
    assert tail is not None
    assert sum(bar.raw for bar in bars) + tail.raw == pytest.approx(1.0, abs=1e-12)
    view = panel.bars.view
    view.verticalScrollBar().setValue(view.verticalScrollBar().maximum())
    image = picture(panel)
    height = view.head_height + 20.5 * view.row_height - view.verticalScrollBar().value()
    tint = theme.palette().forced_tint
    assert width_of_color(image, height, tint) > 100


def test_the_prompt_s_own_token_is_marked_too(opened: Opened) -> None:
    stage, panel = opened(TEXTBOOK)
    stage.session.select(1)
    stage.answer_inspection(TEXTBOOK)
    panel.flush()
    marked = [(bar.token_id, bar.note) for bar in panel.bars.view.bars if bar.note]
    assert marked == [(1, "rank 2 · in the prompt")]


# -- empty ------------------------------------------------------------------------------------


def test_every_tab_is_helpful_without_a_model_and_without_text(qtbot: QtBot, stage: Stage) -> None:
    panel = DistributionPanel(stage.session)
    qtbot.addWidget(panel)
    panel.show()
    for tab in range(panel.tabs.count()):
        panel.tabs.setCurrentIndex(tab)
        panel.flush()
        assert not panel.grab().isNull()
    panel.tabs.setCurrentIndex(0)
    assert "Open a model" in panel.bars.view.empty_text
    stage.session.open_model("stub")
    panel.flush()
    assert "Loading" in panel.bars.view.empty_text
    stage.load(5)
    panel.flush()
    assert "Type a prompt" in panel.bars.view.empty_text


def test_a_model_that_goes_away_takes_its_numbers_with_it(opened: Opened) -> None:
    stage, panel = opened(TEXTBOOK)
    stage.session.open_model("other")
    panel.flush()
    assert panel.bars.view.bars == ()
    assert panel._figures.text() == ""


def test_the_keyboard_goes_to_what_is_in_sight(opened: Opened, qtbot: QtBot) -> None:
    _, panel = opened(TEXTBOOK)
    panel.activateWindow()
    qtbot.waitUntil(panel.isActiveWindow)
    for tab in range(panel.tabs.count()):
        panel.tabs.setCurrentIndex(tab)
        panel.setFocus()
        focus = QApplication.focusWidget()
        assert focus is not None
        assert focus.isVisible()
        assert panel.isAncestorOf(focus)


def said_after(panel: DistributionPanel) -> str:
    return panel.findChildren(ElidingLabel)[0].toolTip()


def test_a_row_of_an_older_text_grows_faint_and_says_so(opened: Opened, qtbot: QtBot) -> None:
    stage, panel = opened(TEXTBOOK)
    before = picture(panel)
    assert said_after(panel).startswith("after")
    stage.session.set_prompt("a long text that the model begins to read")
    panel.flush()
    qtbot.waitUntil(lambda: said_after(panel).startswith("still after"), timeout=5_000)
    faint = picture(panel)
    page = theme.palette().page.lightness()
    darkest = [
        min(shot.pixelColor(x, y).lightness() for x in range(shot.width()) for y in range(60))
        for shot in (before, faint)
    ]
    assert darkest[0] < darkest[1] < page
    stage.show(TEXTBOOK, prompt=(1, 0))
    panel.flush()
    assert said_after(panel).startswith("after")
    assert picture(panel) == before


def test_quick_undos_leave_no_row_of_an_older_text(opened: Opened) -> None:
    """They take tokens away while the model still reads the prompt for the first of them."""
    stage, _ = opened(TEXTBOOK)
    session = stage.session
    for _ in range(KEPT_ROWS + 1):
        session.force(2)
        session.end_undo_step()
        stage.answer_end(TEXTBOOK)
    tail = session.document.tail_ids
    session.set_prompt("another text")
    while session.undo_stack.canUndo() and session.document.tail_ids != (2,):
        session.undo()
    session.undo()
    assert session.ids == (0, 1)
    asked = len(stage.engine.requests)
    stage._answer((0, 1), tail, TEXTBOOK, Channel.LIVE)
    assert stage.engine.requests[asked:] == ["evaluate"], "its own row must be asked for"
    stage.answer_end(TEXTBOOK)
    assert session.row is not None
    assert session.row.ids == (0, 1)
    assert session.row_is_current
