"""The panel Learn: lessons that are done on the live panels beside it."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtGui import QHideEvent, QKeySequence, QShortcut, QShowEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QPushButton,
    QStackedWidget,
    QStyle,
    QVBoxLayout,
    QWidget,
)

from logitscope.gui import learning, theme
from logitscope.gui import stage as stages
from logitscope.gui.notices import Notice
from logitscope.gui.panels.lesson_chooser import Chooser
from logitscope.gui.panels.lesson_step import StepView
from logitscope.gui.session import Session
from logitscope.gui.settings import MOTION, Settings
from logitscope.gui.widgets.outline import Outline
from logitscope.gui.words import mark
from logitscope.lessons import LessonRun, Progress

LOOK_MS = 150
"""A lesson looks at the window this often while it is on show; a look takes about 0.1 ms."""
WIDTH = 340


class LessonsPanel(QWidget):
    """A chooser, and the step of the lesson that is going on."""

    HELP = (
        mark("LessonsPanel", "Learn"),
        mark(
            "LessonsPanel",
            "Each step asks what you expect, lets you try it on the loaded model, and shows "
            "whether it came true, with that model's own numbers. "
            "The outline in the window shows the control that is meant; a step is done as soon as "
            "the document says so, and undo (Ctrl+Z) brings your own text back. "
            "Leave whenever you like: your progress is kept, and Go on returns to where you were.",
        ),
    )

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._settings: Settings | None = None
        self._progress = Progress()
        self.run: LessonRun | None = None
        self._runs = 0
        self._pointed = ""
        self.outline: Outline | None = None
        self._timer = QTimer(self, interval=LOOK_MS)
        self._timer.timeout.connect(self.look)
        self._outer = QVBoxLayout(self)
        self._outer.setContentsMargins(theme.GRID, theme.GRID, theme.GRID, theme.GRID)
        self._is_built = False

    def _build(self) -> None:
        """Once it is shown: the window starts without lessons."""
        self._is_built = True
        self.chooser = Chooser(learning.lessons(), self)
        self.step = StepView(self)
        self._make_buttons()
        self._lay_out()
        self._connect()
        self._show_chooser()

    def sizeHint(self) -> QSize:
        return QSize(WIDTH, 640)

    def take_settings(self, settings: Settings) -> None:
        """Where progress is kept."""
        self._settings = settings
        self._progress = Progress.loads(settings.get(learning.PROGRESS))

    def _make_buttons(self) -> None:
        self.back = QPushButton(self.tr("Back"), self)
        self.leave = QPushButton(self.tr("Leave"), self)
        self.skip = QPushButton(self.tr("Skip"), self)
        self.next = QPushButton(self.tr("Next"), self)
        self.next.setProperty("primary", True)
        self.back.setToolTip(self.tr("The step before (Alt+Page Up)"))
        self.next.setToolTip(self.tr("The next step (Alt+Page Down)"))
        self.leave.setToolTip(self.tr("Back to the list; your progress is kept"))
        self.skip.setToolTip(self.tr("Go on without doing this step"))

    def _lay_out(self) -> None:
        page = QWidget(self)
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.step, 1)
        row = QHBoxLayout()
        row.setSpacing(theme.GRID // 2)
        for widget in (self.leave, self.back):
            row.addWidget(widget)
        row.addStretch(1)
        for widget in (self.skip, self.next):
            row.addWidget(widget)
        column.addLayout(row)
        self.pages = QStackedWidget(self)
        self.pages.addWidget(self.chooser)
        self.pages.addWidget(page)
        self._outer.addWidget(self.pages)

    def _connect(self) -> None:
        self.chooser.chosen.connect(self.start)
        self.step.picked.connect(self._pick)
        self.step.answered.connect(self._answer)
        self.step.show_wanted.connect(self.show_control)
        self.back.clicked.connect(self._go_back)
        self.leave.clicked.connect(self.leave_lesson)
        self.skip.clicked.connect(self._go_on)
        self.next.clicked.connect(self._go_on)
        self._session.run_changed.connect(self._count_run)
        self._session.model_changed.connect(self._show_chooser_state)
        context = Qt.ShortcutContext.WidgetWithChildrenShortcut
        for key, button in (("Alt+PgDown", self.next), ("Alt+PgUp", self.back)):
            shortcut = QShortcut(QKeySequence(key), self, context=context)
            shortcut.activated.connect(button.click)

    # -- coming and going -------------------------------------------------------------------

    def start(self, index: int) -> None:
        """Begin a lesson, or go on with it where one left."""
        lesson = learning.lessons()[index]
        first = self._progress.next_step(lesson)
        if self._session.state.text:
            self._session.noticed.emit(
                Notice(self.tr("The lesson has its own text; undo (Ctrl+Z) brings yours back."))
            )
        self.run = LessonRun(lesson, first)
        self.pages.setCurrentIndex(1)
        self._enter(first, sets_up=True)
        self._timer.start()

    def leave_lesson(self) -> None:
        """Back to the list."""
        self.run = None
        self._timer.stop()
        self._clear_outline()
        self._show_chooser()

    def _enter(self, index: int, *, sets_up: bool) -> None:
        run, stage = self.run, stages.stage_of(self)
        if run is None or stage is None:
            return
        run.enter(index)
        if sets_up or run.step.setup is not None:
            learning.put(run.setup, self._session)
            learning.arrange(run.setup, stage)
        self._pointed = ""
        self._clear_outline()
        self.step.begin(run)
        # Next may hold the keyboard and is disabled now: Qt would pass it on to another panel.
        self.step.take_keyboard()
        self.next.setText(self.tr("Finish") if run.is_last else self.tr("Next"))
        self.look()

    def _go_on(self) -> None:
        run = self.run
        if run is None:
            return
        self._progress = self._progress.with_step(run.lesson, run.index, is_done=run.is_done)
        if self._settings is not None:
            self._settings.set(learning.PROGRESS, self._progress.dumps())
        if run.is_last:
            self.leave_lesson()
        else:
            self._enter(run.index + 1, sets_up=False)

    def _go_back(self) -> None:
        if self.run is not None and self.run.index > 0:
            self._enter(self.run.index - 1, sets_up=True)

    # -- looking ----------------------------------------------------------------------------

    def look(self) -> None:
        """Look at the window as it is now."""
        run, stage = self.run, stages.stage_of(self)
        if run is None or stage is None:
            return
        run.observe(learning.look(self._session, stage, self._runs))
        self._refresh()

    def _refresh(self) -> None:
        run = self.run
        if run is None:
            return
        self.step.refresh(run)
        self.back.setEnabled(run.index > 0)
        self.next.setEnabled(run.is_done)
        self.skip.setVisible(not run.is_done)
        wanted = "" if run.awaits_prediction or run.is_done else run.step.highlight
        self._point(wanted)

    def _pick(self, choice: int) -> None:
        if self.run is not None:
            self.run.predict(choice)
            self.look()

    def _answer(self, given: float) -> None:
        if self.run is not None:
            self.look()
            self.run.answer(given)
            self._refresh()

    def _count_run(self) -> None:
        if not self._session.is_running:
            self._runs += 1

    # -- the control meant ------------------------------------------------------------------

    def show_control(self) -> None:
        """Bring the control meant into sight and outline it anew."""
        stage = stages.stage_of(self)
        if self.run is None or stage is None:
            return
        stages.bring(stage, stages.panel_of(self.run.step.highlight))
        self._pointed = ""
        self._point(self.run.step.highlight)

    def _point(self, name: str) -> None:
        stage = stages.stage_of(self)
        target = stages.control(stage, name) if stage is not None and name else None
        if target is None:
            self._clear_outline()
            return
        if self.outline is None:
            self.outline = Outline(self._window())
        if self._pointed == name and self.outline.target is target[0]:
            self.outline.place()
        else:
            self._pointed = name
            stages.reveal(target[0])
            self.outline.point_at(*target, moves=self._may_move())

    def _clear_outline(self) -> None:
        if self.outline is not None:
            self.outline.clear()

    def _window(self) -> QWidget:
        """The main window, also where this panel floats."""
        stage = stages.stage_of(self)
        return stage if isinstance(stage, QWidget) else self.window()

    def _may_move(self) -> bool:
        """Neither the person nor the system has asked for less motion."""
        duration = QStyle.StyleHint.SH_Widget_Animation_Duration
        asked = self._settings is None or self._settings.get(MOTION)
        return asked and self.style().styleHint(duration, None, self) > 0

    # -- showing ----------------------------------------------------------------------------

    def _show_chooser(self) -> None:
        self._show_chooser_state()
        self.pages.setCurrentIndex(0)

    def _show_chooser_state(self) -> None:
        self.chooser.show_state(self._progress, has_model=self._session.model is not None)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self._is_built:
            self._build()
        if self.run is not None:
            self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._timer.stop()
        self._clear_outline()

    def shut_down(self) -> None:
        """The window closes."""
        self._timer.stop()
        self._clear_outline()
