"""The origin panel with hand-made reports: the answer's marks, and the panel's states."""

from __future__ import annotations

import math
from dataclasses import replace

import origin_panel_stage
import pytest
from origin_panel_stage import report_of, show
from origin_stage import ANSWER, PROMPT, OriginStage, labelled
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QLabel, QMenu
from pytestqt.qtbot import QtBot

from logitscope.backends.origin_messages import Task
from logitscope.gui import colors, theme
from logitscope.gui.origin_style import LOOKS, ORDER, style_of
from logitscope.gui.panels.origin import OriginPanel
from logitscope.gui.panels.origin_head import PATTERNS
from logitscope.gui.widgets.shrinking_area import ShrinkingArea
from logitscope.gui.widgets.token_painter import Mark
from logitscope.origin_types import Flag, Label, OriginCase

stage = origin_panel_stage.stage
panel = origin_panel_stage.panel
full = origin_panel_stage.full


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


@pytest.mark.parametrize("width", [700, 800, 1100])
def test_the_totals_are_read_to_their_end(qtbot: QtBot, full: OriginPanel, width: int) -> None:
    full.resize(width, 520)
    summary = full.head.summary
    assert summary.shown.replace("\n", " ") == summary.text()
    needed = len(summary.shown.split("\n")) * summary.fontMetrics().height()
    qtbot.waitUntil(lambda: summary.height() >= needed)
    assert summary.text() in summary.toolTip()


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


def test_the_menu_of_the_texts_exports(qtbot: QtBot, full: OriginPanel) -> None:
    full.texts.answer.menu_requested.emit(0, QPoint(0, 0))
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    assert "Export SVG …" in {action.text() for action in menu.actions()}
    menu.close()
