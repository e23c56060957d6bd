"""What the window has for beginners: the first minute, the menu of examples, the lessons."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QMenu

from logitscope.gui.first_minute import FirstMinute
from logitscope.gui.panels.lesson_words import say
from logitscope.gui.panels.text import TextPanel
from logitscope.gui.widgets.hint_bar import HintBar
from logitscope.gui.widgets.plain import plain_tip

if TYPE_CHECKING:
    from logitscope.example_file import Example
    from logitscope.gui.main_window import MainWindow


class Beginning(QObject):
    """Belongs to a window, which has built its panels, bars and actions."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self.hint = HintBar(window)
        bars = window.menuWidget()
        top = None if bars is None else bars.layout()
        if top is not None:
            top.addWidget(self.hint)
        self.menu = QMenu(window)
        self.menu.setToolTipsVisible(True)
        # The window starts without reading the examples.
        self.menu.aboutToShow.connect(self._fill)
        window.command_actions["examples"].setMenu(self.menu)
        self.first_minute = FirstMinute(
            window.session, window.files.keeper, window.settings, self.hint
        )
        text = window.panels["text"]
        if isinstance(text, TextPanel):
            self.first_minute.focus = text.view
        self.first_minute.follow(window.opener, partial(window.focus_panel, "lessons"))

    def _fill(self) -> None:
        if not self.menu.isEmpty():
            return
        from logitscope.gui import learning

        groups: dict[str, QMenu] = {}
        for example in learning.examples():
            if example.group not in groups:
                groups[example.group] = self.menu.addMenu(say(example.group))
                groups[example.group].setToolTipsVisible(True)
            action = groups[example.group].addAction(
                say(example.title), partial(self.open_example, example)
            )
            action.setObjectName(f"example_{example.id}")
            action.setToolTip(plain_tip(say(example.tip)))

    def show_examples(self) -> None:
        """The menu, below the name of the model."""
        name = self._window.model_bar.name
        self.menu.popup(name.mapToGlobal(name.rect().bottomLeft()))

    def open_example(self, example: Example) -> None:
        """Put an example on the screen, with its settings and panels, and let it run."""
        from logitscope.gui import learning

        window, setup = self._window, example.setup
        window.session.stop()
        window.files.show(setup.state(), say(example.tip))
        learning.arrange(setup, window)
        if setup.run:
            window.session.run(setup.run)
