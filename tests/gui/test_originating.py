"""What is asked of the model for the origin panel, and what becomes of its answers."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from origin_stage import ANSWER, PROMPT, SPANS, OriginStage, labelled, sourced, step_of, text_of
from pytestqt.qtbot import QtBot

from logitscope.backends.messages import Died, Ending, Failed, Finished, RowRef, Stepped
from logitscope.backends.origin_messages import Attributed, Calibrated, Task
from logitscope.gui.origin_case import MANY_SPANS, Obstacle
from logitscope.gui.originating import Originator
from logitscope.origin_types import Label, OriginCase


@pytest.fixture
def stage(qtbot: QtBot) -> OriginStage:
    return OriginStage()


@pytest.fixture
def originator(stage: OriginStage) -> Originator:
    made = Originator(stage.session)
    made.set_active(True)
    return made


@pytest.fixture
def ready(qtbot: QtBot, stage: OriginStage, originator: Originator) -> Originator:
    """A marked prompt with an answer; the labels are asked for."""
    stage.write()
    stage.mark()
    stage.answer()
    qtbot.waitUntil(lambda: originator.is_working)
    return originator


# -- order --------------------------------------------------------------------------------------


def test_labels_then_the_sources_of_the_word_then_the_free_answer(
    stage: OriginStage, ready: Originator
) -> None:
    assert stage.case == OriginCase(PROMPT, SPANS, ANSWER)
    assert stage.asked == [Task.LABELS]
    stage.reply(labelled(stage.case))
    stage.finish()
    assert stage.asked == [Task.LABELS, Task.SOURCES]
    # The word that gains most by the sources.
    assert stage.engine.attributions[-1][3] == (0,)
    stage.reply(sourced(labelled(stage.case)))
    stage.finish()
    assert stage.asked[-1] is Task.FREE
    stage.free((21,))
    assert ready.free_answer == (21,)
    assert not ready.free_is_whole
    stage.free((21, 9))
    stage.finish()
    assert ready.free_is_whole
    assert not ready.is_working
    assert stage.asked == [Task.LABELS, Task.SOURCES, Task.FREE]


def test_nothing_is_asked_while_nobody_looks(
    qtbot: QtBot, stage: OriginStage, originator: Originator
) -> None:
    originator.set_active(False)
    stage.write()
    stage.mark()
    stage.answer()
    originator._follower.flush()
    assert stage.asked == []
    originator.set_active(True)
    assert stage.asked == [Task.LABELS]
    originator.set_active(False)
    assert stage.engine.requests[-1] == "cancel"
    assert not originator.is_working


def test_another_word_replaces_what_is_worked_out(stage: OriginStage, ready: Originator) -> None:
    stage.reply(labelled(stage.case))
    stage.finish()
    assert ready.task is Task.SOURCES
    old = stage.number
    ready.select(2)
    assert stage.session.position == len(PROMPT) + 2
    assert stage.engine.attributions[-1][0] is Task.SOURCES
    assert stage.engine.attributions[-1][3] == (2,)
    # The replaced request ends, which stops nothing.
    stage.engine.replied.emit(Finished(old, Ending.CANCELLED))
    assert ready.is_working
    assert not ready.is_stopped


def test_a_swap_waits_for_the_sources_of_its_word(stage: OriginStage, ready: Originator) -> None:
    stage.reply(labelled(stage.case))
    stage.finish()
    ready.wish(Task.SWAP, 1)
    assert stage.engine.attributions[-1][0] is Task.SOURCES
    assert stage.engine.attributions[-1][3] == (1,)
    stage.reply(sourced(labelled(stage.case)))
    stage.finish()
    assert stage.engine.attributions[-1][0] is Task.SWAP
    stage.reply(sourced(labelled(stage.case)))
    stage.finish()
    assert ready.has_worked_out(Task.SWAP, 1)
    assert ready.task is Task.SOURCES


def test_all_words_are_worked_out_in_one_request(stage: OriginStage, ready: Originator) -> None:
    stage.work_out(ready)
    ready.wish_all_sources()
    assert stage.engine.attributions[-1][3] == (0, 1, 2, 3)
    stage.reply(sourced(labelled(stage.case)))
    stage.finish()
    assert all(ready.has_worked_out(Task.SOURCES, word) for word in range(4))
    assert not ready.is_working


# -- changes ------------------------------------------------------------------------------------


def test_other_sources_drop_what_is_known_and_what_is_on_its_way(
    qtbot: QtBot, stage: OriginStage, ready: Originator
) -> None:
    stage.reply(labelled(stage.case))
    stage.finish()
    old = stage.number
    stage.mark(((1, 4),))
    qtbot.waitUntil(lambda: stage.case.sources == ((1, 4),))
    assert ready.report is None
    assert "cancel" in stage.engine.requests
    assert ready.task is Task.LABELS
    stage.engine.replied.emit(Attributed(old, labelled(stage.case)))
    assert ready.report is None


def test_a_longer_answer_keeps_the_old_marks_until_it_is_worked_out(
    qtbot: QtBot, stage: OriginStage, ready: Originator
) -> None:
    stage.work_out(ready)
    before = ready.report
    stage.answer((53,))
    qtbot.waitUntil(lambda: ready.task is Task.LABELS)
    assert ready.report is before
    assert ready.free_answer == ()
    stage.reply(labelled(stage.case))
    assert ready.report is not None
    assert ready.report.case.answer_ids == (*ANSWER, 53)


def test_a_run_is_not_disturbed(qtbot: QtBot, stage: OriginStage, ready: Originator) -> None:
    stage.session.run(2)
    number = len(stage.engine.requests)
    while stage.engine.requests[number - 1] != "generate":
        number -= 1
    asked = len(stage.asked)
    stage.engine.stepped.emit(Stepped(number, len(PROMPT) + 4, step_of(60), RowRef(0, 0)))
    qtbot.waitUntil(lambda: not ready.is_working)
    assert len(stage.asked) == asked
    stage.engine.replied.emit(Finished(number, Ending.LENGTH))
    qtbot.waitUntil(lambda: ready.is_working)
    assert stage.case.answer_ids == (*ANSWER, 60)


def test_what_is_known_stays_when_it_is_stopped(stage: OriginStage, ready: Originator) -> None:
    stage.reply(labelled(stage.case))
    stage.finish()
    ready.stop()
    assert ready.report is not None
    assert ready.is_stopped
    assert not ready.is_working
    ready.resume()
    assert ready.task is Task.SOURCES


@pytest.mark.parametrize("by", ["escape", "failure"])
def test_what_was_ended_from_outside_is_not_asked_again(
    stage: OriginStage, ready: Originator, by: str
) -> None:
    asked = len(stage.asked)
    if by == "escape":
        stage.finish(Ending.CANCELLED)
    else:
        stage.engine.replied.emit(Failed(stage.number, "No."))
    assert ready.is_stopped
    assert len(stage.asked) == asked


def test_a_model_that_dies_leaves_nothing_open(stage: OriginStage, ready: Originator) -> None:
    stage.reply(labelled(stage.case))
    stage.engine.replied.emit(Died(stage.number, "Gone.", ""))
    assert ready.report is None
    assert not ready.is_working
    assert ready.obstacle is Obstacle.NO_MODEL


# -- obstacles ----------------------------------------------------------------------------------


def test_what_is_missing_is_told_in_turn(
    qtbot: QtBot, stage: OriginStage, originator: Originator
) -> None:
    stage.write()
    qtbot.waitUntil(lambda: originator.obstacle is Obstacle.NO_SOURCE)
    stage.mark()
    qtbot.waitUntil(lambda: originator.obstacle is Obstacle.NO_ANSWER)
    stage.answer()
    qtbot.waitUntil(lambda: originator.obstacle is None)
    assert stage.asked == [Task.LABELS]


def test_the_whole_prompt_against_bos(
    qtbot: QtBot, stage: OriginStage, originator: Originator
) -> None:
    stage.write()
    stage.answer()
    qtbot.waitUntil(lambda: originator.obstacle is Obstacle.NO_SOURCE)
    originator.compare_with_bos()
    assert originator.is_against_bos
    assert stage.case == OriginCase(PROMPT, ((1, len(PROMPT)),), ANSWER)
    stage.mark()
    qtbot.waitUntil(lambda: not originator.is_against_bos)
    assert stage.case.sources == SPANS


def test_many_spans_are_searched_only_when_allowed(
    qtbot: QtBot, stage: OriginStage, originator: Originator
) -> None:
    ids = (PROMPT[0], *range(20, 24 + MANY_SPANS))
    stage.write(ids)
    text = stage.session.state.text
    ends = [len(text_of(ids[: i + 1])) for i in range(len(ids))]
    spans = tuple(pairwise(ends[: MANY_SPANS + 2]))
    (block,) = stage.session.state.blocks
    assert block.text == text
    stage.session.set_sources((replace(block, sources=spans),))
    stage.answer()
    qtbot.waitUntil(lambda: originator.is_working)
    stage.reply(labelled(stage.case))
    stage.finish()
    assert originator.needs_permission
    assert stage.asked == [Task.LABELS, Task.FREE]
    originator.allow()
    stage.free((1,))
    stage.finish()
    assert stage.asked[-1] is Task.SOURCES


def test_a_threshold_is_measured_once_and_used(stage: OriginStage, ready: Originator) -> None:
    stage.work_out(ready)
    ready.calibrate()
    assert stage.asked[-1] is Task.THRESHOLD
    stage.engine.replied.emit(Calibrated(stage.number, 1.25))
    stage.finish()
    assert ready.is_calibrated
    assert stage.asked[-1] is Task.LABELS
    assert ready._thresholds["0123abcd"] == 1.25


def test_the_selected_position_decides_the_word(stage: OriginStage, ready: Originator) -> None:
    stage.reply(labelled(stage.case))
    assert ready.word == 0
    stage.session.select(len(PROMPT) + 3)
    assert ready.word == 3
    stage.session.select(2)
    assert ready.word == 0
    assert ready.report is not None
    assert ready.report.words[3].label is Label.WEIGHTS
