"""The origin panel through its widgets: hand-made reports, and a live fake model."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from origin_stage import ANSWER, PROMPT, OriginStage, labelled
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QLabel, QMenu
from pytestqt.qtbot import QtBot

from logitscope import sources
from logitscope.attribution_units import GradientMethod
from logitscope.backends.base import Capabilities
from logitscope.backends.messages import SecondOpinion, Task
from logitscope.gui import colors, theme
from logitscope.gui.export import save_png, save_svg
from logitscope.gui.main_window import MainWindow
from logitscope.gui.origin_style import LOOKS, ORDER, evidence_tint, source_word_style, style_of
from logitscope.gui.panels.origin import OriginPanel
from logitscope.gui.panels.origin_head import PATTERNS
from logitscope.gui.panels.text import TextPanel
from logitscope.gui.widgets.matrix_view import MatrixView
from logitscope.gui.widgets.shrinking_area import ShrinkingArea
from logitscope.gui.widgets.token_painter import Mark
from logitscope.origin_types import Flag, Label, Leaning, OriginCase, OriginReport, Swap
from logitscope.sources import Place

Read = Callable[[MainWindow, str], None]


@pytest.fixture
def stage(qtbot: QtBot) -> OriginStage:
    return OriginStage()


@pytest.fixture
def panel(qtbot: QtBot, stage: OriginStage) -> OriginPanel:
    made = OriginPanel(stage.session)
    qtbot.addWidget(made)
    made.resize(1100, 520)
    made.show()
    qtbot.waitExposed(made)
    return made


@pytest.fixture
def full(qtbot: QtBot, stage: OriginStage, panel: OriginPanel) -> OriginPanel:
    """Everything is worked out."""
    stage.write()
    stage.mark()
    stage.answer()
    qtbot.waitUntil(lambda: panel.originator.is_working)
    stage.work_out(panel.originator)
    panel.flush()
    return panel


def report_of(panel: OriginPanel) -> OriginReport:
    report = panel.originator.report
    assert report is not None
    return report


def show(panel: OriginPanel, report: OriginReport) -> None:
    panel.originator._report = report
    panel.flush()


# -- the answer ---------------------------------------------------------------------------------


def test_each_label_has_a_colour_and_a_mark_of_its_own() -> None:
    looks = [LOOKS[label] for label in ORDER if label is not Label.UNKNOWN]
    assert len({look.color for look in looks}) == len(looks)
    assert len({(look.mark, look.is_hatched) for look in looks}) == len(looks)
    assert len({PATTERNS[look.mark] for look in looks}) == len(looks)


@pytest.mark.parametrize("mode", [theme.Mode.LIGHT, theme.Mode.DARK])
def test_words_can_be_read_on_their_ground(styled_app: QApplication, mode: theme.Mode) -> None:
    theme.set_mode(mode)
    report = labelled(OriginCase(PROMPT, ((1, 4),), ANSWER))
    try:
        for label in ORDER:
            for low in (-1.0, 0.5, 9.0):
                word = replace(report.words[0], label=label)
                logs = {k: v if k.value == "with" else -1.0 - low
                        for k, v in word.log_probability.items()}  # fmt: skip
                style = style_of(replace(word, log_probability=logs))
                if style.background is not None and style.text is not None:
                    assert colors.contrast(style.text, style.background) >= 4.5
    finally:
        theme.set_mode(theme.Mode.LIGHT)


def test_a_stronger_share_is_a_stronger_colour(full: OriginPanel) -> None:
    word = report_of(full).words[0]
    weak = {k: (v if k.value == "with" else -1.8) for k, v in word.log_probability.items()}
    strong = style_of(word).background
    faint = style_of(replace(word, log_probability=weak)).background
    assert strong is not None
    assert faint is not None
    page = theme.palette().page
    assert colors.contrast(strong, page) > colors.contrast(faint, page)


def test_words_carry_their_marks_and_signs(full: OriginPanel) -> None:
    styles = [full.texts._answer_style(token) for token in range(4)]
    assert [style.mark for style in styles] == [Mark.UNDERLINE, Mark.DOTTED, Mark.NONE, Mark.DOTTED]
    assert [style.hatch is not None for style in styles] == [False, False, True, False]
    assert [style.sign for style in styles] == ["", "", "?", "↓"]
    assert list(full.texts.answer.ids) == list(ANSWER)
    assert "share 95 %" in full.texts._answer_tip(0)


def test_totals_bar_and_legend(full: OriginPanel) -> None:
    said = full.head.summary.text()
    assert said.startswith("4 words: 1 copied, 1 uncertain, 2 weights")
    # Gains of 3, 0.01 and 0.2 nats; what the sources lower is no gain.
    assert f"{3.21 / math.log(2):.1f} bits" in said
    widths = [rect.width() for rect in full.head.bar.rects()]
    assert widths[2] == pytest.approx(2 * widths[0], rel=0.02)
    assert full.legend.entries == (
        Label.COPIED, Label.UNCERTAIN, Label.WEIGHTS, Flag.LOWERED, Flag.WEAK,
    )  # fmt: skip
    rect = full.legend._rects(full.legend.width())[0]
    assert "stands in a source" in full.legend.tip_at(rect.center().toPoint())


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


# -- states -------------------------------------------------------------------------------------


def test_empty_states_say_what_to_do(qtbot: QtBot, stage: OriginStage, panel: OriginPanel) -> None:
    assert panel.stack.currentIndex() == 0
    stage.write()
    qtbot.waitUntil(lambda: "Ctrl+M" in panel.empty.text())
    assert panel.against_bos.isVisible()
    stage.answer()
    qtbot.mouseClick(panel.against_bos, Qt.MouseButton.LeftButton)
    assert stage.asked == [Task.LABELS]
    stage.work_out(panel.originator)
    panel.flush()
    assert panel.stack.currentIndex() == 1
    assert panel.head.summary.text().startswith("Against no prompt at all: 4 words")


def test_no_model_and_no_answer(qtbot: QtBot, stage: OriginStage, panel: OriginPanel) -> None:
    stage.write()
    stage.mark()
    qtbot.waitUntil(lambda: "press Run" in panel.empty.text())
    assert not panel.against_bos.isVisible()
    stage.session._forget_model()
    stage.session.model_changed.emit()
    qtbot.waitUntil(lambda: "Open a model" in panel.empty.text())


def test_many_spans_are_estimated_first(qtbot: QtBot, full: OriginPanel) -> None:
    ids = tuple(range(20, 60))
    case = OriginCase(ids, tuple((i, i + 1) for i in range(1, 36)), ANSWER)
    follower = full.originator._follower
    follower.subject = replace(follower.subject, case=case)
    full.originator._agenda.clear()
    show(full, labelled(case))
    full.tabs.setCurrentIndex(1)
    assert "35 spans are more than 30" in full.spans.note.text
    qtbot.mouseClick(full.spans.note.button, Qt.MouseButton.LeftButton)
    assert full.originator.task is Task.SOURCES
    full.flush()
    assert full.spans.note.text == ""


def test_stop_and_go_on(qtbot: QtBot, stage: OriginStage, panel: OriginPanel) -> None:
    stage.write()
    stage.mark()
    stage.answer()
    qtbot.waitUntil(panel.head.stop.isVisible)
    qtbot.mouseClick(panel.head.stop, Qt.MouseButton.LeftButton)
    assert not panel.originator.is_working
    qtbot.waitUntil(lambda: panel.head.stop.text() == "Go on")
    assert "Stopped" in panel.empty.text()
    qtbot.mouseClick(panel.head.stop, Qt.MouseButton.LeftButton)
    assert panel.originator.task is Task.LABELS


def test_what_it_cannot_say_is_one_click_away(qtbot: QtBot, full: OriginPanel) -> None:
    qtbot.mouseClick(full.head.limits, Qt.MouseButton.LeftButton)
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    (label,) = menu.findChildren(QLabel)
    assert "not whether a word is true" in label.text()
    menu.close()


def test_a_small_panel_paints_without_a_warning(qtbot: QtBot, full: OriginPanel) -> None:
    full.resize(full.minimumSizeHint())
    for index in range(full.tabs.count()):
        full.tabs.setCurrentIndex(index)
        assert not full.grab().isNull()
    assert full.minimumSizeHint().height() < 200


def test_it_fits_a_low_dock_without_being_scrolled(qtbot: QtBot, full: OriginPanel) -> None:
    area = ShrinkingArea(full)
    qtbot.addWidget(area)
    area.resize(700, 280)
    area.show()
    qtbot.waitExposed(area)
    full.flush()
    qtbot.waitUntil(lambda: full.height() == 280)
    assert area.verticalScrollBar().maximum() == 0
    # The panel belongs to the test's own list of widgets again.
    area.takeWidget()
    full.setParent(None)


# -- the whole window ---------------------------------------------------------------------------


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


def test_a_run_leaves_the_old_marks_and_adds_its_tokens(
    stage: OriginStage, full: OriginPanel
) -> None:
    laid: list[object] = []
    full.overlay_changed.connect(laid.append)
    full.head.lay.setChecked(True)
    shown = full.head.summary.text()
    stage.session.run(5)
    stage.answer((53,))
    full.flush()
    assert list(full.texts.answer.ids) == [*ANSWER, 53]
    assert full.head.summary.text() == shown
    # Laid over once, not with every token.
    assert len(laid) == 1


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


def test_the_menu_of_the_texts_exports(qtbot: QtBot, full: OriginPanel) -> None:
    full.texts.answer.menu_requested.emit(0, QPoint(0, 0))
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    assert "Export SVG …" in {action.text() for action in menu.actions()}
    menu.close()
