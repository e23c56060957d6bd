"""The curve makes its plot behind the window's first painting, and within itself."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from logitscope.envelope import BlockedSeries
from logitscope.gui import plot_library
from logitscope.gui.widgets.loss_curve import LossCurve


class OwnWindows(QObject):
    """Notes each widget that is shown as a window of its own."""

    def __init__(self, application: QApplication) -> None:
        super().__init__()
        self.seen: list[QWidget] = []
        application.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        is_window = isinstance(watched, QWidget) and watched.isWindow()
        if is_window and event.type() is QEvent.Type.Show:
            self.seen.append(watched)
        return False


def series(count: int) -> BlockedSeries:
    made = BlockedSeries()
    made.update(np.linspace(0.0, 5.0, count), 0, count)
    return made


def test_the_library_comes_in_pieces_where_there_is_no_room_for_the_plot(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once it stopped the window for 200 to 600 ms."""
    done: list[str] = []
    monkeypatch.setattr(plot_library, "pieces", lambda: [lambda: done.append("piece")])
    curve = LossCurve()
    qtbot.addWidget(curve)
    monkeypatch.setattr(curve, "_make_plot", lambda: done.append("plot"))
    curve.set_series(series(9), None, np.zeros(0, dtype=np.int64))
    qtbot.waitUntil(lambda: "plot" in done)
    assert done == ["piece", "plot"]


def test_the_plot_never_is_a_window_and_comes_with_something_to_draw(
    qtbot: QtBot, qapp: QApplication
) -> None:
    windows = OwnWindows(qapp)
    curve = LossCurve()
    qtbot.addWidget(curve)
    curve.show()
    nothing = np.zeros(0, dtype=np.int64)
    curve.set_series(series(9), None, nothing)
    qtbot.waitUntil(lambda: curve.has_plot)
    assert curve.plot.isVisible()
    curve.set_series(series(0), None, nothing)
    assert not curve.has_plot and not curve.plot.isVisible()
    qapp.removeEventFilter(windows)
    assert windows.seen == [curve]


@pytest.mark.parametrize("count", [200, 700, 3000, 20_000])
def test_the_rolling_mean_is_smooth_where_positions_share_columns(qtbot: QtBot, count: int) -> None:
    values = np.random.default_rng(count).uniform(0.0, 10.0, count)
    losses = BlockedSeries()
    losses.update(values, 0, count)
    curve = LossCurve()
    qtbot.addWidget(curve)
    curve.resize(400, 100)
    curve.show()
    curve.set_series(losses, None, np.zeros(0, dtype=np.int64))
    qtbot.waitUntil(lambda: curve.has_plot)

    def mean() -> np.ndarray:
        drawn: np.ndarray = curve._mean.getData()[1]
        return drawn

    # As fine as there is room for, from the first time on.
    qtbot.waitUntil(lambda: len(mean()) >= min(count, 300))
    assert np.abs(np.diff(mean())).max() < 1.0
    assert mean().min() > 2.0
    assert mean().max() < 8.0
