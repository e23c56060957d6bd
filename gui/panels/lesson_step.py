"""One step of a lesson on screen: text, prediction, task, what came of it, or the question."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import QLocale, Qt, Signal
from PySide6.QtGui import QDoubleValidator
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from logitscope.gui import theme
from logitscope.gui.panels.lesson_choices import Choices
from logitscope.gui.panels.lesson_words import as_title, marked_up, say, written
from logitscope.gui.widgets.plain import plain, rich
from logitscope.lessons import LessonRun, Verdict

MARGIN = 12


class StepView(QWidget):
    """Shows a ``LessonRun``; what the person does there comes out as signals."""

    picked = Signal(int)
    answered = Signal(float)
    show_wanted = Signal()
    """The control meant shall be shown."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.place = plain(QLabel(self))
        self.place.setProperty("muted", True)
        self.progress = QProgressBar(self, textVisible=False)
        self.title = rich(QLabel(self, wordWrap=True))
        self.text = self._words()
        self.choices = Choices(self)
        self.choices.picked.connect(self.picked)
        self.task = self._words()
        self.state = plain(QLabel(self))
        self.state.setProperty("muted", True)
        self.show_me = QPushButton(self.tr("Show me where"), self)
        self.show_me.clicked.connect(self.show_wanted)
        self.task_card = self._card(self.task, self._row(self.state, self.show_me))
        self.question = self._words()
        self.answer = QLineEdit(self)
        self.unit = plain(QLabel(self))
        self.check = QPushButton(self.tr("Check"), self)
        self.verdict = plain(QLabel(self, wordWrap=True))
        self._make_question()
        self.result = self._words()
        self.result_card = self._card(self.result)
        self._lay_out()

    # -- making -----------------------------------------------------------------------------

    def _words(self) -> QLabel:
        label = rich(QLabel(self, wordWrap=True))
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        return label

    def _row(self, *widgets: QWidget) -> QWidget:
        holder = QWidget(self)
        row = QHBoxLayout(holder)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(theme.GRID)
        for index, widget in enumerate(widgets):
            row.addWidget(widget, int(index == 0))
        return holder

    def _card(self, *widgets: QWidget) -> QFrame:
        card = QFrame(self)
        card.setObjectName("lessonCard")
        column = QVBoxLayout(card)
        column.setContentsMargins(MARGIN, theme.GRID, MARGIN, theme.GRID)
        column.setSpacing(theme.GRID)
        for widget in widgets:
            column.addWidget(widget)
        return card

    def _make_question(self) -> None:
        validator = QDoubleValidator(self.answer)
        # As all numbers of the window are written.
        validator.setLocale(QLocale.c())
        self.answer.setValidator(validator)
        self.answer.setAccessibleName(self.tr("Your answer"))
        self.answer.setPlaceholderText(self.tr("a number"))
        self.answer.returnPressed.connect(self._check)
        self.check.clicked.connect(self._check)
        self.question_card = self._card(
            self.question, self._row(self.answer, self.unit, self.check), self.verdict
        )

    def _lay_out(self) -> None:
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, theme.GRID, 0)
        column.setSpacing(MARGIN)
        for widget in (
            self.title, self.text, self.choices, self.task_card, self.question_card,
            self.result_card,
        ):  # fmt: skip
            column.addWidget(widget)
        column.addStretch(1)
        self.area = QScrollArea(self)
        self.area.setWidgetResizable(True)
        self.area.setFrameShape(QFrame.Shape.NoFrame)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.area.setWidget(body)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(theme.GRID)
        outer.addWidget(self.place)
        outer.addWidget(self.progress)
        outer.addWidget(self.area, 1)

    # -- showing ----------------------------------------------------------------------------

    def begin(self, run: LessonRun) -> None:
        """Another step."""
        step, count = run.step, len(run.lesson.steps)
        words = self.tr("{lesson} · {n} of {count}")
        self.place.setText(words.format(lesson=say(run.lesson.title), n=run.index + 1, count=count))
        self.progress.setRange(0, count)
        self.progress.setValue(run.index + 1)
        self.title.setText(as_title(step.title))
        prediction = step.prediction
        if prediction is None:
            self.choices.ask("", ())
        else:
            self.choices.ask(
                say(prediction.question), [say(choice.text) for choice in prediction.choices]
            )
        self.answer.clear()
        checkpoint = step.checkpoint
        is_percent = checkpoint is not None and checkpoint.number.shown_as == "percent"
        self.unit.setText("%" if is_percent else "")
        self.area.verticalScrollBar().setValue(0)
        self.refresh(run)

    def take_keyboard(self) -> None:
        """Put the keyboard where the step begins: its prediction, its question or its task."""
        for widget in (*self.choices.buttons[:1], self.answer, self.show_me):
            if widget.isVisible():
                widget.setFocus(Qt.FocusReason.OtherFocusReason)
                return

    def refresh(self, run: LessonRun) -> None:
        """The same step at another moment."""
        step, values = run.step, run.values()
        self.text.setText(marked_up(step.text, values))
        self.choices.show_pick(run.chosen)
        self._show_outcome(run)
        self.task.setText(marked_up(step.task, values))
        self.task_card.setVisible(bool(step.task) and not run.awaits_prediction)
        self.state.setText(self.tr("✓ Done") if run.is_done else self.tr("Waiting for you …"))
        checkpoint = step.checkpoint
        self.question_card.setVisible(checkpoint is not None)
        self.question.setText(
            "" if checkpoint is None else f"<b>{marked_up(checkpoint.question, values)}</b>"
        )
        self._show_verdict(run.verdict, checkpoint.number.shown_as if checkpoint else "")
        self.result.setText(marked_up(step.result, values))
        self.result_card.setVisible(run.is_done and bool(step.result))

    def _show_outcome(self, run: LessonRun) -> None:
        truth, prediction = run.came_true(), run.step.prediction
        if truth is None or prediction is None:
            self.choices.show_outcome("", is_true=False)
        elif truth == run.chosen:
            self.choices.show_outcome(self.tr("✓ It came true."), is_true=True)
        else:
            words = self.tr("✗ It did not: with this model it is “{truth}”.")
            said = escape(say(prediction.choices[truth].text), quote=False)
            self.choices.show_outcome(words.format(truth=said), is_true=False)

    def _show_verdict(self, verdict: Verdict | None, shown_as: str) -> None:
        self.verdict.setVisible(verdict is not None)
        if verdict is None:
            return
        truth = written(verdict.truth, shown_as)
        if verdict.is_right:
            self.verdict.setText(self.tr("✓ Right: the model’s number is {n}.").format(n=truth))
        else:
            self.verdict.setText(
                self.tr("✗ Not yet: look once more at the panels, or press Skip to see the end.")
            )

    def _check(self) -> None:
        if self.answer.hasAcceptableInput():
            self.answered.emit(float(self.answer.text()))
