"""Plays a lesson as a person does: picks predictions, does the tasks on the real widgets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QTabBar, QWidget
from pytestqt.qtbot import QtBot

from logitscope.gui.dialogs.train_bigram import TrainBigramDialog
from logitscope.gui.main_window import MainWindow
from logitscope.gui.panels.lesson_words import UNKNOWN
from logitscope.gui.panels.lessons import LessonsPanel

SLOW_MS = 60_000
TABS = ("bars", "list", "curve", "how", "compare")
SCALES = ("linear", "log", "logit")


class Player:
    """Acts on one window with a model loaded."""

    def __init__(self, window: MainWindow, qtbot: QtBot) -> None:
        self.window, self.qtbot = window, qtbot
        self.session = window.session
        window.focus_panel("lessons")
        panel = window.panels["lessons"]
        assert isinstance(panel, LessonsPanel)
        self.panel = panel
        self.until(panel.isVisible)

    def until(self, condition: Callable[[], object]) -> None:
        self.qtbot.waitUntil(lambda: bool(condition()), timeout=SLOW_MS)

    def settled(self) -> None:
        """Nothing is generated, and the row on show is that of the selected position."""
        session = self.session
        self.until(lambda: session.is_ready and not session.is_running and session.row_is_current)

    # -- going through ----------------------------------------------------------------------

    def start(self, index: int) -> None:
        self.click(self.panel.chooser.cards[index].button)
        assert self.panel.run is not None
        self.settled()

    def do_step(self, task: Callable[[Player], None] | None, choice: int = 0) -> None:
        """Predict, do the task, go on."""
        panel = self.panel
        run = panel.run
        assert run is not None
        self.settled()
        panel.look()
        if run.step.prediction is not None:
            assert not run.is_done, "done before it was predicted"
            self.click(panel.step.choices.buttons[choice])
            assert run.chosen == choice
        if task is not None:
            # The origin panel begins by itself where it is open: that one may be done already.
            is_early = panel.next.isEnabled()
            assert not is_early or run.step.checks[0].name == "origin_known", run.step.title
            task(self)
        self.until(panel.next.isEnabled)
        assert UNKNOWN not in panel.step.result.text().replace(f"{UNKNOWN}”", ""), "unknown numbers"
        if run.step.prediction is not None:
            assert run.came_true() is not None
        self.click(panel.next)

    def answer(self, given: float) -> None:
        self.panel.step.answer.setText(f"{given:.6g}")
        self.click(self.panel.step.check)

    # -- acting -----------------------------------------------------------------------------

    def click(self, widget: QWidget) -> None:
        self.until(widget.isEnabled)
        self.qtbot.mouseClick(widget, Qt.MouseButton.LeftButton)

    @property
    def distribution(self) -> Any:
        return self.window.panels["distribution"]

    @property
    def sampling(self) -> Any:
        return self.window.panels["sampling"]

    @property
    def text(self) -> Any:
        return self.window.panels["text"]

    @property
    def loss(self) -> Any:
        return self.window.panels["loss"]

    def tab(self, name: str) -> None:
        bar: QTabBar = self.distribution.tabs.tabBar()
        place = bar.tabRect(TABS.index(name)).center()
        self.qtbot.mouseClick(bar, Qt.MouseButton.LeftButton, pos=place)

    def scale(self, name: str) -> None:
        self.distribution.scale_box.setCurrentIndex(SCALES.index(name))

    def temperature(self, value: float) -> None:
        """Drag the slider, which covers 0 to 2."""
        slider = self.sampling.controls.temperature.slider
        slider.setValue(round(value / 2 * slider.maximum()))

    def step(self, times: int = 1) -> None:
        for _ in range(times):
            before = len(self.session.ids)
            self.qtbot.keyClick(self.window, Qt.Key.Key_F10)
            self.until(lambda before=before: len(self.session.ids) > before)
            self.settled()

    def run(self, length: int) -> None:
        """Run, and once more where the model ends its text before."""
        before = len(self.session.ids)
        self.text.transport.length.setValue(length)
        while len(self.session.ids) < before + length:
            self.text.transport.length.setValue(before + length - len(self.session.ids))
            here = len(self.session.ids)
            self.click(self.text.transport.run)
            self.until(lambda here=here: len(self.session.ids) > here)
            self.settled()

    def select(self, position: int, view: Any) -> None:
        # A panel draws its tokens up to a frame after the session knows them.
        self.until(lambda: tuple(view.ids) == self.session.ids and view.is_complete)
        view.scroll_to(position)
        point: QPoint = view.rect_of(position).center()
        self.qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=point)

    def type_over(self, old: str, new: str) -> None:
        editor = self.text.editor
        start = editor.text.index(old)
        cursor = editor.textCursor()
        cursor.setPosition(start)
        cursor.setPosition(start + len(old), QTextCursor.MoveMode.KeepAnchor)
        editor.setTextCursor(cursor)
        self.qtbot.keyClicks(editor, new)
        self.settled()

    def show(self, panel: str) -> None:
        self.window.focus_panel(panel)

    def scored(self) -> NDArray[np.float64]:
        """Losses of the text on screen, all but the first token's."""
        table = self.loss.table
        self.until(
            lambda: len(table) == len(self.session.ids) and table.first_unknown >= len(table)
        )
        return np.asarray(table.loss[1:], dtype=np.float64)

    def probabilities(self, temperature: float = 1.0) -> NDArray[np.float64]:
        """Softmax of the row on show, by the definition, largest first."""
        row = self.session.row
        assert row is not None
        logits = row.distribution.logits.astype(np.float64) / temperature
        weights = np.exp(logits - logits.max())
        return np.sort(weights / weights.sum())[::-1]

    def use_bigram(self) -> None:
        """Train a table on the characters on screen, and use it in all panels."""
        self.window.command_actions["train_bigram"].trigger()
        self.until(lambda: self.window.findChild(TrainBigramDialog) is not None)
        dialog = self.window.findChild(TrainBigramDialog)
        assert dialog is not None
        self.click(dialog.from_screen)
        self.click(dialog.train)
        self.until(dialog.use.isEnabled)
        self.click(dialog.use)
        session = self.session
        self.until(lambda: session.model is not None and session.model.backend == "bigram")
        self.settled()
