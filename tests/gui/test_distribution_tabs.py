"""The tabs of the next-token panel behind bars and list: curve, softmax in moves, comparison."""

from __future__ import annotations

import re

import distribution_stage
import numpy as np
import pytest
from distribution_stage import TEXTBOOK, Opened, divergence, random_row, softmax
from PySide6.QtCore import QPointF
from pytestqt.qtbot import QtBot

from logitscope.gui.widgets import numbers
from logitscope.sampling import SamplerSettings

stage = distribution_stage.stage
opened = distribution_stage.opened

torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")


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
