"""Long texts in the loss panel: scrolling 100,000 tokens, opening a million.

The model is a stub that answers at once, so that the window alone is measured. A frame lasts from
the turn of the wheel to the end of the painting it causes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
import psutil
import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot
from stub_engine import BOS, Stage
from verdict import Verdict, spread
from watchdog import Watchdog

from logitscope.backends.messages import Scored, Tokenized
from logitscope.gui.garbage import Collector
from logitscope.gui.panels.loss import LossPanel
from logitscope.gui.widgets.heat_pages import PAGE
from logitscope.heap import keep_freed_blocks
from logitscope.surprisal import TOP

VOCABULARY = 262_144
SCROLLED, OPENED = 100_000, 1_000_000
FRAMES, FRAME_MS = 300, 16.0
BLOCKED_MS, GROWTH_MB = 50.0, 300.0
WHEEL = -120
"""One notch down."""


class PaintClock(QObject):
    """Notes when a widget has been painted."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.count = 0
        widget.installEventFilter(self)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Paint:
            self.count += 1
        return False


@pytest.fixture
def shown(qtbot: QtBot) -> Iterator[tuple[Stage, LossPanel]]:
    keep_freed_blocks()
    stage = Stage()
    stage.load(VOCABULARY)
    for name in ("tokenize", "score"):
        setattr(stage.engine, name, noted(stage, name))
    panel = LossPanel(stage.session)
    qtbot.addWidget(panel)
    panel.resize(1000, 400)
    panel.show()
    qtbot.waitExposed(panel)
    # As in the program: a collection of everything is no part of a frame.
    collector = Collector()
    yield stage, panel
    collector.close()
    panel.opener.close()


def noted(stage: Stage, name: str) -> Callable[..., int]:
    return lambda *_args, **_named: stage.engine._note(name)


def ids_of(count: int) -> tuple[int, ...]:
    return tuple(np.random.default_rng(0).integers(BOS + 1, VOCABULARY, count).tolist())


def open_text(qtbot: QtBot, stage: Stage, panel: LossPanel, ids: tuple[int, ...]) -> None:
    """Until the text is on show and its scoring has been asked for."""
    requests = stage.engine.requests
    panel.show_text("a text", "long")
    number = len(requests) - requests[::-1].index("tokenize")
    stage.engine.replied.emit(Tokenized(number, ids))
    page = min(len(ids), PAGE)
    qtbot.waitUntil(lambda: len(panel.heat.codes) == len(ids), timeout=60_000)
    qtbot.waitUntil(lambda: len(panel.heat_view.view.ids) == page, timeout=60_000)
    qtbot.waitUntil(lambda: requests[-1] == "score", timeout=60_000)


def score_all(stage: Stage, panel: LossPanel) -> None:
    """Answer one window after the other with losses of every strength."""
    random = np.random.default_rng(1)
    while stage.engine.requests[-1] == "score" and panel.scorer.is_scoring:
        start = panel.table.first_unknown
        window = panel.scorer._pass
        count = window.end - start
        stage.engine.replied.emit(
            Scored(
                number=len(stage.engine.requests),
                start=start - window.begin,
                log_probability=-random.exponential(3.0, count),
                rank=random.integers(1, 5000, count, dtype=np.int32),
                entropy=random.exponential(3.0, count),
                logit=np.zeros(count, dtype=np.float32),
                top_ids=np.zeros((count, TOP), dtype=np.int32),
                top_log_probability=np.zeros((count, TOP), dtype=np.float32),
            )
        )
        panel.scorer._number = 0
        panel.scorer._go_on()


@pytest.mark.timeout(900)
def test_scrolling(
    qtbot: QtBot, qapp: QApplication, shown: tuple[Stage, LossPanel], verdict: Verdict, quick: bool
) -> None:
    stage, panel = shown
    open_text(qtbot, stage, panel, ids_of(10_000 if quick else SCROLLED))
    score_all(stage, panel)
    panel.flush()
    view = panel.heat_view.view
    clock = PaintClock(view.viewport())
    bar = view.verticalScrollBar()
    settle(qapp, 1.0)
    taken, busy = [], []
    for frame in range(20 if quick else FRAMES):
        # Every tenth frame far away, where nothing is laid out yet.
        if frame % 10 == 0:
            bar.setValue(bar.maximum() * frame // FRAMES)
            settle(qapp, 0.05)
        painted, began, worked = clock.count, time.perf_counter(), time.thread_time()
        turn_wheel(view.viewport())
        while clock.count == painted:
            qapp.processEvents()
        taken.append(1000 * (time.perf_counter() - began))
        busy.append(1000 * (time.thread_time() - worked))
    verdict.say(f"wheel to painted {spread(taken)} ms, of which busy {spread(busy)} ms")
    verdict.say(f"95th percentile of busy {np.percentile(busy, 95):.1f} ms")
    p95 = float(np.percentile(taken, 95))
    verdict.at_most("95th percentile of a frame of scrolling", p95, FRAME_MS, "ms")


@pytest.mark.timeout(900)
def test_opening(
    qtbot: QtBot, qapp: QApplication, shown: tuple[Stage, LossPanel], verdict: Verdict, quick: bool
) -> None:
    """The ids arrive as a tuple that is there already: unpickling it is the reader thread's."""
    stage, panel = shown
    open_text(qtbot, stage, panel, ids_of(1_000))
    ids = ids_of(60_000 if quick else OPENED)
    settle(qapp, 1.0)
    before = psutil.Process().memory_info().rss
    watchdog = Watchdog()
    watchdog.start()
    open_text(qtbot, stage, panel, ids)
    settle(qapp, 2.0)
    found = watchdog.stop()
    growth = (psutil.Process().memory_info().rss - before) / 1e6
    busy, usual = found["busy"], found["p99"]
    verdict.say(f"in the longest block busy {busy:.1f} ms; 99th percentile {usual:.1f} ms")
    verdict.at_most("longest block, opening a million tokens", found["blocked"], BLOCKED_MS, "ms")
    verdict.at_most("growth of memory, opening a million tokens", growth, GROWTH_MB, "MB")


def settle(qapp: QApplication, seconds: float) -> None:
    """Let what was begun come to its end."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        qapp.processEvents()


def turn_wheel(viewport: QWidget) -> None:
    place = QPointF(viewport.rect().center())
    event = QWheelEvent(
        place,
        QPointF(viewport.mapToGlobal(place)),
        QPoint(),
        QPoint(0, WHEEL),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(viewport, event)
