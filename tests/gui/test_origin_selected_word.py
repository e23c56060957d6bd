"""The selected word in the origin panel, the matrix of all words, and what is copied of them."""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import origin_panel_stage
import pytest
from origin_panel_stage import report_of, show
from origin_stage import ANSWER, PROMPT, OriginStage
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from logitscope.attribution_units import GradientMethod
from logitscope.backends.base import Capabilities
from logitscope.backends.origin_messages import SecondOpinion, Task
from logitscope.gui import theme
from logitscope.gui.export import save_png, save_svg
from logitscope.gui.origin_style import evidence_tint, source_word_style
from logitscope.gui.panels.origin import OriginPanel
from logitscope.gui.widgets.matrix_view import MatrixView
from logitscope.gui.widgets.token_painter import Mark
from logitscope.origin_types import Label, Leaning, Swap

stage = origin_panel_stage.stage
panel = origin_panel_stage.panel
full = origin_panel_stage.full


# -- the selected word --------------------------------------------------------------------------


def test_a_click_on_a_word_selects_it_everywhere(
    qtbot: QtBot, stage: OriginStage, full: OriginPanel
) -> None:
    view = full.texts.answer
    place = view.rect_of(2).center()
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert stage.session.position == len(PROMPT) + 2
    assert full.originator.word == 2
    full.flush()
    assert "uncertain" in full.word.words.text()
    assert view.chosen == range(2, 3)
    stage.session.select(len(PROMPT) + 3)
    full.flush()
    assert "less likely" in full.word.words.text()


def test_three_columns_on_one_scale(full: OriginPanel) -> None:
    columns = full.word.bars.columns
    assert [column.title for column in columns] == ["with the sources", "dropped", "filler"]
    own = [column.bars[0].probability for column in columns]
    # Filler B loses less than A (3.5 against 4 nats) and decides.
    assert own == pytest.approx([math.exp(-1), math.exp(-4), math.exp(-4.5)])
    assert full.word.bars.scale == pytest.approx(math.exp(-1))
    widths = [full.word.bars.bar_rect(column, 0).width() for column in range(3)]
    assert widths[1] / widths[0] == pytest.approx(math.exp(-3))
    assert all(column.bars[0].is_own for column in columns)
    text = full.word.words.text()
    assert "36.8 %" in text
    assert "1.832 %" in text
    assert "Share 95 %" in text
    assert "+3.00 to +4.00" in text


def test_spans_with_need_and_hold_are_tinted_by_their_evidence(full: OriginPanel) -> None:
    rows = full.spans.rows.rows
    # The other span has 0.1 nat: noise, and none that is listed.
    assert [row[1:4] for row in rows] == [("+3.00", "+3.00", "+3.00")]
    assert rows[0][0] == "t20 t21 t22"
    assert rows[0][4] == "t21 (+3.00)"
    first, second, frame = (full.texts._prompt_style(token) for token in (1, 4, 6))
    assert first.background == evidence_tint(3.0)
    assert second.background == evidence_tint(0.1)
    assert frame.background is None
    assert full.texts._prompt_style(2) == source_word_style(Label.COPIED)
    assert first.background != second.background


@pytest.mark.parametrize(("text", "is_there"), [(" t21", True), (" t99", False)])
def test_a_derived_word_is_said_to_be_missing_only_where_it_is(
    full: OriginPanel, text: str, is_there: bool
) -> None:
    report = report_of(full)
    word = replace(report.words[0], label=Label.DERIVED, copied_from=None, text=text)
    show(full, replace(report, words=(word, *report.words[1:])))
    said = full.word.words.text()
    assert ("do not hold the word" in said) is not is_there
    assert ("not on that word where it stands there" in said) is is_there


def test_weak_evidence_is_painted_as_weak(full: OriginPanel) -> None:
    page = theme.palette().page
    assert evidence_tint(0.0) == evidence_tint(-0.1) == page
    full_tint = evidence_tint(5.0)
    assert evidence_tint(9.0) == full_tint
    report = report_of(full)
    nothing = tuple(replace(each, need=0.02, hold=-0.02) for each in report.words[0].sources or ())
    words = (replace(report.words[0], sources=nothing), *report.words[1:])
    show(full, replace(report, words=words))
    assert full.texts._prompt_style(4).background == page
    assert full.spans.rows.rows == ()
    assert "less is noise" in full.spans.found.text()


def test_the_matrix_paints_the_same_number_the_same(qtbot: QtBot) -> None:
    view = MatrixView(evidence_tint)
    qtbot.addWidget(view)
    for others in (0.0, 9.0):
        view.set_matrix(np.array([[0.04, others]]), ("w",), ("a", "b"), ("a", "b"))
        view.resize(view.sizeHint())
        corner = view.cell_rect(0, 0).topLeft().toPoint() + QPoint(2, 2)
        assert view.grab().toImage().pixelColor(corner).rgb() == evidence_tint(0.04).rgb()


def test_a_copied_word_is_joined_to_its_source(stage: OriginStage, full: OriginPanel) -> None:
    ends = full.texts.lines.ends()
    assert ends is not None
    above, below = ends
    prompt, answer = full.texts.prompt, full.texts.answer
    source = prompt.viewport().mapTo(full.texts, prompt.rect_of(2).center())
    word = answer.viewport().mapTo(full.texts, answer.rect_of(0).center())
    assert above.x() == pytest.approx(source.x(), abs=1)
    assert below.x() == pytest.approx(word.x(), abs=1)
    assert above.y() < below.y()
    stage.session.select(len(PROMPT) + 1)
    full.flush()
    assert full.texts.lines.ends() is None


def test_swaps_and_leanings_are_asked_for_by_buttons(
    qtbot: QtBot, stage: OriginStage, full: OriginPanel
) -> None:
    full.tabs.setCurrentIndex(1)
    assert full.spans.found.text() == ""
    qtbot.mouseClick(full.spans.swap, Qt.MouseButton.LeftButton)
    assert full.originator.task is Task.SWAP
    report = report_of(full)
    word = replace(
        report.words[0], swaps=(Swap((2, 3), " Germany", " Spain", " Spanish", follows=True),)
    )
    stage.reply(replace(report, words=(word, *report.words[1:])))
    stage.finish()
    qtbot.mouseClick(full.spans.leans, Qt.MouseButton.LeftButton)
    assert full.originator.task is Task.LEANS
    word = replace(word, leans=(Leaning(1, 2.5),))
    stage.reply(replace(report, words=(word, *report.words[1:])))
    stage.finish()
    full.flush()
    said = full.spans.found.text()
    assert "With “·Spain” instead of “·Germany” the model says “·Spanish”: it follows." in said
    assert "Leans on “·t50” (+2.50) nats." in said


def test_the_free_answer_with_its_first_difference(full: OriginPanel) -> None:
    assert list(full.free.given.ids) == list(ANSWER)
    assert list(full.free.free.ids) == [21, 60, 61, 62]
    assert full.free.difference == 1
    assert "token 2" in full.free.said.text()
    assert full.free._style(1).mark is Mark.DOUBLE
    assert full.free._style(0).mark is Mark.NONE


def test_the_same_free_answer_is_told(full: OriginPanel) -> None:
    full.free.show_answers((1, 2), (1, 2), None, is_whole=True)
    assert full.free.difference is None
    assert "same answer" in full.free.said.text()
    full.free.show_answers((1, 2), (1,), None, is_whole=True)
    assert full.free.difference == 1


def test_bytes_of_weights_and_of_each_block(full: OriginPanel) -> None:
    """The stub has 1 byte of weights and 1 byte of KV a token."""
    text = full.sizes.words.text()
    assert "Weights: 1 B" in text
    assert "Keys and values: 13 B" in text
    assert "(sources: 5 tokens)" in text


# -- matrix and export --------------------------------------------------------------------------


def test_the_matrix_selects_words_and_is_copied(
    qtbot: QtBot, stage: OriginStage, full: OriginPanel
) -> None:
    full.tabs.setCurrentIndex(3)
    view = full.matrix.view
    assert view.values.tolist() == [[3.0, 0.1], *[[0.1, 0.1]] * 3]
    qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=view.cell_rect(2, 0).center().toPoint())
    assert stage.session.position == len(PROMPT) + 2
    qtbot.keyClick(view, Qt.Key.Key_Down)
    assert stage.session.position == len(PROMPT) + 3
    assert view.tip_at(view.cell_rect(0, 0).center().toPoint()).startswith("·t21: 3.00")
    full.matrix.export.copy_csv()
    lines = [x for x in QGuiApplication.clipboard().text().splitlines() if not x.startswith("#")]
    rows = list(csv.reader(lines))
    assert rows[0] == ["word", "t20 t21 t22", "t30 t31"]
    assert rows[1] == [" t21", "3.0", "0.1"]


def test_words_are_copied_with_exact_numbers_and_where_they_come_from(full: OriginPanel) -> None:
    full.export.copy_csv()
    text = QGuiApplication.clipboard().text()
    assert "# sources: [[1, 4], [4, 6]]" in text
    rows = list(csv.reader(x for x in text.splitlines() if not x.startswith("#")))
    first = dict(zip(rows[0], rows[1], strict=True))
    assert first["label"] == "copied"
    assert float(first["share"]) == pytest.approx(1 - math.exp(-3), abs=1e-15)
    assert first["log_probability_drop"] == "-4.0"
    assert first["source_word"] == "t21"


def test_pictures_of_the_panel_and_the_matrix(full: OriginPanel, tmp_path: Path) -> None:
    save_png(full, tmp_path / "a.png", {})
    save_svg(full.matrix.view, tmp_path / "a.svg", {})
    assert (tmp_path / "a.png").stat().st_size > 1000
    assert "<svg" in (tmp_path / "a.svg").read_text()


def test_a_second_opinion_is_summed_over_units(
    qtbot: QtBot, stage: OriginStage, full: OriginPanel
) -> None:
    last = full.tabs.count() - 1
    assert not full.tabs.isTabVisible(last)
    model = stage.session.model
    assert model is not None
    stage.session.model = replace(model, capabilities=Capabilities(gradients=True))
    full.flush()
    assert full.tabs.isTabVisible(last)
    full.tabs.setCurrentIndex(last)
    qtbot.mouseClick(full.gradients.ask, Qt.MouseButton.LeftButton)
    assert full.originator.task is Task.GRADIENTS
    values = np.array([0.0, 1.0, -4.0, 0.5, 0.25, 0.25, 0.0, 0.0, 2.0])
    method = GradientMethod.GRADIENT_X_INPUT
    stage.engine.replied.emit(SecondOpinion(stage.number, 0, method, values))
    stage.finish()
    full.flush()
    assert full.gradients.rows.rows[:2] == (("·t21", "−4.00"), ("·t42", "+2.00"))
    full.gradients.grain.setCurrentIndex(3)
    # One paragraph, and the special token in front of it.
    assert full.gradients.rows.rows[0][1] == "0.00"
    assert "all tokens together 0.00 nats" in full.gradients.note.text()
