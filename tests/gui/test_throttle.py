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
    throttle.setObjectName("under test")
    return throttle, found


def test_the_first_call_is_passed_on_at_once(times: tuple[Throttle, list[float]]) -> None:
    throttle, found = times
    throttle.throttle()
    assert len(found) == 1


def test_many_calls_become_the_first_and_the_last(
    qtbot: QtBot, times: tuple[Throttle, list[float]]
) -> None:
    throttle, found = times
    for _ in range(50):
        throttle.throttle()
    assert len(found) == 1
    qtbot.waitUntil(lambda: len(found) == 2)
    assert found[1] - found[0] >= 0.99 * INTERVAL / 1000
    quiet = QTimer(singleShot=True)
    with qtbot.waitSignal(quiet.timeout):
        quiet.start(2 * INTERVAL)
    assert len(found) == 2


def test_what_waits_can_be_had_at_once(times: tuple[Throttle, list[float]]) -> None:
    throttle, found = times
    throttle.throttle()
    throttle.flush()
    assert len(found) == 1
    throttle.throttle()
    throttle.flush()
    assert len(found) == 2
