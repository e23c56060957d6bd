"""A bar whose figures change: who is asked to lay out anew."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLabel, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from logitscope.gui.widgets.sheltered import Sheltered


class LayoutRequests(QObject):
    """Counts those that reach a widget."""

    def __init__(self, watched: QWidget) -> None:
        super().__init__(watched)
        self.count = 0
        watched.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.count += event.type() is QEvent.Type.LayoutRequest
        return super().eventFilter(watched, event)


def window_with(inner: QWidget, qtbot: QtBot) -> QWidget:
    window = QWidget()
    QVBoxLayout(window).addWidget(inner)
    window.resize(400, 80)
    qtbot.addWidget(window)
    window.show()
    qtbot.waitExposed(window)
    return window


def bar_with(label: QLabel) -> QWidget:
    bar = QWidget()
    row = QHBoxLayout(bar)
    row.addWidget(label)
    row.addStretch(1)
    return bar


def test_a_figure_that_changes_lays_out_its_bar_but_not_the_window(qtbot: QtBot) -> None:
    label = QLabel("1")
    label.setMinimumWidth(60)
    window = window_with(Sheltered(bar_with(label)), qtbot)
    requests = LayoutRequests(window)
    narrow = label.width()
    # Its fonts are known by now, and the least size with them.
    label.setText("0")
    QApplication.processEvents()
    requests.count = 0
    label.setText("a much longer figure than before")
    qtbot.waitUntil(lambda: label.width() > narrow)
    label.setText("2")
    qtbot.waitUntil(lambda: label.width() == narrow)
    assert requests.count == 0


def test_what_needs_more_room_gets_it(qtbot: QtBot) -> None:
    label = QLabel("one line")
    shelter = Sheltered(bar_with(label))
    window = window_with(shelter, qtbot)
    requests = LayoutRequests(window)
    before = shelter.minimumSizeHint().height()
    label.setText("\n".join(["several lines"] * 9))
    qtbot.waitUntil(lambda: requests.count > 0)
    assert shelter.minimumSizeHint().height() > before
    qtbot.waitUntil(lambda: shelter.height() >= shelter.minimumSizeHint().height())


def test_the_bar_is_as_large_as_its_place(qtbot: QtBot) -> None:
    bar = bar_with(QLabel("1"))
    shelter = Sheltered(bar)
    window = window_with(shelter, qtbot)
    window.resize(700, 200)
    qtbot.waitUntil(lambda: shelter.width() > 600)
    assert bar.geometry() == shelter.rect()
