"""The next-token panel against torch's softmax, through real widgets."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QGuiApplication, QImage
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu
from pytestqt.qtbot import QtBot
from stub_engine import BOS, Stage

from logitscope.gui import theme
from logitscope.gui.export_menu import ExportMenu
from logitscope.gui.panels.distribution import DistributionPanel
from logitscope.gui.panels.ranked_model import Column
from logitscope.gui.widgets import numbers
from logitscope.gui.widgets.bars_data import Scale
from logitscope.gui.widgets.bars_paint import SQUARE
from logitscope.gui.widgets.bars_view import NUMBER_SIZE, TAIL
from logitscope.sampling import SamplerSettings

torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")

TEXTBOOK = np.array([5.0, 2.0, 1.0, -2.0], dtype=np.float32)
Opened = Callable[..., tuple[Stage, DistributionPanel]]


def softmax(logits: np.ndarray, temperature: float = 1.0) -> np.ndarray:
    """torch's own, in float64."""
    row = torch.from_numpy(np.asarray(logits, dtype=np.float64)) / temperature
    return np.asarray(torch.softmax(row, dim=-1))


def random_row(size: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.0, 3.0, size).astype(np.float32)


@pytest.fixture
def stage(styled_app: QApplication) -> Stage:
    theme.set_mode(theme.Mode.LIGHT)
    return Stage()


@pytest.fixture
def opened(qtbot: QtBot, stage: Stage) -> Opened:
    """Opens the panel on a row of logits."""

    def open_on(logits: np.ndarray, **settings: object) -> tuple[Stage, DistributionPanel]:
        panel = DistributionPanel(stage.session)
        qtbot.addWidget(panel)
        panel.resize(560, 700)
        panel.show()
        stage.load(len(logits))
        stage.session.set_settings(replace(SamplerSettings(), **settings))
        stage.show(logits)
        panel.flush()
        return stage, panel

    return open_on


def picture(panel: DistributionPanel) -> QImage:
    return panel.bars.view.viewport().grab().toImage()


def near(one: QColor, other: QColor) -> bool:
    pairs = zip(one.getRgb()[:3], other.getRgb()[:3], strict=True)
    return all(abs(a - b) <= 2 for a, b in pairs)


def width_of_color(image: QImage, y: float, color: QColor) -> int:
    return sum(near(image.pixelColor(x, int(y)), color) for x in range(image.width()))


# -- bars -------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [5, 1000, 262_144])
def test_bars_and_the_rest_are_the_softmax_of_the_whole_vocabulary(
    opened: Opened, size: int
) -> None:
    logits = random_row(size)
    _, panel = opened(logits)
    expected = softmax(logits)
    bars = panel.bars.view.bars
    order = np.argsort(-expected, kind="stable")
    assert [bar.token_id for bar in bars] == order[:20].tolist()
    np.testing.assert_allclose([bar.raw for bar in bars], expected[order[:20]], rtol=1e-12)
    assert [bar.rank for bar in bars] == list(range(1, len(bars) + 1))
    tail = panel.bars.view.tail
    if size <= 20:
        assert tail is None
    else:
        assert tail is not None
        assert tail.count == size - 20
        assert tail.raw == pytest.approx(expected[order[20:]].sum(), rel=1e-9)
        assert sum(bar.raw for bar in bars) + tail.raw == pytest.approx(1.0, abs=1e-12)


def test_the_textbook_example(opened: Opened) -> None:
    _, panel = opened(TEXTBOOK)
    shown = [round(100 * bar.raw, 1) for bar in panel.bars.view.bars]
    assert shown == [93.5, 4.7, 1.7, 0.1]


def test_shaped_bars_are_renormalized_and_removed_ones_stay_in_sight(opened: Opened) -> None:
    logits = random_row(1000)
    _, panel = opened(logits, temperature=0.7, top_k=4)
    bars, tail = panel.bars.view.bars, panel.bars.view.tail
    order = np.argsort(-logits.astype(np.float64), kind="stable")
    kept = softmax(logits[order[:4]], 0.7)
    np.testing.assert_allclose([bar.shaped for bar in bars[:4]], kept, rtol=1e-12)
    assert [bar.removed_by for bar in bars] == [""] * 4 + ["top-k"] * 16
    assert all(bar.shaped == 0 for bar in bars[4:])
    assert tail is not None
    assert tail.shaped == 0
    assert tail.note == "all removed"
    assert sum(bar.shaped for bar in bars) == pytest.approx(1.0, abs=1e-12)


def test_a_bar_is_as_long_as_its_probability(opened: Opened) -> None:
    logits = np.log(np.array([0.5, 0.25, 0.125, 0.125], dtype=np.float32))
    _, panel = opened(logits, temperature=0.5)
    view = panel.bars.view
    image = picture(panel)
    at = view.columns
    palette = theme.palette()
    for row, bar in enumerate(view.bars):
        top = view.head_height + row * view.row_height
        raw = width_of_color(image, top + 0.25 * view.row_height, palette.bar_raw)
        shaped = width_of_color(image, top + 0.75 * view.row_height, palette.bar_shaped)
        assert raw == pytest.approx(bar.raw * at.bar_width, abs=3.0)
        assert shaped == pytest.approx(bar.shaped * at.bar_width, abs=3.0)


@pytest.mark.parametrize("zoom", [0, 4, 8])
def test_the_legend_ends_before_the_axis(opened: Opened, zoom: int) -> None:
    _, panel = opened(np.zeros(50, dtype=np.float32))
    panel.resize(320, 600)
    theme.set_zoom(zoom)
    view = panel.bars.view
    words = QFontMetricsF(theme.number_font(NUMBER_SIZE)).horizontalAdvance("rawshaped")
    at = view.columns
    assert at.text_x + words + 2 * SQUARE < at.bar_x
    theme.set_zoom(0)


def test_a_removed_bar_is_hatched(opened: Opened) -> None:
    logits = np.log(np.array([0.6, 0.4], dtype=np.float32))
    _, panel = opened(logits, top_k=1)
    view = panel.bars.view
    image = picture(panel)
    at = view.columns
    y = int(view.head_height + 1.25 * view.row_height)
    stretch = range(int(at.bar_x) + 4, int(at.bar_x + 0.3 * at.bar_width))
    seen = {image.pixelColor(x, y).name() for x in stretch}
    assert theme.palette().page.name() in seen
    assert len(seen) > 1
    assert theme.palette().bar_raw.name() not in seen


def test_impossible_tokens_are_shown_as_such(opened: Opened) -> None:
    logits = np.array([1.0, -np.inf, 0.0, -np.inf], dtype=np.float32)
    _, panel = opened(logits)
    by_id = {bar.token_id: bar for bar in panel.bars.view.bars}
    assert by_id[1].raw == 0
    assert by_id[1].removed_by == "impossible (logit −∞)"
    assert [by_id[i].raw for i in (0, 2)] == pytest.approx(softmax(logits)[[0, 2]])
    panel.scale_box.setCurrentIndex(panel.scale_box.findData(Scale.LOGIT))
    assert not picture(panel).isNull()


def test_temperature_zero_leaves_raw_alone_and_shapes_one_hot(opened: Opened) -> None:
    logits = random_row(50)
    _, panel = opened(logits, temperature=0.0)
    bars = panel.bars.view.bars
    assert bars[0].shaped == 1.0
    assert bars[0].raw == pytest.approx(softmax(logits).max())
    assert {bar.removed_by for bar in bars[1:]} == {"greedy"}


def test_the_number_of_bars_can_be_chosen(opened: Opened, qtbot: QtBot) -> None:
    _, panel = opened(random_row(1000))
    panel.count_box.setValue(200)
    assert len(panel.bars.view.bars) == 200
    panel.count_box.setValue(1)
    assert panel.bars.bar_count == 5
    assert len(panel.bars.view.bars) == 5


@pytest.mark.parametrize("scale", list(Scale))
def test_the_axis_does_not_move_with_the_temperature(opened: Opened, scale: Scale) -> None:
    stage, panel = opened(random_row(1000))
    panel.scale_box.setCurrentIndex(panel.scale_box.findData(scale))
    axis = panel.bars.view.axis
    assert axis.scale is scale
    stage.session.set_settings(SamplerSettings(temperature=0.2))
    panel.flush()
    assert panel.bars.view.axis == axis


def test_hovering_the_rest_shows_sums_of_one(opened: Opened) -> None:
    _, panel = opened(random_row(262_144), top_p=0.9)
    text = panel.bars.view.tooltip_of(TAIL)
    assert text.count("= 1.000000000000") == 2


def test_a_token_s_tooltip_has_its_bytes_and_who_removed_it(opened: Opened) -> None:
    logits = np.array([1, 2, 3, 4, 5, 6, 7, 8], dtype=np.float32)
    _, panel = opened(logits, top_k=7)
    text = panel.bars.view.tooltip_of(0)
    assert "20 74 68 65" in text
    assert "top-k" in text
    assert "‹E2 80›" in panel.bars.view.tooltip_of(6)


def test_the_head_says_what_the_distribution_is(opened: Opened) -> None:
    logits = np.zeros(1024, dtype=np.float32)
    _, panel = opened(logits)
    text = panel._figures.text()
    assert "6.931 nats" in text
    assert "10.000 bits" in text
    assert "1,024.0" in text
    assert "922" in text
    assert panel._after.text() == "after “·the·blue”"


def test_a_headline_without_room_keeps_its_first_word_and_the_newest_tokens(
    opened: Opened,
) -> None:
    stage, panel = opened(np.zeros(100, dtype=np.float32))
    stage.show(np.zeros(100, dtype=np.float32), prompt=(0, 1, 2, 5, 0, 1, 2, 5))
    panel.resize(320, 600)
    panel.flush()
    shown = panel._after.shown
    assert shown.startswith("after “…")
    assert shown.endswith("·Budapest”")
    assert len(shown) < len(panel._after.text())
    assert panel._after.fontMetrics().horizontalAdvance(shown) <= panel._after.width()
    # The whole of it can be read without making room.
    assert panel._after.text() in panel._after.toolTip()


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


# -- list and search --------------------------------------------------------------------------


def open_list(panel: DistributionPanel) -> None:
    panel.tabs.setCurrentWidget(panel.list)


def cell(panel: DistributionPanel, row: int, column: Column) -> str:
    model = panel.list.model
    return str(model.data(model.index(row, column)))


@pytest.mark.parametrize("size", [5, 262_144])
def test_the_list_holds_the_whole_vocabulary(opened: Opened, size: int) -> None:
    logits = random_row(size)
    _, panel = opened(logits, top_k=3)
    open_list(panel)
    expected = softmax(logits)
    order = np.argsort(-expected, kind="stable")
    assert panel.list.model.rowCount() == size
    for row in (0, 1, 3, size // 2, size - 1):
        token_id = int(order[row])
        assert cell(panel, row, Column.RANK) == f"{row + 1:,}"
        assert cell(panel, row, Column.ID) == str(token_id)
        assert cell(panel, row, Column.RAW) == numbers.probability(expected[token_id])
        assert float(cell(panel, row, Column.CUMULATIVE)) == pytest.approx(
            expected[order[: row + 1]].sum(), abs=1e-6
        )
        log = np.log(expected[token_id])
        assert float(cell(panel, row, Column.LOG).replace("−", "-")) == pytest.approx(log, abs=6e-4)
        assert cell(panel, row, Column.REMOVED) == ("" if row < 3 else "top-k")
    shaped = softmax(logits[order[:3]])
    assert cell(panel, 2, Column.SHAPED) == numbers.probability(shaped[2])
    assert cell(panel, size - 1, Column.SHAPED) == "0"


def test_the_odds_are_e_to_the_lead(opened: Opened) -> None:
    _, panel = opened(np.array([3.0, 1.0], dtype=np.float32))
    open_list(panel)
    assert cell(panel, 1, Column.ODDS) == "7.389×"


def test_where_is_budapest(opened: Opened) -> None:
    logits = random_row(262_144)
    logits[5] = logits.max() - 28.0
    _, panel = opened(logits)
    open_list(panel)
    panel.list.search.bar.line.setText(" Budapest")
    rank = int((logits > logits[5]).sum() + (logits[:5] == logits[5]).sum()) + 1
    p = softmax(logits)[5]
    assert p < 1e-12
    assert panel.list.search.bar.answer.text() == (
        f"“·Budapest”: rank {rank:,} · p {p:.3e} · 1 of 1"
    )
    assert panel.list.view.currentIndex().row() == rank - 1
    assert panel.how.token == 5


def test_search_goes_round_the_hits_from_the_likeliest_on(opened: Opened, qtbot: QtBot) -> None:
    logits = random_row(1000)
    _, panel = opened(logits)
    open_list(panel)
    search = panel.list.search
    search.bar.line.setText(" t99")
    names = {i for i in range(BOS + 1, 1000) if str(i).startswith("99")}
    expected = sorted(names, key=lambda i: (-logits[i], i))
    assert search.hits.tolist() == expected
    seen = []
    for _ in expected:
        seen.append(panel.list.model.id_at(panel.list.view.currentIndex().row()))
        qtbot.keyClick(search.bar.line, Qt.Key.Key_Return)
    assert seen == expected
    assert panel.list.model.id_at(panel.list.view.currentIndex().row()) == expected[0]
    qtbot.keyClick(search.bar.line, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert panel.list.model.id_at(panel.list.view.currentIndex().row()) == expected[-1]


@pytest.mark.parametrize(
    ("way", "minds_case", "text", "ids"),
    [
        ("exact", True, " a", [2]),
        ("prefix", True, " B", [5]),
        ("prefix", True, " b", [1]),
        ("prefix", False, " b", [1, 5]),
        ("contains", True, "udap", [5]),
        ("exact", True, "E2 80", [6]),
        ("exact", True, "#7", [7]),
        ("prefix", True, "nowhere", []),
    ],
)
def test_ways_to_search(
    opened: Opened, way: str, minds_case: bool, text: str, ids: list[int]
) -> None:
    _, panel = opened(-np.arange(9, dtype=np.float32))
    open_list(panel)
    search = panel.list.search
    search.bar.way.setCurrentIndex(search.bar.way.findData(way))
    search.bar.case.setChecked(minds_case)
    search.bar.line.setText(text)
    assert search.hits.tolist() == ids
    if not ids:
        assert "No token" in search.bar.answer.text()


def test_a_new_row_orders_the_hits_anew_and_stays_with_the_token(opened: Opened) -> None:
    stage, panel = opened(-np.arange(9, dtype=np.float32))
    open_list(panel)
    search = panel.list.search
    search.bar.way.setCurrentIndex(search.bar.way.findData("contains"))
    search.bar.line.setText("b")
    assert search.hits.tolist() == [1, 8]
    stage.show(np.arange(9, dtype=np.float32))
    panel.flush()
    assert search.hits.tolist() == [8, 1]
    assert search.bar.answer.text().startswith("“·blue”: rank 8")
    assert search.bar.answer.text().endswith("2 of 2")


def test_enter_in_the_list_forces_its_token(opened: Opened, qtbot: QtBot) -> None:
    stage, panel = opened(TEXTBOOK)
    open_list(panel)
    panel.list.show_token(2)
    qtbot.keyClick(panel.list.view, Qt.Key.Key_Return)
    assert stage.session.document.tail_ids == (2,)


# -- curve ------------------------------------------------------------------------------------


def test_the_curve_spans_all_ranks_and_shows_the_cuts(opened: Opened) -> None:
    logits = random_row(262_144)
    _, panel = opened(logits, top_k=1000, top_p=0.5, min_p=0.0)
    panel.tabs.setCurrentWidget(panel.curve)
    curve = panel.curve.curve
    assert curve is not None
    expected = np.sort(softmax(logits))[::-1]
    assert (curve.ranks[0], curve.ranks[-1]) == (1, 262_144)
    np.testing.assert_allclose(curve.raw, expected[curve.ranks - 1], rtol=1e-9)
    inside = softmax(np.sort(logits)[::-1][:1000])
    nucleus = int(np.searchsorted(np.cumsum(inside), 0.5)) + 1
    assert [(cut.stage.value, cut.last_rank) for cut in curve.cuts] == [
        ("top_k", 1000),
        ("top_p", nucleus),
    ]
    assert (curve.shaped[curve.ranks <= nucleus] > 0).all()
    assert (curve.shaped[curve.ranks > nucleus] == 0).all()
    view = panel.curve.view
    assert view is not None
    assert [line.label.format for line in view._lines] == [
        "top-k 1,000",
        f"top-p {nucleus:,}",
    ]
    assert not view.grab().isNull()


def test_pointing_at_the_curve_names_the_token(opened: Opened, qtbot: QtBot) -> None:
    logits = -np.arange(100, dtype=np.float32)
    _, panel = opened(logits)
    panel.tabs.setCurrentWidget(panel.curve)
    view = panel.curve.view
    assert view is not None
    box = view.plot.getPlotItem().vb
    view.plot.scene().sigMouseMoved.emit(box.mapViewToScene(QPointF(np.log10(50), -5.0)))
    assert panel.curve.note.text().startswith("rank 50: “·t49”")


# -- how --------------------------------------------------------------------------------------


def test_softmax_is_shown_in_three_moves_with_the_real_numbers(opened: Opened) -> None:
    _, panel = opened(TEXTBOOK)
    panel.look_at(1)
    panel.tabs.setCurrentWidget(panel.how)
    text = panel.how.moves.text()
    total = float(torch.exp(torch.tensor([0.0, -3.0, -4.0, -7.0], dtype=torch.float64)).sum())
    assert f"{np.exp(-3.0):.6g}" in text
    assert f"{total:.6g}" in text
    assert numbers.probability(softmax(TEXTBOOK)[1]) in text
    assert "20.09×" in text


def test_adding_a_constant_changes_no_probability(opened: Opened, qtbot: QtBot) -> None:
    _, panel = opened(TEXTBOOK)
    panel.look_at(2)
    panel.tabs.setCurrentWidget(panel.how)
    panel.how.added.slider.setValue(1000)
    shown = re.findall(r"<b>([^<]+)</b>", panel.how.constant.text())
    assert shown == [f"{softmax(TEXTBOOK)[2]:.10g}"] * 2
    assert "51.00 − 55.00" in panel.how.constant.text()


def test_temperature_keeps_the_rank(opened: Opened) -> None:
    _, panel = opened(TEXTBOOK, temperature=1.5)
    panel.look_at(2)
    panel.tabs.setCurrentWidget(panel.how)
    text = panel.how.ranking.text()
    assert text.count("rank 3, probability") == 4
    for temperature in (0.5, 1.0, 1.5, 2.0):
        assert numbers.probability(softmax(TEXTBOOK, temperature)[2]) in text


# -- compare ----------------------------------------------------------------------------------


def divergence(p: np.ndarray, q: np.ndarray) -> float:
    """KL(p || q) by torch."""
    log_q, target = torch.log(torch.from_numpy(q)), torch.from_numpy(p)
    return float(torch.nn.functional.kl_div(log_q, target, reduction="sum"))


def test_a_pinned_distribution_is_held_against_another_row(opened: Opened) -> None:
    first, second = random_row(1000), random_row(1000, seed=1)
    stage, panel = opened(first)
    panel.tabs.setCurrentWidget(panel.compare)
    panel.compare.pin.click()
    stage.show(second)
    panel.flush()
    p, q = softmax(first), softmax(second)
    found = panel.compare.comparison
    assert found is not None
    assert found.kl_forward == pytest.approx(divergence(p, q))
    assert found.kl_backward == pytest.approx(divergence(q, p))
    middle = (p + q) / 2
    js = (divergence(p, middle) + divergence(q, middle)) / 2
    assert found.jensen_shannon == pytest.approx(js)
    assert f"{js:.6f} nats" in panel.compare.summary.text()
    assert f"{js / np.log(2):.6f} bits" in panel.compare.summary.text()
    biggest = int(np.argmax(np.abs(q - p)))
    assert found.movers[0] == biggest
    row = panel.compare.model.rows[0]
    assert row[1:3] == (numbers.probability(p[biggest]), numbers.probability(q[biggest]))


def test_comparing_shaped_distributions_follows_the_temperature(opened: Opened) -> None:
    logits = random_row(1000)
    stage, panel = opened(logits)
    panel.tabs.setCurrentWidget(panel.compare)
    panel.compare.pin.click()
    stage.session.set_settings(SamplerSettings(temperature=2.0))
    panel.flush()
    assert panel.compare.comparison is not None
    assert panel.compare.comparison.kl_forward == 0.0
    panel.compare.which.setCurrentIndex(1)
    expected = divergence(softmax(logits), softmax(logits, 2.0))
    assert panel.compare.comparison.kl_forward == pytest.approx(expected)
    panel.compare.unpin.click()
    assert panel.compare.comparison is None
    assert "Pin the distribution" in panel.compare.summary.text()


def test_a_pin_of_another_model_is_not_compared(opened: Opened) -> None:
    stage, panel = opened(TEXTBOOK)
    panel.tabs.setCurrentWidget(panel.compare)
    panel.compare.pin.click()
    stage.load(6)
    stage.show(random_row(6))
    panel.flush()
    assert panel.compare.comparison is None
    assert "another model" in panel.compare.summary.text()


# -- export -----------------------------------------------------------------------------------


def read_csv(text: str) -> tuple[list[str], list[dict[str, str]]]:
    lines = text.splitlines()
    comments = [line for line in lines if line.startswith("# ")]
    return comments, list(csv.DictReader(line for line in lines if not line.startswith("# ")))


def choose(menu: ExportMenu, title: str) -> None:
    shown = QMenu()
    menu.fill(shown)
    next(action for action in shown.actions() if action.text() == title).trigger()


@pytest.fixture
def save_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Answers the file dialog with a path."""

    def answer(name: str) -> Path:
        path = tmp_path / name
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
        return path

    return answer


def test_copied_numbers_are_exact_and_name_their_source(opened: Opened) -> None:
    logits = random_row(1000)
    _, panel = opened(logits, top_k=3, seed=7)
    choose(panel.bars.menu, "Copy as CSV")
    comments, rows = read_csv(QGuiApplication.clipboard().text())
    expected = softmax(logits)
    for row in rows[:-1]:
        assert float(row["raw"]) == pytest.approx(expected[int(row["id"])], rel=1e-14)
    assert sum(float(row["raw"]) for row in rows) == pytest.approx(1.0, abs=1e-12)
    assert sum(float(row["shaped"]) for row in rows) == pytest.approx(1.0, abs=1e-12)
    assert '# header_hash: "0123abcd"' in comments
    assert "# ids: [0, 1]" in comments
    assert any('"seed": 7' in line and '"top_k": 3' in line for line in comments)


def test_copying_with_the_keyboard_gives_tab_separated_text(opened: Opened, qtbot: QtBot) -> None:
    _, panel = opened(TEXTBOOK)
    # A shortcut answers in the active window only.
    panel.activateWindow()
    qtbot.waitUntil(panel.isActiveWindow)
    panel.bars.view.setFocus()
    qtbot.keyClick(panel.bars.view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    copied = QGuiApplication.clipboard().text().splitlines()
    assert copied[0].split("\t")[:3] == ["rank", "token", "id"]
    assert copied[1].split("\t")[:3] == ["1", "·the", "0"]


def test_the_whole_list_goes_into_a_file(
    opened: Opened, qtbot: QtBot, save_to: Callable[[str], Path]
) -> None:
    logits = random_row(2000)
    stage, panel = opened(logits, top_p=0.9)
    open_list(panel)
    path = save_to("all")
    with qtbot.waitSignal(stage.session.noticed) as said:
        choose(panel.list.menu, "Export CSV …")
    assert said.args[0].sentence == f"Exported to {path}.csv."
    _, rows = read_csv(path.with_name("all.csv").read_text("utf-8"))
    expected = softmax(logits)
    assert [int(row["id"]) for row in rows] == np.argsort(-expected, kind="stable").tolist()
    assert sum(float(row["raw"]) for row in rows) == pytest.approx(1.0, abs=1e-12)
    assert float(rows[-1]["cumulative"]) == pytest.approx(1.0, abs=1e-12)
    assert bytes.fromhex(rows[0]["bytes"]).decode() == rows[0]["token"].replace("·", " ")


def test_selected_rows_are_copied(opened: Opened) -> None:
    _, panel = opened(TEXTBOOK)
    open_list(panel)
    panel.list.view.selectRow(2)
    choose(panel.list.menu, "Copy as text")
    lines = QGuiApplication.clipboard().text().splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("3\t·a\t")


def test_json_has_no_infinite_number(
    opened: Opened, qtbot: QtBot, save_to: Callable[[str], Path]
) -> None:
    stage, panel = opened(np.array([1.0, -np.inf], dtype=np.float32))
    path = save_to("x.json")
    with qtbot.waitSignal(stage.session.noticed):
        choose(panel.bars.menu, "Export JSON …")

    def refuse(name: str) -> None:
        raise AssertionError(name)

    document = json.loads(path.read_text("utf-8"), parse_constant=refuse)
    assert document["settings"]["temperature"] == 1.0
    assert [entry["logit"] for entry in document["tokens"]] == [1.0, "-inf"]


def test_a_comparison_says_what_both_come_from(opened: Opened) -> None:
    first, second = random_row(1000), random_row(1000, seed=1)
    stage, panel = opened(first, seed=7)
    panel.tabs.setCurrentWidget(panel.compare)
    panel.compare.pin.click()
    stage.session.set_settings(SamplerSettings(temperature=2.0, seed=8))
    stage.show(second, prompt=(0, 1, 2))
    panel.flush()
    choose(panel.compare.menu, "Copy as CSV")
    comments, rows = read_csv(QGuiApplication.clipboard().text())
    facts = {
        name: json.loads(value)
        for name, value in (line.removeprefix("# ").split(": ", 1) for line in comments)
    }
    assert (facts["ids"], facts["pinned"]["ids"]) == ([0, 1, 2], [0, 1])
    assert (facts["settings"]["seed"], facts["pinned"]["settings"]["seed"]) == (8, 7)
    assert facts["pinned"]["header_hash"] == "0123abcd"
    assert facts["compared"] == "raw"
    assert facts["kl_pinned_now"] == pytest.approx(divergence(softmax(first), softmax(second)))
    assert facts["kl_now_pinned"] == pytest.approx(divergence(softmax(second), softmax(first)))
    biggest = int(rows[0]["id"])
    assert float(rows[0]["pinned"]) == pytest.approx(softmax(first)[biggest], rel=1e-12)


def test_the_three_moves_can_be_copied(opened: Opened, qtbot: QtBot) -> None:
    _, panel = opened(TEXTBOOK)
    panel.look_at(1)
    panel.tabs.setCurrentWidget(panel.how)
    choose(panel.how.menu, "Copy as CSV")
    _, (row,) = read_csv(QGuiApplication.clipboard().text())
    assert float(row["exponential"]) == pytest.approx(np.exp(-3.0), rel=1e-12)
    assert float(row["probability"]) == pytest.approx(softmax(TEXTBOOK)[1], rel=1e-12)
    # What is selected in the text is still copied as it is.
    panel.activateWindow()
    qtbot.waitUntil(panel.isActiveWindow)
    panel.how.moves.setFocus()
    panel.how.moves.setSelection(0, 7)
    qtbot.keyClick(panel.how.moves, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "Softmax"


@pytest.mark.parametrize("suffix", ["PNG", "SVG"])
def test_pictures(
    opened: Opened, qtbot: QtBot, save_to: Callable[[str], Path], suffix: str
) -> None:
    _, panel = opened(TEXTBOOK)
    panel.tabs.setCurrentWidget(panel.curve)
    path = save_to("curve")
    choose(panel.curve.menu, f"Export {suffix} …")
    image = QImage(str(path.with_name(f"curve.{suffix.lower()}")))
    view = panel.curve.view
    assert view is not None
    assert image.width() / image.height() == pytest.approx(view.width() / view.height(), rel=0.01)
    colors = {image.pixelColor(x, image.height() // 2).name() for x in range(image.width())}
    assert len(colors) > 1


def test_a_place_that_cannot_be_written_is_said_in_a_sentence(
    opened: Opened, qtbot: QtBot, save_to: Callable[[str], Path]
) -> None:
    stage, panel = opened(TEXTBOOK)
    path = save_to("missing/x.csv")
    for title in ("Export CSV …", "Export PNG …", "Export SVG …"):
        with qtbot.waitSignal(stage.session.noticed) as said:
            choose(panel.bars.menu, title)
        assert said.args[0].sentence.startswith(f"{path} cannot be written")


def test_copying_nothing_is_harmless(qtbot: QtBot, stage: Stage) -> None:
    panel = DistributionPanel(stage.session)
    qtbot.addWidget(panel)
    panel.list.menu.copy_csv()
    assert "rank,token" in QGuiApplication.clipboard().text()
