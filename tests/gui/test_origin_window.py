"""The origin panel in the whole window, on a live fake model."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from origin_panel_stage import report_of
from pytestqt.qtbot import QtBot

from logitscope import sources
from logitscope.gui.main_window import MainWindow
from logitscope.gui.origin_style import style_of
from logitscope.gui.panels.origin import OriginPanel
from logitscope.gui.panels.text import TextPanel
from logitscope.sources import Place

Read = Callable[[MainWindow, str], None]


@pytest.fixture
def worked(qtbot: QtBot, loaded: MainWindow, read: Read) -> MainWindow:
    """A live fake model with a marked sentence and an answer of five tokens, worked out."""
    read(loaded, "One rule. Another rule.\n\nAsk")
    session = loaded.session
    session.set_sources(sources.mark(session.state.blocks, Place(0, 0, 23)))
    session.run(5)
    panel = loaded.panels["origin"]
    assert isinstance(panel, OriginPanel)
    originator = panel.originator
    qtbot.waitUntil(
        lambda: not session.is_running and originator.free_is_whole and not originator.is_working,
        timeout=60_000,
    )
    panel.flush()
    return loaded


def test_labels_sources_and_the_free_answer_of_a_live_model(worked: MainWindow) -> None:
    panel = worked.panels["origin"]
    assert isinstance(panel, OriginPanel)
    report = report_of(panel)
    assert report.case.answer_ids == worked.session.document.tail_ids
    assert len(report.case.sources) == 2
    number = panel.originator.word
    assert number is not None
    assert report.words[number].sources is not None
    assert len(panel.originator.free_answer) >= 1
    assert panel.stack.currentIndex() == 1


def test_the_marks_lie_over_the_text_as_long_as_wanted(worked: MainWindow) -> None:
    panel, text = worked.panels["origin"], worked.panels["text"]
    assert isinstance(panel, OriginPanel)
    assert isinstance(text, TextPanel)
    start = worked.session.prompt_length
    before = text._style_of(start)
    panel.head.lay.click()
    report = report_of(panel)
    assert text._style_of(start) == style_of(
        report.words[0], is_last=report.words[0].tokens[1] == 1
    )
    panel.head.lay.click()
    assert text._style_of(start) == before


def test_the_model_is_unloaded_while_it_works(qtbot: QtBot, worked: MainWindow) -> None:
    panel, session = worked.panels["origin"], worked.session
    assert isinstance(panel, OriginPanel)
    panel.originator.wish_all_sources()
    session.open_model("fake:vocab=500,seed=4")
    assert not panel.originator.is_working
    assert panel.originator.report is None
    qtbot.waitUntil(lambda: session.is_ready and session.row_is_current, timeout=60_000)


def test_origin_stands_beside_loss_and_is_open_at_first(window: MainWindow) -> None:
    loss, origin = window.docks["loss"], window.docks["origin"]
    assert origin.isVisible()
    assert origin.geometry().left() > loss.geometry().left()
    bottom = {dock.geometry().bottom() for dock in (loss, origin)}
    assert len(bottom) == 1
    window.command_actions["toggle_origin"].trigger()
    assert not origin.isVisible()
