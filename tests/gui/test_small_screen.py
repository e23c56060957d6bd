"""The first start on a screen of 1024 x 640 pixels: what matters is seen, and nothing is cut. And
what is seen on one of 1440 x 900."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QTextDocumentFragment
from PySide6.QtWidgets import QAbstractScrollArea, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from logitscope.gui import docking, main_window
from logitscope.gui.main_window import MainWindow
from logitscope.gui.panel_table import PANELS
from logitscope.gui.widgets.shrinking_area import ShrinkingArea

Load = Callable[..., MainWindow]
Read = Callable[[MainWindow, str], None]


@pytest.fixture
def small(
    monkeypatch: pytest.MonkeyPatch, new_window: Callable[[], MainWindow], load: Load, read: Read
) -> MainWindow:
    size = QSize(1022, 608)
    monkeypatch.setattr(main_window, "USUAL_SIZE", size)
    window = load(new_window())
    # The screen of the tests is narrower.
    window.resize(size)
    read(window, "The sky is")
    return window


def area_around(panel: QWidget) -> ShrinkingArea:
    widget: QWidget | None = panel
    while not isinstance(widget, ShrinkingArea):
        assert widget is not None
        widget = widget.parentWidget()
    return widget


def is_inside(panel: QWidget, widget: QWidget) -> bool:
    corner = widget.mapTo(panel, widget.rect().topLeft())
    return panel.rect().contains(QRect(corner, widget.size()))


def test_several_bars_are_seen_at_the_first_start(small: MainWindow) -> None:
    panel = small.panels["distribution"]
    view = panel.bars.view  # type: ignore[attr-defined]
    seen = view.viewport().visibleRegion().boundingRect().height() - view.head_height
    assert seen / view.row_height >= 3
    assert not area_around(panel).verticalScrollBar().isVisible()


def test_no_panel_scrolls_within_a_panel_that_scrolls(qtbot: QtBot, small: MainWindow) -> None:
    for name in ("distribution", "sampling", "loss"):
        small.focus_panel(name)
        panel = small.panels[name]
        qtbot.waitUntil(panel.isVisible)
        scrolling = [
            area
            for area in (area_around(panel), *panel.findChildren(QAbstractScrollArea))
            if area.isVisible() and area.verticalScrollBar().isVisible()
        ]
        assert len(scrolling) <= 1, name


def test_no_panel_scrolls_sideways(qtbot: QtBot, small: MainWindow) -> None:
    for spec in PANELS:
        small.focus_panel(spec.id)
        panel = small.panels[spec.id]
        qtbot.waitUntil(panel.isVisible)
        qtbot.waitUntil(lambda: not small.panel_layout._later.isActive())
        assert area_around(panel).horizontalScrollBar().maximum() == 0, spec.id
        # The next one stands where it would without this one.
        small.command_actions["reset_layout"].trigger()


def test_beside_the_lessons_the_text_keeps_all_its_controls(
    qtbot: QtBot, small: MainWindow
) -> None:
    small.focus_panel("lessons")
    panel = small.panels["text"]
    area = area_around(panel)
    qtbot.waitUntil(lambda: panel.width() < 400)
    qtbot.waitUntil(small.panels["lessons"].isVisible)
    transport = panel.transport  # type: ignore[attr-defined]
    controls = [*panel.findChildren(QToolButton), transport.length, transport.stop_text]
    shown = [control for control in controls if control.isVisible()]
    assert len(shown) > 8
    # The docks take a few turns to share the room.
    qtbot.waitUntil(lambda: all(is_inside(panel, control) for control in shown))
    assert area.horizontalScrollBar().maximum() == area.verticalScrollBar().maximum() == 0
    assert transport.stop_text.fontMetrics().horizontalAdvance("until this text") < (
        transport.stop_text.width()
    )


def test_beside_the_lessons_the_passes_are_seen_without_scrolling_sideways(
    qtbot: QtBot, small: MainWindow
) -> None:
    small.focus_panel("lessons")
    small.focus_panel("passes")
    panel: Any = small.panels["passes"]
    qtbot.waitUntil(lambda: panel.width() < 300 and panel.strip.isVisible())
    for area in (area_around(panel), *panel.findChildren(QAbstractScrollArea)):
        qtbot.waitUntil(lambda area=area: area.horizontalScrollBar().maximum() == 0)
    strip = panel.strip
    assert strip.visibleRegion().boundingRect().width() == strip.width()
    figures = QTextDocumentFragment.fromHtml(panel.totals.text()).toPlainText().split()
    assert figures[:2] == ["Prefill", "Decode"]


def test_a_panel_that_goes_back_among_tabs_is_in_front(qtbot: QtBot, small: MainWindow) -> None:
    dock = small.docks["sampling"]
    small.focus_panel("sampling")
    qtbot.waitUntil(lambda: not dock.visibleRegion().isEmpty())
    dock._float.click()
    frameless = Qt.WindowType.FramelessWindowHint
    qtbot.waitUntil(lambda: dock.isVisible() and not dock.windowFlags() & frameless)
    dock._float.click()
    qtbot.waitUntil(lambda: not dock.isFloating() and not dock.visibleRegion().isEmpty())


@pytest.fixture
def usual(qtbot: QtBot, new_window: Callable[[], MainWindow], load: Load, read: Read) -> MainWindow:
    window = load(new_window())
    # The screen of the tests is narrower, and window managers put a frame around it.
    window.resize(1438, 866)
    window.command_actions["reset_layout"].trigger()
    read(window, "The sky is grey and cold today. " * 20)
    loss: Any = window.panels["loss"]
    qtbot.waitUntil(lambda: len(loss.table) > 20 and loss.curve.has_plot)
    qtbot.waitUntil(lambda: is_shared_out(window))
    return window


def is_shared_out(window: MainWindow) -> bool:
    """The docks take a few turns to share the room."""
    shares = {spec.id: spec.share for spec in PANELS}
    above, below = window.docks["distribution"].height(), window.docks["sampling"].height()
    bottom = docking.BOTTOM_SHARE * window.height()
    return (
        abs(above * shares["sampling"] - below * shares["distribution"]) < 20
        and abs(window.docks["origin"].height() - bottom) < 2
    )


def test_several_lines_of_the_heatmap_are_seen_beside_its_curve(usual: MainWindow) -> None:
    panel: Any = usual.panels["loss"]
    view = panel.heat_view.view
    assert view.viewport().height() // view.line_height >= 3
    assert panel.curve.isVisible()


def test_the_most_useful_averages_are_seen(usual: MainWindow) -> None:
    panel: Any = usual.panels["loss"]
    summary = panel.figures.summary
    parts = ("mean 3.656 nats", "perplexity 38.7", "127 tokens", "1.231 bits/byte", "rank 1 31 %")
    summary.set_parts(parts)
    assert all(part in summary.shown for part in parts[:4])


def test_the_sliders_that_are_used_most_are_seen(usual: MainWindow) -> None:
    controls: Any = usual.panels["sampling"].controls  # type: ignore[attr-defined]
    for field in (controls.temperature, controls.top_k, controls.top_p, controls.min_p):
        # All of its digits, with the fonts of any system.
        number = field.box.rect().adjusted(0, 7, 0, -7)
        assert field.box.visibleRegion().boundingRect().contains(number)
    bars: Any = usual.panels["distribution"].bars.view  # type: ignore[attr-defined]
    seen = bars.viewport().visibleRegion().boundingRect().height() - bars.head_height
    # With Noto Sans, which is higher than others, just under five.
    assert seen / bars.row_height > 4
