"""The loss panel on the text on screen, and what is taken out of it."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import loss_stage
import numpy as np
import pytest
from loss_stage import TEXT, losses, wait, write
from PySide6.QtCore import QPointF, Qt
from pytestqt.qtbot import QtBot

from logitscope.gui import export, theme
from logitscope.gui.panels.loss import LossPanel
from logitscope.gui.session import Session
from logitscope.gui.widgets.heat_view import UNKNOWN
from logitscope.heat import Measure

session = loss_stage.session
panel = loss_stage.panel


# -- the text on screen -------------------------------------------------------------------------


def test_the_tints_follow_the_losses(qtbot: QtBot, session: Session, panel: LossPanel) -> None:
    write(qtbot, panel, session)
    expected = np.round(np.clip(losses(session.ids) / 10.0, 0, 1) * 255)
    assert panel.heat.codes[0] == UNKNOWN
    assert np.abs(panel.heat.codes[1:] - expected).max() <= 1
    view = panel.heat_view.view
    assert tuple(view.ids) == session.ids


def test_the_averages_are_those_of_the_text(
    qtbot: QtBot, session: Session, panel: LossPanel
) -> None:
    write(qtbot, panel, session)
    known = losses(session.ids)
    said = panel.figures.summary.text()
    assert f"mean {known.mean():.3f} nats" in said
    assert f"perplexity {math.exp(known.mean()):,.1f}" in said
    assert f"{known.sum() / math.log(2) / len(TEXT.encode()):.3f} bits/byte" in said
    assert f"{len(known)} tokens" in said


def test_a_chosen_range_has_its_own_averages(
    qtbot: QtBot, session: Session, panel: LossPanel
) -> None:
    write(qtbot, panel, session)
    panel.heat_view.view.choose(3, 7)
    known = losses(session.ids)[2:6]
    assert f"mean {known.mean():.3f} nats" in panel.figures.summary.text()
    assert "selected: 4 tokens" in panel.figures.summary.text()
    panel.curve.range_chosen.emit(2, 4)
    assert panel.heat_view.chosen == range(2, 4)
    assert panel.heat_view.view.chosen == range(2, 4)
    panel.heat_view.view.choose(3, 4)
    said = panel.figures.summary.text()
    assert "selected: 1 token" in said
    assert "selected: 1 tokens" not in said


def test_selection_goes_both_ways(qtbot: QtBot, session: Session, panel: LossPanel) -> None:
    write(qtbot, panel, session)
    panel.heat_view.view.position_selected.emit(5)
    assert session.position == 5
    panel.curve.scrubbed.emit(7)
    assert session.position == 7
    assert panel.heat_view.view.selected_position == 7
    session.select(3)
    assert panel.heat_view.view.selected_position == 3
    panel.curve.step_wanted.emit(1)
    assert session.position == 4


def test_a_drag_on_the_curve_scrubs_and_with_shift_chooses(
    qtbot: QtBot, session: Session, panel: LossPanel
) -> None:
    write(qtbot, panel, session)
    curve = panel.curve
    viewport = curve.plot.viewport()
    middle = viewport.rect().center()
    at = curve.position_at(QPointF(middle))
    qtbot.mousePress(viewport, Qt.MouseButton.LeftButton, pos=middle)
    assert session.position == at
    qtbot.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=middle)
    left = middle - middle / 3
    first = curve.position_at(QPointF(left))
    assert at is not None and first is not None and first < at
    shift = Qt.KeyboardModifier.ShiftModifier
    qtbot.mousePress(viewport, Qt.MouseButton.LeftButton, shift, left)
    assert panel.heat_view.chosen == range(first, at + 1)
    qtbot.mouseRelease(viewport, Qt.MouseButton.LeftButton, shift, left)


def test_pointing_at_one_marks_the_other(qtbot: QtBot, session: Session, panel: LossPanel) -> None:
    write(qtbot, panel, session)
    curve, view = panel.curve, panel.heat_view.view
    curve.hovered.emit(6)
    assert view._hovered == 6
    assert curve._pointer.value() == 6
    curve.hovered.emit(None)
    assert view._hovered is None and not curve._pointer.isVisible()


def test_a_chosen_range_survives_generation_of_nothing_new(
    qtbot: QtBot, session: Session, panel: LossPanel
) -> None:
    write(qtbot, panel, session)
    panel.heat_view.view.choose(3, 7)
    session.path_changed.emit()
    panel.flush()
    assert panel.heat_view.chosen == range(3, 7)
    assert panel.curve._region.isVisible()


def test_numbers_below_tokens_are_short(qtbot: QtBot, session: Session, panel: LossPanel) -> None:
    write(qtbot, panel, session)
    panel.bar.number_row.setChecked(True)
    expected = losses(session.ids)
    assert panel._number_of(0) == "–"
    for position in range(1, len(session.ids)):
        said = panel._number_of(position)
        assert len(said) <= 5
        assert float(said) == pytest.approx(expected[position - 1], abs=0.051)


def test_n_and_p_walk_over_the_surprises(qtbot: QtBot, session: Session, panel: LossPanel) -> None:
    write(qtbot, panel, session)
    strong = [p + 1 for p, loss in enumerate(losses(session.ids)) if loss >= 5.0]
    assert len(strong) > 2
    view = panel.heat_view.view
    view.setFocus()
    qtbot.keyClick(view, Qt.Key.Key_N)
    assert session.position == strong[0]
    qtbot.keyClick(view, Qt.Key.Key_N)
    assert session.position == strong[1]
    qtbot.keyClick(view, Qt.Key.Key_P)
    assert session.position == strong[0]


def test_measures_change_legend_and_tints(qtbot: QtBot, session: Session, panel: LossPanel) -> None:
    write(qtbot, panel, session)
    table = panel.table
    box = panel.bar.measure
    box.setCurrentIndex(list(Measure).index(Measure.RANK))
    panel.flush()
    ranks = table.rank[1:]
    buckets = np.digitize(ranks, [2, 11, 101, 1001])
    assert panel.heat.codes[1:].tolist() == np.round(buckets / 4 * 255).astype(int).tolist()
    assert panel.figures.legend.accessibleDescription().split() == [
        "1",
        "≤10",
        "≤100",
        "≤1000",
        ">1000",
    ]
    box.setCurrentIndex(list(Measure).index(Measure.SURPRISE))
    panel.flush()
    share = np.clip((table.loss[1:] - table.entropy[1:] + 5) / 10, 0, 1)
    assert np.abs(panel.heat.codes[1:] - share * 255).max() <= 0.51
    assert "nats" in panel.figures.legend.accessibleDescription()


def test_fitting_spans_the_text(qtbot: QtBot, session: Session, panel: LossPanel) -> None:
    write(qtbot, panel, session)
    panel.bar.fit.setChecked(True)
    panel.flush()
    assert panel.heat.scale.high == pytest.approx(np.percentile(losses(session.ids), 99), abs=1e-5)
    panel.bar.fit.setChecked(False)
    panel.flush()
    assert panel.heat.scale.high == 10.0


def test_a_tooltip_tells_what_was_expected(
    qtbot: QtBot, session: Session, panel: LossPanel
) -> None:
    write(qtbot, panel, session)
    said = panel._tooltip_of(4)
    assert f"loss {losses(session.ids)[3]:.3f} nats" in said
    assert said.count("<tr>") == 10
    assert "unknown" in panel._tooltip_of(0)


def test_a_hidden_panel_asks_for_nothing(qtbot: QtBot, session: Session, panel: LossPanel) -> None:
    write(qtbot, panel, session)
    panel.hide()
    asked: list[object] = []
    score = session.engine.score
    session.engine.score = lambda *a, **n: asked.append(a) or score(*a, **n)  # type: ignore[method-assign]
    session.set_prompt("Another text.")
    qtbot.waitUntil(lambda: session.is_ready and session.row_is_current)
    assert asked == []
    panel.show()
    wait(qtbot, panel)
    assert len(asked) == 1


def test_stop_and_go_on(qtbot: QtBot, session: Session, panel: LossPanel) -> None:
    write(qtbot, panel, session)
    assert not panel.bar.stop.isVisible()
    panel.scorer.stop()
    panel.table.forget()
    panel.flush()
    assert panel.bar.stop.isVisible() and panel.bar.progress.value() == 0
    panel.bar.stop.click()
    wait(qtbot, panel)
    assert not panel.bar.stop.isVisible()


# -- taking it out ------------------------------------------------------------------------------


def test_exported_numbers(qtbot: QtBot, session: Session, panel: LossPanel) -> None:
    write(qtbot, panel, session)
    table = panel.export._later()()
    assert len(table.rows) == len(session.ids)
    assert table.rows[0][3] is None
    column = [row[3] for row in table.rows[1:]]
    np.testing.assert_allclose(np.array(column, dtype=float), losses(session.ids), atol=1e-6)
    made = json.loads(export.as_json(table, panel.export.made_from()))
    assert made["text"] == "on screen" and made["window"] == 64
    panel.heat_view.view.choose(2, 5)
    assert [row[0] for row in panel.export._chosen().rows] == [2, 3, 4]


def test_exported_page_and_picture(
    qtbot: QtBot,
    session: Session,
    panel: LossPanel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write(qtbot, panel, session)
    monkeypatch.setattr(panel.export, "_ask", lambda suffix: tmp_path / f"loss.{suffix}")
    with qtbot.waitSignal(session.noticed) as said:
        panel.export.save_html()
    assert "Exported" in said.args[0].sentence
    page = (tmp_path / "loss.html").read_text("utf-8")
    assert page.count("<span class=") > len(session.ids)
    export.save_svg(panel.body, tmp_path / "loss.svg")
    assert "<svg" in (tmp_path / "loss.svg").read_text("utf-8")


@pytest.mark.parametrize("mode", [theme.Mode.LIGHT, theme.Mode.DARK])
def test_expected_tokens_have_the_page_colour(
    qtbot: QtBot, session: Session, panel: LossPanel, mode: theme.Mode
) -> None:
    theme.set_mode(mode)
    try:
        style = panel.heat_view.view._style(0, 0)
        assert style.background is not None
        assert style.background.name() == theme.palette().page.name()
    finally:
        theme.set_mode(theme.Mode.LIGHT)


def test_a_narrow_panel_puts_its_controls_into_two_lines(panel: LossPanel) -> None:
    bar = panel.bar
    height = bar.height()
    bar.resize(240, height)
    controls = [bar.source, bar.measure, bar.fit, bar.underlines, bar.number_row, bar.next]
    assert all(bar.rect().contains(control.geometry()) for control in controls)
    assert bar.height() > height and bar.next.y() > bar.source.y()
    assert not any(
        one.geometry().intersects(other.geometry())
        for one, other in itertools.combinations(controls, 2)
    )
