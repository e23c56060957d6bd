"""Panels as windows of their own: popped out, dragged out, closed and docked again."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolButton
from pytestqt.qtbot import QtBot
from sight import is_seen

from logitscope.gui.main_window import MainWindow
from logitscope.gui.widgets.card import PanelDock


def test_a_panel_that_is_popped_out_is_seen_to_be_a_window(
    qtbot: QtBot, window: MainWindow
) -> None:
    dock = window.docks["sampling"]
    before = dock.mapToGlobal(QPoint(0, 0))
    dock._float.click()
    qtbot.waitUntil(
        lambda: not dock.windowFlags() & Qt.WindowType.FramelessWindowHint and dock.isVisible()
    )
    assert dock.isFloating()
    assert dock.windowTitle() == "Sampling"
    qtbot.waitUntil(dock.isActiveWindow)
    assert dock.mapToGlobal(QPoint(0, 0)) != before
    dock._float.click()
    qtbot.waitUntil(lambda: not dock.isFloating() and dock.isVisible())
    assert dock.mapToGlobal(QPoint(0, 0)) == before


def click_float(dock: PanelDock) -> None:
    """With the mouse, as a person does."""
    handle = dock.window().windowHandle()
    place = dock._float.mapTo(dock.window(), dock._float.rect().center())
    QTest.mouseMove(handle, place)
    assert dock._float.underMouse()
    QTest.mouseClick(handle, Qt.MouseButton.LeftButton, pos=place)


@pytest.mark.parametrize("name", ["sampling", "loss", "origin"])
def test_the_button_is_left_by_the_mouse_when_its_panel_moves(
    qtbot: QtBot, window: MainWindow, name: str
) -> None:
    """It stayed tinted until the mouse came back to it."""
    dock = window.docks[name]
    click_float(dock)
    qtbot.waitUntil(lambda: dock.isFloating() and is_framed(dock) and dock.isVisible())
    assert not dock._float.underMouse()
    click_float(dock)
    qtbot.waitUntil(lambda: not dock.isFloating() and is_seen(window, name))
    assert not dock._float.underMouse()


def is_framed(dock: PanelDock) -> bool:
    return not dock.windowFlags() & Qt.WindowType.FramelessWindowHint


def test_a_panel_that_is_dragged_out_is_a_window_like_any_other(
    qtbot: QtBot, window: MainWindow
) -> None:
    dock = window.docks["sampling"]
    handle = window.windowHandle()
    start = dock.title.label.mapTo(window, dock.title.label.rect().center())
    QTest.mousePress(handle, Qt.MouseButton.LeftButton, pos=start)
    # Over the window itself it would find another place there.
    end = QPoint(window.width() + 2 * dock.width(), start.y())
    for part in range(1, 5):
        QTest.mouseMove(handle, start + (end - start) * part / 4)
    qtbot.waitUntil(dock.isFloating)
    assert QGuiApplication.mouseButtons() == Qt.MouseButton.LeftButton
    assert not is_framed(dock)
    QTest.mouseRelease(handle, Qt.MouseButton.LeftButton, pos=end)
    qtbot.waitUntil(lambda: is_framed(dock) and dock.isVisible())
    assert dock.isFloating()


def pop_out(qtbot: QtBot, dock: PanelDock) -> None:
    dock._float.click()
    qtbot.waitUntil(lambda: is_framed(dock) and dock.isVisible())


@pytest.mark.parametrize("name", ["sampling", "branches"])
def test_a_window_closed_by_its_frame_is_a_panel_again(
    qtbot: QtBot, window: MainWindow, name: str
) -> None:
    window.focus_panel(name)
    dock = window.docks[name]
    qtbot.waitUntil(lambda: is_seen(window, name))
    before = dock.mapToGlobal(QPoint(0, 0)), dock.size()
    pop_out(qtbot, dock)
    # What a window manager asks for, by its button or Alt+F4.
    dock.windowHandle().close()
    qtbot.waitUntil(lambda: not dock.isFloating() and is_seen(window, name))
    assert (dock.mapToGlobal(QPoint(0, 0)), dock.size()) == before
    assert window.command_actions[f"toggle_{name}"].isChecked()


def close_by_button(window: MainWindow, dock: PanelDock) -> None:
    buttons = dock.title.findChildren(QToolButton)
    next(each for each in buttons if each.accessibleName() == "Close this panel").click()


def close_by_key(window: MainWindow, dock: PanelDock) -> None:
    window.command_actions["toggle_sampling"].trigger()


def close_by_qt_s_menu(window: MainWindow, dock: PanelDock) -> None:
    menu = window.createPopupMenu()
    next(action for action in menu.actions() if action.text() == "Sampling").trigger()
    menu.deleteLater()


@pytest.mark.parametrize("is_popped_out", [False, True])
@pytest.mark.parametrize("close", [close_by_button, close_by_key, close_by_qt_s_menu])
def test_a_panel_that_is_closed_stays_closed(
    qtbot: QtBot,
    window: MainWindow,
    close: Callable[[MainWindow, PanelDock], None],
    is_popped_out: bool,
) -> None:
    dock = window.docks["sampling"]
    if is_popped_out:
        pop_out(qtbot, dock)
    close(window, dock)
    assert dock.isHidden()
    # Whatever would bring it back comes with the next turns of the event loop.
    for _ in range(3):
        QApplication.processEvents()
    assert dock.isHidden()
    assert dock.isFloating() == is_popped_out
    assert not window.command_actions["toggle_sampling"].isChecked()
    window.command_actions["toggle_sampling"].trigger()
    assert dock.isVisible()
