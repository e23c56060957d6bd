"""The loss panel in little room: nothing is cut without saying so, and the text comes first."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from PySide6.QtGui import QPainter, QPixmap
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from logitscope.gui import theme
from logitscope.gui.engine import Engine
from logitscope.gui.panels.loss import LossPanel
from logitscope.gui.session import Session
from logitscope.gui.widgets.eliding_label import ElidingLabel
from logitscope.gui.widgets.shrinking_area import ShrinkingArea

LINES = 30
SIZES = [(700, 400), (460, 240), (380, 200), (300, 300), (250, 165), (700, 150)]


@pytest.fixture
def area(qtbot: QtBot, styled_app: QApplication) -> Iterator[ShrinkingArea]:
    """The panel as it stands in the window, on a text that is longer than the context."""
    del styled_app
    engine = Engine()
    session = Session(engine)
    session.open_model("fake:vocab=400,seed=5,context=64")
    qtbot.waitUntil(lambda: session.model is not None, timeout=60_000)
    panel = LossPanel(session)
    made = ShrinkingArea(panel)
    qtbot.addWidget(made)
    made.resize(700, 400)
    made.show()
    qtbot.waitExposed(made)
    panel.show_text("The sea is grey and cold today.\n" * LINES, "sample.txt")
    qtbot.waitUntil(
        lambda: len(panel.table) > LINES and panel.table.first_unknown == len(panel.table),
        timeout=20_000,
    )
    panel.flush()
    qtbot.waitUntil(lambda: panel.curve.has_plot)
    yield made
    engine.close()


def panel_of(area: ShrinkingArea) -> LossPanel:
    panel = area.widget()
    assert isinstance(panel, LossPanel)
    return panel


@pytest.mark.parametrize("size", SIZES)
def test_no_label_is_cut_without_an_ellipsis(
    qtbot: QtBot, area: ShrinkingArea, size: tuple[int, int]
) -> None:
    panel = panel_of(area)
    area.resize(*size)
    qtbot.waitUntil(lambda: panel.width() <= size[0] and panel.windows.width() < size[0])
    assert area.horizontalScrollBar().maximum() == 0
    labels = [label for label in panel.findChildren(QLabel) if label.isVisible()]
    assert len(labels) >= 5
    for label in labels:
        shown = label.shown if isinstance(label, ElidingLabel) else label.text()
        assert label.fontMetrics().horizontalAdvance(shown) <= label.width(), shown
        assert shown == label.text() or "…" in shown
    summary, legend = panel.figures.summary.geometry(), panel.figures.legend.geometry()
    assert not summary.intersects(legend)
    assert legend.right() <= panel.figures.width()


@pytest.mark.parametrize("size", SIZES)
def test_numbers_beside_the_curve_do_not_overlap(
    qtbot: QtBot, area: ShrinkingArea, size: tuple[int, int]
) -> None:
    panel = panel_of(area)
    area.resize(*size)
    qtbot.waitUntil(lambda: panel.width() <= size[0])
    panel.flush()
    if panel.curve.isHidden():
        return
    axis = panel.curve.plot.getPlotItem().getAxis("left")
    canvas = QPixmap(64, 64)
    painter = QPainter(canvas)
    painter.setFont(theme.number_font(-2))
    _line, _ticks, texts = axis.generateDrawSpecs(painter)
    painter.end()
    boxes = [box for box, _flags, _text in texts]
    assert boxes
    assert not any(one.intersects(other) for one, other in itertools.combinations(boxes, 2))


def test_the_curve_gives_way_to_the_text_and_comes_back(qtbot: QtBot, area: ShrinkingArea) -> None:
    panel = panel_of(area)
    assert panel.curve.isVisible()
    area.resize(700, 150)
    qtbot.waitUntil(lambda: not panel.curve.isVisible())
    # The text scrolls; the panel around it does not, too.
    assert area.verticalScrollBar().maximum() == 0
    assert panel.heat_view.height() >= panel.heat_view.view.line_height
    area.resize(700, 400)
    qtbot.waitUntil(panel.curve.isVisible)
    assert panel.curve.height() > 0
