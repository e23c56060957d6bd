"""The line between prompt and tokens: how much text there is, and how it is read and shown."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QToolButton, QWidget

from logitscope.display import name_of
from logitscope.gui import theme
from logitscope.gui.reading import Stage
from logitscope.gui.session import Session
from logitscope.gui.widgets import numbers
from logitscope.gui.widgets.eliding_label import ElidingLabel
from logitscope.gui.widgets.flow_row import FlowRow

LEAST_COUNTER = 12 * theme.GRID
"""What is said first can be read; the rest is cut with an ellipsis."""


class TextStrip(FlowRow):
    """Counter on the left, switches on the right; in a narrow panel they go on below it."""

    marks_toggled = Signal(bool)
    ids_toggled = Signal(bool)

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.counter = ElidingLabel(self)
        self.counter.setProperty("muted", True)
        self.add(self.counter, least=LEAST_COUNTER)
        self.chat = self._switch(
            self.tr("Chat"), self.tr("Put the model's own chat template around the prompt")
        )
        self.bos = self._switch("", "")
        self.special = self._switch(
            "<…>",
            self.tr("Read special tokens that are written out, such as <eos>, as tokens"),
        )
        self.marks = self._switch("·⏎", self.tr("Mark whitespace and invisible characters"))
        self.ids = self._switch("id", self.tr("Show ids below the tokens"))
        self.marks.setChecked(True)
        self.marks.toggled.connect(self.marks_toggled)
        self.ids.toggled.connect(self.ids_toggled)
        for switch in (self.chat, self.bos, self.special):
            switch.clicked.connect(self._set_wrapping)
        session.prompt_changed.connect(self._refresh_switches)
        session.model_changed.connect(self.refresh)
        session.path_changed.connect(self.refresh)
        self.refresh()

    def _switch(self, text: str, tip: str) -> QToolButton:
        button = QToolButton(self)
        button.setText(text)
        button.setToolTip(tip)
        button.setCheckable(True)
        button.setProperty("small", True)
        button.setMinimumSize(4 * theme.GRID, 3 * theme.GRID)
        button.setAccessibleName(tip)
        self.add(button)
        return button

    def _set_wrapping(self) -> None:
        self._session.set_wrapping(
            chat=self.chat.isChecked(),
            add_special=self.bos.isChecked(),
            parse_special=self.special.isChecked(),
        )

    def say_reading(self) -> None:
        """The tokens shown are those of an older text."""
        reading = self._session.reading
        progress = reading.progress
        if reading.stage is Stage.UNREAD:
            self.counter.setText(self.tr("not read: {why}").format(why=reading.sentence()))
        elif progress is None:
            self.counter.setText(self.tr("reading the prompt …"))
        else:
            self.counter.setText(
                self.tr("reading the prompt: {done} of {total} tokens …").format(
                    done=numbers.count(progress[0]), total=numbers.count(progress[1])
                )
            )

    def refresh(self) -> None:
        """Show the session's state. The counter waits for the ids of a changed prompt."""
        self._refresh_switches()
        session = self._session
        if session.model is None:
            self.counter.setText("")
        elif session.is_ready:
            generated = len(session.document.path)
            self.counter.setText(
                self.tr("prompt {0} · generated {1}").format(
                    numbers.count(session.prompt_length), numbers.tokens(generated)
                )
            )

    def _refresh_switches(self) -> None:
        session, state = self._session, self._session.state
        has_template = session.model is not None and session.model.has_chat_template
        self.chat.setVisible(has_template or state.chat)
        self.chat.setChecked(state.chat)
        vocabulary = session.vocabulary
        bos = None if vocabulary is None else vocabulary.bos
        self.bos.setVisible(bos is not None)
        self.bos.setChecked(state.add_special)
        if vocabulary is not None and bos is not None:
            name = name_of(vocabulary, bos)
            self.bos.setText(name)
            self.bos.setToolTip(self.tr("Begin with {0}").format(name))
            self.bos.setAccessibleName(self.bos.toolTip())
        self.special.setVisible(not state.chat)
        self.special.setChecked(state.parse_special)
