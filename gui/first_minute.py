"""The first minute: the demo model with a prompt, its first tokens, and a hint what to try."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QWidget

from logitscope.gui.keeping import Bookmark, Keeper
from logitscope.gui.opening import Opener
from logitscope.gui.session import Session
from logitscope.gui.settings import Setting, Settings
from logitscope.gui.widgets.hint_bar import HintBar

if TYPE_CHECKING:
    from logitscope.lesson_parts import Setup

HINT = Setting("learn/hint", True, "", "", "")
"""Whether the hint of the first minute was not put away yet."""
FIRST_EXAMPLE = "once"


class FirstMinute(QObject):
    """Fills the window that nobody has told what to do, and says what can be done."""

    def __init__(self, session: Session, keeper: Keeper, settings: Settings, bar: HintBar) -> None:
        super().__init__(bar)
        self._session = session
        self._keeper = keeper
        self._settings = settings
        self.bar = bar
        self._waiting: Setup | None = None
        """What is on the screen and shall be continued once its first row is there."""
        self._is_running = False
        self.focus: QWidget | None = None
        """Takes the keyboard, so that → steps."""
        bar.closed.connect(lambda: settings.set(HINT, False))
        session.row_changed.connect(self._go_on)
        session.run_changed.connect(self._take_end)
        session.model_changed.connect(self._follow_model)
        self._demo = ""

    def follow(self, opener: Opener, lesson: Callable[[], object]) -> None:
        """Begin when the demo model is opened; offer the ways out of it."""
        self.bar.add_button(self.tr("Start a lesson")).clicked.connect(lesson)
        self.bar.add_button(self.tr("Open your own model…")).clicked.connect(opener.ask_for_file)
        opener.demo_opened.connect(self.begin)
        opener.demo_refused.connect(self.bar.say)

    def begin(self) -> None:
        """Put the first example on the screen, unless there is something already."""
        self._demo = self._session.loading_path or ""
        state = self._session.state
        if not state.text and state.count == 0:
            from logitscope.gui import learning

            setup = next(e.setup for e in learning.examples() if e.id == FIRST_EXAMPLE)
            fresh = setup.state()
            self._keeper.return_to(Bookmark(fresh, fresh, None))
            self._waiting = setup
        if self._settings.get(HINT):
            self.bar.say(
                self.tr("Press → for the next token, drag the temperature, or open your own model.")
            )

    def _go_on(self) -> None:
        """The first distribution is there: let some tokens follow."""
        setup, session = self._waiting, self._session
        if setup is None or not session.is_ready or not session.row_is_current:
            return
        self._waiting = None
        if session.state.blocks == setup.blocks and not session.document.path:
            if self.focus is not None:
                self.focus.setFocus(Qt.FocusReason.OtherFocusReason)
            self._is_running = True
            session.run(setup.run)

    def _take_end(self) -> None:
        if self._is_running and not self._session.is_running:
            self._is_running = False
            self._keeper.accept()

    def _follow_model(self) -> None:
        """The hint speaks of the demo model: another one has no use for it."""
        session = self._session
        wanted = session.loading_path or (session.model.path if session.model else "")
        if wanted and wanted != self._demo:
            self._waiting = None
            self.bar.say("")
