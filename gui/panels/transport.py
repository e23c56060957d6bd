"""Step, run, stop, rewind: the row of buttons below the text."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QSpinBox, QToolButton, QWidget

from logitscope.gui import icons, theme
from logitscope.gui.session import Session

DEFAULT_RUN = 64
LONGEST_RUN = 100_000


class Transport(QWidget):
    """Buttons for generation, with a counter of tokens."""

    marks_toggled = Signal(bool)
    ids_toggled = Signal(bool)

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(theme.GRID // 2)
        self.rewind = self._button(
            "rewind", self.tr("Rewind one token; the tree keeps it"), session.rewind_one
        )
        self.step = self._button("step", self.tr("Generate one token"), session.step)
        self.run = self._button("run", self.tr("Generate as many tokens as set"), self._run)
        self.length = QSpinBox(self, minimum=1, maximum=LONGEST_RUN, value=DEFAULT_RUN)
        self.length.setToolTip(self.tr("Tokens to generate in one run"))
        self.length.setAccessibleName(self.tr("Tokens to run"))
        self._row.addWidget(self.length)
        self.stop_text = QLineEdit(self)
        self.stop_text.setPlaceholderText(self.tr("stop text"))
        self.stop_text.setToolTip(
            self.tr(r"A run ends when this text appears; \n stands for a line feed")
        )
        self.stop_text.setMaximumWidth(12 * theme.GRID)
        self._row.addWidget(self.stop_text)
        self.stop = self._button("stop", self.tr("Stop now; what is written stays"), session.stop)
        self.clear = self._button(
            "clear", self.tr("Forget the generated text; the prompt stays"), session.clear
        )
        self._row.addStretch(1)
        self.counter = QLabel(self)
        self._row.addWidget(self.counter)
        self.marks = self._toggle("·", self.tr("Mark whitespace"), self.marks_toggled.emit)
        self.marks.setChecked(True)
        self.ids = self._toggle("id", self.tr("Show ids below the tokens"), self.ids_toggled.emit)
        for signal in (session.model_changed, session.path_changed, session.run_changed):
            signal.connect(self._refresh)
        session.prompt_changed.connect(self._refresh)
        self._refresh()

    def _button(self, icon: str, tip: str, call: Callable[[], object]) -> QToolButton:
        button = QToolButton(self)
        button.setIcon(icons.icon(icon))
        button.setToolTip(tip)
        button.setAccessibleName(tip)
        button.setAutoRaise(True)
        button.clicked.connect(call)
        self._row.addWidget(button)
        return button

    def _toggle(self, text: str, tip: str, call: Callable[[bool], object]) -> QToolButton:
        button = QToolButton(self)
        button.setText(text)
        button.setToolTip(tip)
        button.setAccessibleName(tip)
        button.setCheckable(True)
        button.setAutoRaise(True)
        button.toggled.connect(call)
        self._row.addWidget(button)
        return button

    def _run(self) -> None:
        stop = self.stop_text.text().replace(r"\n", "\n")
        self._session.run(self.length.value(), (stop,) if stop else ())

    def _refresh(self) -> None:
        session = self._session
        can_go_on = session.model is not None and not session.is_running
        has_text = bool(session.ids) or bool(session.state.text)
        generated = len(session.ids) - session.prompt_length
        self.step.setEnabled(can_go_on and has_text)
        self.run.setEnabled(can_go_on and has_text)
        self.stop.setEnabled(session.is_running)
        self.rewind.setEnabled(generated > 0)
        self.clear.setEnabled(session.state.count > 0)
        self.counter.setText(
            self.tr("prompt {0} · generated {1} tokens").format(
                f"{session.prompt_length:,}", f"{generated:,}"
            )
        )
