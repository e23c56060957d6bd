"""Panels keep their share of the window: the usual one, or what a person has given them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QHoverEvent, QMouseEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from logitscope.gui import docking
from logitscope.gui.main_window import MainWindow


@pytest.fixture
def tall(qtbot: QtBot, new_window: Callable[[], MainWindow]) -> MainWindow:
    window = new_window()
    window.resize(1200, 860)
    qtbot.waitUntil(lambda: has_usual_shares(window))
    return window


def has_usual_shares(window: MainWindow) -> bool:
    """The docks take a few turns to share the room."""
    bottom = docking.BOTTOM_SHARE * window.height()
    right = docking.RIGHT_SHARE * window.width()
    origin, distribution = window.docks["origin"], window.docks["distribution"]
    return abs(origin.height() - bottom) < 2 and abs(distribution.width() - right) < 2


def move_border(qtbot: QtBot, window: MainWindow, way: int) -> None:
    """Drag the border above the lower panels, as far down as ``way``."""
    below = window.docks["origin"].geometry()
    border = QPoint(below.center().x(), below.top() - 2)
    place = QPointF(border)
    hover = QHoverEvent(QEvent.Type.HoverMove, place, window.mapToGlobal(place), place)
    QApplication.sendEvent(window, hover)
    assert window.cursor().shape() is Qt.CursorShape.SplitVCursor
    qtbot.mousePress(window, Qt.MouseButton.LeftButton, pos=border)
    to = QPointF(border + QPoint(0, way))
    left, none = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton
    plain = Qt.KeyboardModifier.NoModifier
    drag = QMouseEvent(QEvent.Type.MouseMove, to, window.mapToGlobal(to), none, left, plain)
    QApplication.sendEvent(window, drag)
    # Qt moves it a turn later.
    qtbot.waitUntil(lambda: window.docks["origin"].geometry() != below)
    qtbot.mouseRelease(window, Qt.MouseButton.LeftButton, pos=border + QPoint(0, way))


def test_each_panel_keeps_its_share_of_the_window(qtbot: QtBot, tall: MainWindow) -> None:
    for size in ((1024, 760), (1300, 900)):
        tall.resize(*size)
        qtbot.waitUntil(lambda: has_usual_shares(tall))


def test_a_window_that_becomes_low_makes_tabs_and_a_higher_one_takes_them_apart(
    qtbot: QtBot, tall: MainWindow
) -> None:
    distribution, sampling = tall.docks["distribution"], tall.docks["sampling"]
    tall.focus_panel("branches")
    qtbot.waitUntil(tall.panels["branches"].isVisible)
    tall.resize(1024, 640)
    qtbot.waitUntil(lambda: tall.tabifiedDockWidgets(distribution) == [sampling])
    qtbot.waitUntil(tall.panels["distribution"].isVisible)
    assert not tall.panels["sampling"].isVisible()
    tall.resize(1200, 860)
    qtbot.waitUntil(lambda: tall.tabifiedDockWidgets(distribution) == [])
    qtbot.waitUntil(tall.panels["sampling"].isVisible)
    assert tall.panels["branches"].isVisible()


def share(window: MainWindow, name: str) -> tuple[float, float]:
    dock = window.docks[name]
    return dock.width() / window.width(), dock.height() / window.height()


def is_learned(window: MainWindow) -> bool:
    """The arrangement has been looked at behind its last change."""
    return not window.panel_layout._later.isActive()


def text_share(window: MainWindow) -> float:
    centre = window.centralWidget()
    assert centre is not None
    return centre.width() / window.width()


def test_a_border_that_was_moved_keeps_its_place_in_the_window(
    qtbot: QtBot, tall: MainWindow, new_window: Callable[[], MainWindow]
) -> None:
    before = tall.docks["origin"].height()
    move_border(qtbot, tall, -60)
    qtbot.waitUntil(lambda: tall.docks["origin"].height() > before + 40)
    qtbot.waitUntil(lambda: is_learned(tall))
    moved = share(tall, "origin")
    text = text_share(tall)
    tall.resize(1000, 720)
    qtbot.waitUntil(lambda: share(tall, "origin") == pytest.approx(moved, abs=0.01))
    assert text_share(tall) == pytest.approx(text, abs=0.02)
    tall.resize(1200, 860)
    qtbot.waitUntil(lambda: share(tall, "origin") == pytest.approx(moved, abs=0.01))
    height = tall.docks["origin"].height()
    tall.close()
    again = new_window()
    qtbot.waitUntil(lambda: again.docks["origin"].height() == height)
    again.command_actions["reset_layout"].trigger()
    qtbot.waitUntil(lambda: has_usual_shares(again))


def test_also_behind_a_moved_border_a_low_window_has_tabs_while_it_is_low(
    qtbot: QtBot, tall: MainWindow
) -> None:
    distribution, sampling = tall.docks["distribution"], tall.docks["sampling"]
    move_border(qtbot, tall, -20)
    qtbot.waitUntil(lambda: is_learned(tall))
    shares = share(tall, "distribution")
    tall.resize(1024, 640)
    qtbot.waitUntil(lambda: tall.tabifiedDockWidgets(distribution) == [sampling])
    qtbot.waitUntil(tall.panels["distribution"].isVisible)
    move_border(qtbot, tall, -10)
    qtbot.waitUntil(lambda: is_learned(tall))
    tall.resize(1200, 860)
    qtbot.waitUntil(lambda: tall.tabifiedDockWidgets(distribution) == [])
    qtbot.waitUntil(tall.panels["sampling"].isVisible)
    qtbot.waitUntil(lambda: share(tall, "distribution")[0] == pytest.approx(shares[0], abs=0.02))


def test_tabs_that_a_person_made_stay_in_a_higher_window(qtbot: QtBot, tall: MainWindow) -> None:
    distribution, sampling = tall.docks["distribution"], tall.docks["sampling"]
    sampling.setFloating(True)
    sampling.setFloating(False)
    tall.tabifyDockWidget(distribution, sampling)
    qtbot.waitUntil(lambda: is_learned(tall))
    for size in ((1024, 640), (1200, 860)):
        tall.resize(*size)
        qtbot.waitUntil(lambda: tall.panel_layout._stands_for == tall.size())
        assert tall.tabifiedDockWidgets(distribution) == [sampling]


@pytest.mark.parametrize("name", ["lessons", "sampling"])
def test_the_text_keeps_its_room_when_other_panels_are_open(
    qtbot: QtBot, tall: MainWindow, name: str
) -> None:
    """One more than usual, and one less."""
    tall.resize(1400, 860)
    qtbot.waitUntil(lambda: has_usual_shares(tall))
    tall.toggle_panel(name)
    qtbot.waitUntil(lambda: is_learned(tall))
    text, bars = text_share(tall), share(tall, "distribution")[1]
    wanted = max(text, docking.CENTRE_WIDTH / 1024)
    tall.resize(1024, 640)
    qtbot.waitUntil(lambda: tall.width() == 1024 and text_share(tall) > wanted - 0.02)
    qtbot.waitUntil(tall.panels["distribution"].isVisible)
    distribution = tall.panels["distribution"]
    assert distribution.height() > 200
    tall.resize(1400, 860)
    qtbot.waitUntil(lambda: text_share(tall) == pytest.approx(text, abs=0.02))
    qtbot.waitUntil(lambda: share(tall, "distribution")[1] == pytest.approx(bars, abs=0.02))


def test_a_layout_that_nobody_arranged_follows_after_the_next_start_too(
    qtbot: QtBot, tall: MainWindow, new_window: Callable[[], MainWindow]
) -> None:
    tall.close()
    again = new_window()
    again.resize(1024, 640)
    distribution, sampling = again.docks["distribution"], again.docks["sampling"]
    qtbot.waitUntil(lambda: again.tabifiedDockWidgets(distribution) == [sampling])


def left_width(window: MainWindow) -> int:
    return window.docks["game"].width()


def test_a_panel_on_the_left_keeps_its_usual_width(qtbot: QtBot, tall: MainWindow) -> None:
    """Its contents are cut with less, and more is taken from the text."""
    tall.resize(1400, 860)
    qtbot.waitUntil(lambda: has_usual_shares(tall))
    tall.focus_panel("game")
    qtbot.waitUntil(lambda: abs(left_width(tall) - docking.LEFT_WIDTH) < 4)
    qtbot.waitUntil(lambda: is_learned(tall))
    for size in ((1024, 640), (1400, 860)):
        tall.resize(*size)
        usual = docking.usual_left_width(tall)
        qtbot.waitUntil(lambda usual=usual: abs(left_width(tall) - usual) < 4)
        assert text_share(tall) * tall.width() > docking.CENTRE_WIDTH - 20


def test_a_low_window_of_the_last_time_that_is_made_high_shows_its_bars(
    qtbot: QtBot, tall: MainWindow, new_window: Callable[[], MainWindow]
) -> None:
    tall.resize(1024, 640)
    distribution, sampling = tall.docks["distribution"], tall.docks["sampling"]
    qtbot.waitUntil(lambda: tall.tabifiedDockWidgets(distribution) == [sampling])
    tall.focus_panel("game")
    qtbot.waitUntil(lambda: is_learned(tall))
    tall.close()
    again = new_window()
    qtbot.waitUntil(lambda: again.height() == 640 and is_learned(again))
    again.resize(1400, 860)
    qtbot.waitUntil(again.panels["sampling"].isVisible)
    qtbot.waitUntil(lambda: is_learned(again))
    assert again.docks["distribution"].height() > again.docks["sampling"].height()


def test_a_closed_panel_is_not_opened_again(qtbot: QtBot, tall: MainWindow) -> None:
    tall.docks["sampling"].close()
    tall.resize(1024, 640)
    qtbot.waitUntil(lambda: tall.height() == 640)
    QApplication.processEvents()
    assert tall.docks["sampling"].isHidden()
