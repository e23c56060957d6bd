"""Labels that are cut where they do not fit, and what folds away."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QGridLayout, QLabel, QWidget
from pytestqt.qtbot import QtBot

from logitscope.gui.widgets.eliding_label import ElidingLabel
from logitscope.gui.widgets.flow_row import FlowRow
from logitscope.gui.widgets.fold import Fold
from logitscope.gui.widgets.parts_label import PartsLabel
from logitscope.gui.widgets.slider_field import SliderField
from logitscope.gui.widgets.two_line_label import TwoLineLabel

HANDLE = 16
"""Pixels of a slider's handle, which keeps within the groove."""
TEXT = "mean 2.761 nats · perplexity 15.81 · 1,024 tokens"


def label_of(qtbot: QtBot, width: int) -> ElidingLabel:
    label = ElidingLabel()
    qtbot.addWidget(label)
    label.setText(TEXT)
    label.resize(width, 24)
    label.show()
    qtbot.waitExposed(label)
    return label


def test_a_text_that_fits_is_shown_whole(qtbot: QtBot) -> None:
    label = label_of(qtbot, 900)
    assert label.shown == label.text() == TEXT


def two_lines(qtbot: QtBot, text: str, width: int) -> TwoLineLabel:
    label = TwoLineLabel()
    qtbot.addWidget(label)
    label.setText(text)
    label.resize(width, 48)
    label.show()
    qtbot.waitExposed(label)
    return label


@pytest.mark.parametrize("share", [0.6, 0.75, 0.95])
def test_a_text_without_room_goes_on_in_a_second_line(qtbot: QtBot, share: float) -> None:
    label = two_lines(qtbot, TEXT, 900)
    whole = label.fontMetrics().horizontalAdvance(TEXT)
    low = label.sizeHint().height()
    assert label.shown == TEXT
    label.resize(round(share * whole), 48)
    first, second = label.shown.split("\n")
    assert f"{first} {second}" == label.text() == TEXT
    for line in (first, second):
        assert label.fontMetrics().horizontalAdvance(line) <= label.width()
    assert label.sizeHint().height() >= low + label.fontMetrics().height()
    label.resize(whole + 20, 48)
    assert label.shown == TEXT
    assert label.sizeHint().height() == low


@pytest.mark.parametrize("text", [TEXT, TEXT.replace(" ", "")])
def test_what_two_lines_cannot_hold_ends_in_an_ellipsis(qtbot: QtBot, text: str) -> None:
    label = two_lines(qtbot, text, 100)
    assert label.text() == text
    lines = label.shown.split("\n")
    assert len(lines) <= 2
    assert lines[-1].endswith("…")
    for line in lines:
        assert label.fontMetrics().horizontalAdvance(line) <= label.width()


def test_a_text_that_does_not_fit_is_cut_on_the_side_asked_for(qtbot: QtBot) -> None:
    label = label_of(qtbot, 120)
    assert label.text() == TEXT
    assert label.shown.endswith("…")
    assert TEXT.startswith(label.shown[:-1])
    assert label.fontMetrics().horizontalAdvance(label.shown) <= label.width()
    label.setElideMode(Qt.TextElideMode.ElideLeft)
    assert label.shown.startswith("…")
    assert TEXT.endswith(label.shown[1:])


def test_more_room_and_smaller_letters_show_more(qtbot: QtBot) -> None:
    label = label_of(qtbot, 160)
    before = len(label.shown)
    font = label.font()
    font.setPointSizeF(font.pointSizeF() / 2)
    label.setFont(font)
    assert len(label.shown) > before
    label.resize(900, 24)
    assert label.shown == TEXT


def test_markup_in_a_text_is_text(qtbot: QtBot) -> None:
    label = label_of(qtbot, 900)
    label.setText("<b>bold</b>")
    assert label.shown == "<b>bold</b>"
    assert label.textFormat() is Qt.TextFormat.PlainText


def test_a_fold_is_opened_and_closed_by_its_title(qtbot: QtBot) -> None:
    content = QLabel("what is folded away")
    fold = Fold("More", content)
    qtbot.addWidget(fold)
    fold.show()
    qtbot.waitExposed(fold)
    closed = fold.sizeHint().height()
    assert not content.isVisible()
    qtbot.mouseClick(fold.button, Qt.MouseButton.LeftButton)
    assert content.isVisible()
    assert fold.sizeHint().height() > closed
    qtbot.keyClick(fold.button, Qt.Key.Key_Space)
    assert not content.isVisible()


@pytest.mark.parametrize("share", [0.1, 0.5, 0.83])
def test_a_press_on_the_groove_puts_the_handle_there(
    qtbot: QtBot, styled_app: QApplication, share: float
) -> None:
    del styled_app
    field = SliderField("Temperature", 0.0, 2.0, 100.0)
    holder = QWidget()
    field.add_to(QGridLayout(holder), 0)
    qtbot.addWidget(holder)
    holder.resize(640, 60)
    holder.show()
    qtbot.waitExposed(holder)
    slider = field.slider
    place = QPoint(round(share * slider.width()), slider.height() // 2)
    qtbot.mouseClick(slider, Qt.MouseButton.LeftButton, pos=place)
    handle = HANDLE / slider.width()
    assert field.value == pytest.approx(2.0 * share, abs=2.0 * handle)


def test_figures_that_do_not_fit_are_left_out_whole(qtbot: QtBot) -> None:
    label = PartsLabel()
    qtbot.addWidget(label)
    parts = TEXT.split(" · ")
    label.set_parts(parts)
    label.resize(900, 24)
    label.show()
    qtbot.waitExposed(label)
    assert label.shown == label.text() == TEXT
    for kept in (2, 1):
        wanted = " · ".join((*parts[:kept], "…"))
        label.resize(label.fontMetrics().horizontalAdvance(wanted) + 2, 24)
        assert label.shown == wanted
        assert label.text() == TEXT


@pytest.mark.parametrize(
    ("width", "lines"),
    [(220, ["abcd"]), (219, ["ab", "cd"]), (108, ["ab", "cd"]), (107, ["a", "b", "c", "d"])],
)
def test_what_belongs_together_goes_into_the_next_line_together(
    qtbot: QtBot, width: int, lines: list[str]
) -> None:
    row = FlowRow()
    qtbot.addWidget(row)
    widgets = {name: QWidget(row) for name in "abcd"}
    for name, widget in widgets.items():
        widget.setFixedSize(52, 20)
        row.add(widget, with_last=name == "d")
    row.resize(width, 20)
    row.show()
    qtbot.waitExposed(row)
    tops = sorted({widget.y() for widget in widgets.values()})
    found = ["".join(n for n, widget in widgets.items() if widget.y() == top) for top in tops]
    assert found == lines
    assert row.height() == 24 * len(lines) - 4
