"""The real window on a model in its own process, led by commands and watched from within.

Program: ``main()``. It says ``docks``, the panels that stand around the text.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psutil
from answering import Answer, serve
from paint_counter import PaintCounter
from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtGui import QTextCursor
from PySide6.QtTest import QTest
from watchdog import Watchdog

from logitscope.backends.base import LoadOptions
from logitscope.gui import theme
from logitscope.gui.app import make_application, make_window
from logitscope.gui.garbage import Collector
from logitscope.gui.panels.text import TextPanel
from logitscope.gui.settings import Settings
from logitscope.sampling import SamplerSettings

PATIENCE_MS = 250_000


def main() -> None:
    driver = Driver()
    commands = (driver.load, driver.write, driver.run, driver.paints, driver.clear, driver.type)
    serve({"docks": sorted(driver.window.docks)}, {c.__name__: c for c in commands})
    driver.window.close()


class Driver:
    """Does what a person does, and tells how long it took."""

    def __init__(self) -> None:
        self._application = make_application()
        theme.install(self._application, theme.Mode.LIGHT)
        self.window = make_window(Settings())
        self.window.show()
        for dock in self.window.docks.values():
            dock.show()
        self._session = self.window.session
        self._session.set_settings(SamplerSettings(temperature=0.0))
        self._editor = text_panel(self.window.panels).editor
        self._dog = Watchdog()
        self._loop = QEventLoop()
        self._collector = Collector()
        self._is_done: Callable[[], bool] = lambda: True
        self._complaints: list[str] = []
        self._follow()
        self._application.processEvents()

    def _follow(self) -> None:
        session = self._session
        session.noticed.connect(lambda notice: self._complaints.append(str(notice)))
        for signal in (
            session.model_changed, session.row_changed, session.run_changed,
            session.cost_changed, session.noticed,
        ):  # fmt: skip
            signal.connect(self._check)

    # -- commands ---------------------------------------------------------------------------

    def load(
        self,
        path: str,
        threads: int | None = None,
        context: int | None = None,
        flash: bool | None = None,
    ) -> Answer:
        """From the wish to open a model to the first row on show."""
        begun = time.perf_counter()
        with self._watched() as blocked:
            options = LoadOptions(context, threads, flash_attention=flash)
            self._session.open_model(path, "", options)
            self._wait(lambda: self._session.model is not None and self._row_is_there())
            # The watch goes on behind it.
            seconds = time.perf_counter() - begun
        model = self._session.model
        assert model is not None
        return {
            "seconds": seconds,
            "blocked": blocked,
            "context": model.context_length,
            "pid": self._model_process().pid,
        }

    def write(self, text: str) -> Answer:
        """Put a text into the editor, as a paste does, and wait for its row."""
        begun = time.perf_counter()
        with self._watched() as blocked:
            self._editor.selectAll()
            self._editor.insertPlainText(text)
            self._wait(self._row_is_there)
            seconds = time.perf_counter() - begun
        return {"seconds": seconds, "blocked": blocked, "ids": list(self._session.ids)}

    def run(self, tokens: int, watch: bool = False) -> Answer:
        """Generate, greedily, while every panel follows."""
        session, model = self._session, self._model_process()
        before = len(session.ids)
        window_cpu, model_cpu = time.process_time(), busy_seconds(model)
        begun = time.perf_counter()
        with self._watched(watch) as blocked:
            session.run(tokens)
            self._wait(lambda: not session.is_running)
            seconds = time.perf_counter() - begun
        return {
            "seconds": seconds,
            "window_cpu": time.process_time() - window_cpu,
            "model_cpu": busy_seconds(model) - model_cpu,
            "ids": list(session.ids[before:]),
            "blocked": blocked,
        }

    def paints(self, tokens: int) -> Answer:
        """How often each panel in sight is painted in a run; to count them costs time."""
        counter = PaintCounter(self.window)
        self._session.run(tokens)
        self._wait(lambda: not self._session.is_running)
        counts = counter.counts()
        counter.end()
        return {"paints": counts}

    def type(self, text: str, pause_ms: int) -> Answer:
        """Type behind the text, one key at a time; wait for the row behind each."""
        self._editor.moveCursor(QTextCursor.MoveOperation.End)
        edits = []
        with self._watched() as blocked:
            for character in text:
                edits.append(self._type_one(character))
                self._pause(pause_ms)
        return {"edits": edits, "blocked": blocked}

    def clear(self) -> Answer:
        """Take the text and its continuations away."""
        self._session.set_prompt("")
        return {}

    # -- parts ------------------------------------------------------------------------------

    def _type_one(self, character: str) -> Answer:
        begun = time.perf_counter()
        QTest.keyClicks(self._editor, character)
        self._wait(self._row_is_there)
        seconds, cost = time.perf_counter() - begun, self._session.cost
        assert cost is not None
        return {
            "seconds": seconds,
            "model_seconds": cost.seconds,
            "evaluated": cost.evaluated,
            "ids": list(self._session.ids),
        }

    def _row_is_there(self) -> bool:
        return bool(self._session.is_ready and self._session.row_is_current)

    def _model_process(self) -> psutil.Process:
        children = psutil.Process().children()
        return next(child for child in children if "resource_tracker" not in str(child.cmdline()))

    @contextmanager
    def _watched(self, watch: bool = True) -> Iterator[dict[str, Any]]:
        found: dict[str, Any] = {}
        if watch:
            self._dog.start()
        yield found
        if watch:
            # What the last reply has set off is part of it.
            self._pause(100)
            found.update(self._dog.stop())

    def _pause(self, milliseconds: int) -> None:
        loop = QEventLoop()
        QTimer.singleShot(milliseconds, loop.quit)
        loop.exec()

    def _wait(self, is_done: Callable[[], bool]) -> None:
        """Stay in the event loop, as the program does, until a signal brings what is waited for."""
        self._is_done = is_done
        if is_done():
            return
        guard = QTimer(singleShot=True)
        guard.timeout.connect(lambda: self._loop.exit(1))
        guard.start(PATIENCE_MS)
        if self._loop.exec() != 0:
            raise TimeoutError(f"nothing within {PATIENCE_MS} ms; said: {self._complaints[-3:]}")

    def _check(self) -> None:
        if self._is_done():
            self._loop.quit()


def text_panel(panels: dict[str, Any]) -> TextPanel:
    panel = panels["text"]
    assert isinstance(panel, TextPanel)
    return panel


def busy_seconds(process: psutil.Process) -> float:
    """Processor time, all threads."""
    times = process.cpu_times()
    return float(times.user + times.system)
