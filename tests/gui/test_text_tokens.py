"""The tokens in the text panel: selecting them, and what their menu does."""

from __future__ import annotations

import re
from typing import cast

import pytest
import text_stage
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QInputDialog, QMenu
from pytestqt.qtbot import QtBot
from text_stage import WAIT_MS, entries, reference_ids, run, settle

from logitscope.gui import theme
from logitscope.gui.notices import Notice
from logitscope.gui.panels.text import TextPanel
from logitscope.gui.session import Session
from logitscope.gui.widgets.token_painter import CellStyle, Mark
from logitscope.steps import Origin

session = text_stage.session
panel = text_stage.panel
loaded = text_stage.loaded
sky = text_stage.sky


# -- selection -----------------------------------------------------------------------------------


def test_a_click_looks_at_a_position_and_the_session_moves_the_view(
    qtbot: QtBot, session: Session, sky: TextPanel
) -> None:
    run(qtbot, sky, session, 6)
    token = session.prompt_length + 2
    where = sky.view.rect_of(token).center()
    qtbot.mouseClick(sky.view.viewport(), Qt.MouseButton.LeftButton, pos=where)
    assert session.position == token
    settle(qtbot, session)
    session.select(token + 1)
    assert sky.view.selected_position == token + 1
    session.select(None)
    assert sky.view.selected_position is None


def test_a_range_chosen_for_copying_survives_the_row_of_its_first_token(
    qtbot: QtBot, session: Session, sky: TextPanel
) -> None:
    run(qtbot, sky, session, 4)
    viewport, first, last = sky.view.viewport(), sky.view.rect_of(1), sky.view.rect_of(3)
    qtbot.mousePress(viewport, Qt.MouseButton.LeftButton, pos=first.center())
    qtbot.mouseMove(viewport, last.center())
    qtbot.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=last.center())
    settle(qtbot, session)
    assert sky.view.chosen == range(1, 4)
    qtbot.keyClick(sky.view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    copied = QApplication.clipboard().text()
    assert copied
    assert "The sky is".startswith(copied)
    assert reference_ids(copied) == list(session.ids[:4])
    session.rewind_to(len(session.ids) - 1)
    assert sky.view.chosen == range(1, 4)
    session.set_prompt("Other")
    settle(qtbot, session)
    assert not sky.view.chosen


def test_the_first_token_has_no_distribution_so_the_next_is_selected(
    qtbot: QtBot, session: Session, sky: TextPanel
) -> None:
    where = sky.view.rect_of(0).center()
    qtbot.mouseClick(sky.view.viewport(), Qt.MouseButton.LeftButton, pos=where)
    assert session.position == 1
    assert sky.view.selected_position == 1


def test_a_double_click_rewinds_to_a_generated_token_only(
    qtbot: QtBot, session: Session, sky: TextPanel
) -> None:
    run(qtbot, sky, session, 6)
    ids = session.ids
    for token, kept in ((2, len(ids)), (session.prompt_length + 3, session.prompt_length + 3)):
        where = sky.view.rect_of(token).center()
        qtbot.mouseDClick(sky.view.viewport(), Qt.MouseButton.LeftButton, pos=where)
        assert session.ids == ids[:kept] == tuple(sky.view.ids)


def test_backspace_in_the_tokens_takes_the_last_one_back(
    qtbot: QtBot, session: Session, sky: TextPanel
) -> None:
    run(qtbot, sky, session, 3)
    ids = session.ids
    qtbot.keyClick(sky.view, Qt.Key.Key_Backspace)
    assert session.ids == ids[:-1]
    for _ in range(5):
        qtbot.keyClick(sky.view, Qt.Key.Key_Backspace)
    assert session.ids == ids[:-3]


def test_another_panel_may_mark_the_tokens(sky: TextPanel) -> None:
    style = CellStyle(theme.palette().copied, mark=Mark.DOTTED)
    sky.set_overlay(lambda token: style if token == 1 else None)
    assert sky._style_of(1) is style
    assert sky._style_of(0).is_chip
    sky.set_overlay(None)
    assert sky._style_of(1) == CellStyle()


# -- menu ----------------------------------------------------------------------------------------


def test_the_menu_branches_with_another_of_the_likeliest(
    qtbot: QtBot, session: Session, sky: TextPanel
) -> None:
    run(qtbot, sky, session, 4)
    position = session.prompt_length + 1
    step = session.document.step_at(position)
    assert step is not None
    other = next(i for i in step.top_ids if i != step.token_id)
    menu = sky.token_menu.menu(position, sky)
    branch = cast(QMenu, entries(menu)["Branch here with"].menu())
    assert len(branch.actions()) == len(step.top_ids)
    assert [a.isEnabled() for a in branch.actions()] == [i != step.token_id for i in step.top_ids]
    before = session.ids
    branch.actions()[step.top_ids.index(other)].trigger()
    qtbot.waitUntil(lambda: session.ids == (*before[:position], other), timeout=WAIT_MS)
    forced = session.document.step_at(position)
    assert forced is not None
    assert forced.origin is Origin.FORCED
    assert forced.log_probability == pytest.approx(
        step.top_log_probabilities[step.top_ids.index(other)], abs=1e-6
    )
    assert sky._style_of(position).mark is Mark.UNDERLINE
    session.undo()
    assert session.ids == before


def test_a_prompt_token_can_only_be_copied(session: Session, sky: TextPanel) -> None:
    enabled = {title for title, a in entries(sky.token_menu.menu(1, sky)).items() if a.isEnabled()}
    assert enabled == {"Insert text at the end…", "Copy text", "Copy ids", "Copy bytes"}


@pytest.mark.parametrize("written", [" blue", "#{id}", "20 62 6C 75 65"])
def test_a_token_is_forced_by_text_id_or_bytes(
    qtbot: QtBot, session: Session, sky: TextPanel, written: str
) -> None:
    vocabulary = session.vocabulary
    assert vocabulary is not None
    blue = vocabulary.ids_of_bytes(b" blue")[0]
    end = len(session.ids)
    entries(sky.token_menu.menu(end, sky))["Force a token…"].trigger()
    answer(qtbot, sky, written.format(id=blue))
    qtbot.waitUntil(lambda: len(session.ids) == end + 1, timeout=WAIT_MS)
    assert session.ids[-1] == blue


def test_a_text_that_is_no_token_is_told(qtbot: QtBot, session: Session, sky: TextPanel) -> None:
    entries(sky.token_menu.menu(len(session.ids), sky))["Force a token…"].trigger()
    before = session.ids
    with qtbot.waitSignal(session.noticed) as told:
        answer(qtbot, sky, "no such token")
    assert told.args is not None
    notice = told.args[0]
    assert isinstance(notice, Notice)
    assert "no such token" in notice.sentence
    assert session.ids == before


def test_text_is_inserted_as_tokens(qtbot: QtBot, session: Session, sky: TextPanel) -> None:
    entries(sky.token_menu.menu(len(session.ids), sky))["Insert text at the end…"].trigger()
    answer(qtbot, sky, " blue 🙂")
    qtbot.waitUntil(lambda: bool(session.document.path), timeout=WAIT_MS)
    assert list(session.document.tail_ids) == reference_ids(" blue 🙂", add_special=False)
    assert {step.origin for step in session.document.steps} == {Origin.INSERTED}
    assert sky._style_of(len(session.ids) - 1).mark is Mark.DASHED


def answer(qtbot: QtBot, panel: TextPanel, text: str) -> None:
    dialog = panel.window().findChild(QInputDialog)
    assert dialog is not None
    dialog.setTextValue(text)
    dialog.accept()
    qtbot.waitUntil(lambda: panel.window().findChild(QInputDialog) is None)


def test_the_tooltip_of_a_generated_token_has_its_numbers(
    qtbot: QtBot, session: Session, sky: TextPanel
) -> None:
    run(qtbot, sky, session, 2)
    step = session.document.steps[0]
    text = sky._tooltip_of(session.prompt_length)
    assert f"id {step.token_id}" in text
    assert f"rank {step.rank}" in text
    assert text.count("<tr>") == len(step.top_ids) == 10
    assert "rank" not in sky._tooltip_of(1)


def test_the_tooltip_of_a_token_of_the_prompt_has_its_bytes(
    qtbot: QtBot, session: Session, sky: TextPanel
) -> None:
    sky.editor.setPlainText("é\n")
    settle(qtbot, session)
    said = " ".join(sky._tooltip_of(token) for token in range(session.prompt_length))
    # UTF-8: U+00E9 has two bytes, the line feed one.
    figures = " ".join(re.findall(r"bytes ([0-9A-F ]+)", said)).split()
    assert figures == ["C3", "A9", "0A"]
