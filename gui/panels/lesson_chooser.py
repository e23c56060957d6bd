"""The lessons to choose from, each with how far one has come."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from logitscope.gui import theme
from logitscope.gui.panels.lesson_words import say
from logitscope.gui.widgets.plain import plain
from logitscope.lesson_file import Lesson
from logitscope.lessons import Progress

MARGIN = 12


class _Card(QFrame):
    """One lesson."""

    def __init__(self, number: int, lesson: Lesson, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("lessonCard")
        title = plain(QLabel(f"{number}. {say(lesson.title)}", self, wordWrap=True))
        title.setProperty("heading", True)
        summary = plain(QLabel(say(lesson.summary), self, wordWrap=True))
        self.state = plain(QLabel(self))
        self.state.setProperty("muted", True)
        self.progress = QProgressBar(self, textVisible=False)
        self.progress.setRange(0, len(lesson.steps))
        self.button = QPushButton(self)
        row = QHBoxLayout()
        row.addWidget(self.state, 1)
        row.addWidget(self.button)
        column = QVBoxLayout(self)
        column.setContentsMargins(MARGIN, theme.GRID, MARGIN, MARGIN)
        column.setSpacing(theme.GRID)
        for widget in (title, summary, self.progress):
            column.addWidget(widget)
        column.addLayout(row)

    def show_progress(self, lesson: Lesson, progress: Progress) -> None:
        count, done = len(lesson.steps), progress.of(lesson)
        self.progress.setValue(done)
        if not progress.has_begun(lesson):
            words, verb = self.tr("{n} steps, about {m} minutes"), self.tr("Start")
        elif done < count:
            words, verb = self.tr("{done} of {n} steps done"), self.tr("Go on")
        else:
            words, verb = self.tr("✓ Done"), self.tr("Again")
        self.state.setText(words.format(n=count, m=lesson.minutes, done=done))
        self.button.setText(verb)
        self.button.setAccessibleName(f"{verb}: {say(lesson.title)}")


class Chooser(QWidget):
    """All lessons, one card each."""

    chosen = Signal(int)

    def __init__(self, lessons: Sequence[Lesson], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._lessons = lessons
        intro = plain(
            QLabel(
                self.tr(
                    "Four lessons beside the live panels. You predict, you try it on the model "
                    "that is loaded, and see whether it came true."
                ),
                wordWrap=True,
            )
        )
        self.note = plain(QLabel(wordWrap=True))
        self.note.setProperty("muted", True)
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, theme.GRID, 0)
        column.setSpacing(MARGIN)
        column.addWidget(intro)
        column.addWidget(self.note)
        self.cards = [_Card(n, lesson, body) for n, lesson in enumerate(lessons, start=1)]
        for index, card in enumerate(self.cards):
            card.button.clicked.connect(partial(self.chosen.emit, index))
            column.addWidget(card)
        column.addStretch(1)
        area = QScrollArea(self)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidget(body)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(area)

    def show_state(self, progress: Progress, *, has_model: bool) -> None:
        """How far one has come; without a model nothing can begin."""
        self.note.setText(
            "" if has_model else self.tr("Open a model first: Ctrl+O, or the demo model.")
        )
        self.note.setVisible(not has_model)
        for card, lesson in zip(self.cards, self._lessons, strict=True):
            card.show_progress(lesson, progress)
            card.button.setEnabled(has_model)
