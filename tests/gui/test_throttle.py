"""Signals that are passed on at most once a frame."""

from __future__ import annotations

import time

import pytest
from PySide6.QtCore import QTimer
from pytestqt.qtbot import QtBot

from logitscope.gui.throttle import Throttle

INTERVAL = 200


@pytest.fixture
def times(qtbot: QtBot) -> tuple[Throttle, list[float]]:
    throttle = Throttle(INTERVAL)
    found: list[float] = []
    throttle.triggered.connect(lambda: found.append(time.monotonic()))
    return throttle, found


def test_what_changes_in_one_event_is_passed_on_once(
    qtbot: QtBot, times: tuple[Throttle, list[float]]
) -> None:
    throttle, found = times
    began = time.monotonic()
    for _ in range(50):
        throttle.throttle()
    assert not found
    qtbot.waitUntil(lambda: len(found) == 1)
    assert found[0] - began < INTERVAL / 1000
    rest(qtbot)
    assert len(found) == 1


def test_later_calls_wait_for_the_interval(
    qtbot: QtBot, times: tuple[Throttle, list[float]]
) -> None:
    throttle, found = times
    throttle.throttle()
    qtbot.waitUntil(lambda: len(found) == 1)
    for _ in range(50):
        throttle.throttle()
    qtbot.waitUntil(lambda: len(found) == 2)
    assert found[1] - found[0] >= 0.99 * INTERVAL / 1000
    rest(qtbot)
    assert len(found) == 2


def test_what_waits_can_be_had_at_once(times: tuple[Throttle, list[float]]) -> None:
    throttle, found = times
    throttle.flush()
    assert not found
    for count in (1, 2):
        throttle.throttle()
        throttle.flush()
        assert len(found) == count


def rest(qtbot: QtBot) -> None:
    """Longer than an interval."""
    quiet = QTimer(singleShot=True)
    with qtbot.waitSignal(quiet.timeout):
        quiet.start(2 * INTERVAL)
