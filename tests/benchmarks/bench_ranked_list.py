"""The ranked list at 262,144 entries: opening it, scrolling it, and finding a token in it."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot
from stub_engine import Stage

from logitscope.gui.panels.distribution import DistributionPanel

SIZE = 262_144
REPEATS = 15
OPEN_MS = 100.0
SEARCH_MS = 50.0
SCROLL_MS = 16.0


def milliseconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - began)


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.fixture
def panel(qtbot: QtBot, stage: Stage) -> DistributionPanel:
    made = DistributionPanel(stage.session)
    qtbot.addWidget(made)
    made.resize(560, 700)
    made.show()
    qtbot.waitExposed(made)
    stage.load(SIZE)
    return made


def row(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.0, 2.5, SIZE).astype(np.float32)


def report(name: str, taken: list[float], budget: float) -> None:
    p50, worst = np.percentile(taken, [50, 100])
    print(f"\n{name:28} p50 {p50:6.1f}  max {worst:6.1f} ms  (budget {budget:.0f})")
    assert p50 <= budget


def test_opening_and_scrolling(qapp: QObject, stage: Stage, panel: DistributionPanel) -> None:
    opened, scrolled = [], []

    def open_list() -> None:
        panel.tabs.setCurrentWidget(panel.list)
        qapp.processEvents()

    def scroll() -> None:
        bar = panel.list.view.verticalScrollBar()
        bar.setValue((bar.value() + bar.maximum() // 7) % bar.maximum())
        qapp.processEvents()

    for seed in range(REPEATS):
        panel.tabs.setCurrentWidget(panel.bars)
        stage.show(row(seed))
        panel.flush()
        qapp.processEvents()
        opened.append(milliseconds(open_list))
        scrolled.append(milliseconds(scroll))
    report("list: open on a new row", opened, OPEN_MS)
    report("list: jump to another place", scrolled, SCROLL_MS)


@pytest.mark.parametrize("text", [" Budapest", "9", "E2 80", "#200000", "not there"])
@pytest.mark.parametrize("way", ["prefix", "contains"])
def test_search(stage: Stage, panel: DistributionPanel, text: str, way: str) -> None:
    stage.show(row(0))
    panel.tabs.setCurrentWidget(panel.list)
    bar = panel.list.search.bar
    bar.way.setCurrentIndex(bar.way.findData(way))
    taken = []
    for _ in range(REPEATS):
        bar.line.clear()
        taken.append(milliseconds(lambda: bar.line.setText(text)))
    report(f"search {text!r}, {way}", taken, SEARCH_MS)
