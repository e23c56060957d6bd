"""The bars of the next-token panel against torch's softmax."""

from __future__ import annotations

import distribution_stage
import numpy as np
import pytest
from distribution_stage import TEXTBOOK, Opened, picture, random_row, softmax, width_of_color
from PySide6.QtGui import QFontMetricsF
from pytestqt.qtbot import QtBot

from logitscope.gui import theme
from logitscope.gui.widgets.bars_data import Scale
from logitscope.gui.widgets.bars_paint import SQUARE
from logitscope.gui.widgets.bars_view import NUMBER_SIZE, TAIL
from logitscope.sampling import SamplerSettings

stage = distribution_stage.stage
opened = distribution_stage.opened


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
        assert (tail.label, tail.count) == ("every other token", size - 20)
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
