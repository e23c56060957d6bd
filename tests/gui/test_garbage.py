"""Garbage dies in the window's thread."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from logitscope.gui.garbage import YOUNG, Collector


class Knot:
    """Only a collection frees it; notes the thread that did."""

    def __init__(self) -> None:
        self.own = self


@pytest.fixture
def collector(qapp: QObject) -> Iterator[Collector]:
    made = Collector()
    yield made
    made.close()
    assert gc.isenabled()


def allocate(count: int) -> list[list[int]]:
    return [[n] for n in range(count)]


def test_no_other_thread_collects(qtbot: QtBot, collector: Collector) -> None:
    gc.collect()
    ends: list[str] = []
    knot = Knot()
    weakref.finalize(knot, lambda: ends.append(threading.current_thread().name))
    del knot
    other = threading.Thread(target=allocate, args=(100 * YOUNG,), name="other")
    other.start()
    other.join()
    assert ends == []
    # Many more than are needed: what earlier tests have left dies meanwhile, and is counted off.
    kept = allocate(50 * YOUNG)
    qtbot.waitUntil(lambda: bool(ends), timeout=5000)
    assert ends == ["MainThread"]
    assert len(kept) == 50 * YOUNG


def test_little_garbage_is_left_alone(collector: Collector) -> None:
    gc.collect()
    assert collector.collect() == -1
    kept = allocate(2 * YOUNG)
    assert collector.collect() >= 0
    assert kept
