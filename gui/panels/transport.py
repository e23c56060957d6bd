"""Rewind, step, run, stop: the row of buttons below the text."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QLineEdit, QSpinBox, QToolButton, QWidget

from logitscope.gui import icons, theme
from logitscope.gui.session import Session
from logitscope.gui.widgets.flow_row import FlowRow

DEFAULT_RUN = 64
LONGEST_RUN = 100_000
LEAST_LENGTH, MOST_LENGTH = 9 * theme.GRID, 15 * theme.GRID
"""Room for four figures and the arrows; more than six figures there are not."""
LEAST_STOP_TEXT = 12 * theme.GRID
""""until this text" can be read."""


class Transport(FlowRow):
    """Buttons for generation; in a narrow panel they go on in the next line."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.rewind = self._button(
            "rewind",
            self.tr("Take the last token back (F9); the tree keeps it"),
            session.rewind_one,
        )
        self.step = self._button("step", self.tr("Generate one token (F10)"), session.step)
        self.run = self._button("run", self.tr("Generate tokens (F5)"), self._run)
        self.length = QSpinBox(self, minimum=1, maximum=LONGEST_RUN, value=DEFAULT_RUN)
        self.length.setToolTip(self.tr("How many tokens a run generates"))
        self.length.setAccessibleName(self.tr("Tokens of a run"))
        self.length.setMaximumWidth(MOST_LENGTH)
        self.add(self.length, least=LEAST_LENGTH)
        self.stop = self._button(
            "stop", self.tr("Stop (Esc); what is written stays"), session.stop_all
        )
        self.stop_text = QLineEdit(self)
        self.stop_text.setPlaceholderText(self.tr("until this text"))
        self.stop_text.setToolTip(self.tr(r"A run ends when this text appears; \n is a line feed"))
        self.stop_text.setAccessibleName(self.tr("Stop text"))
        self.stop_text.setMaximumWidth(18 * theme.GRID)
        self.add(self.stop_text, least=LEAST_STOP_TEXT)
        # Away from the others: it takes the most away.
        self.add(QWidget(self), least=0, with_last=True)
        self.clear = self._button(
            "clear",
            self.tr("Forget all generated text; the prompt stays"),
            session.clear,
            with_last=True,
        )
        for signal in (
            session.model_changed,
            session.prompt_changed,
            session.path_changed,
            session.run_changed,
        ):
            signal.connect(self._refresh)
        session.engine.activity_changed.connect(self._follow_activity)
        self._refresh()

    @property
    def stop_texts(self) -> tuple[str, ...]:
        r"""The stop text, if there is one; ``\n`` and ``\t`` are read as what they stand for."""
        text = self.stop_text.text().replace(r"\n", "\n").replace(r"\t", "\t")
        return (text,) if text else ()

    def _button(
        self, icon: str, tip: str, call: Callable[[], object], *, with_last: bool = False
    ) -> QToolButton:
        button = QToolButton(self)
        button.setToolTip(tip)
        button.setIcon(icons.icon(icon))
        button.setAccessibleName(tip)
        button.clicked.connect(call)
        self.add(button, with_last=with_last)
        return button

    def _run(self) -> None:
        # What was typed and cannot be a number gives way to the last one before it counts.
        self.length.interpretText()
        self._session.run(self.length.value(), self.stop_texts)

    def _refresh(self) -> None:
        session = self._session
        can_go_on = session.model is not None and not session.is_running
        has_text = bool(session.state.text or session.ids)
        self.step.setEnabled(session.steps.can_ask and has_text)
        self.run.setEnabled(can_go_on and has_text)
        self._follow_activity()
        self.rewind.setEnabled(bool(session.document.path))
        self.clear.setEnabled(session.state.count > 0)

    def _follow_activity(self) -> None:
        """Reading a long prompt can be stopped as well, without a run."""
        self.stop.setEnabled(self._session.can_stop)
