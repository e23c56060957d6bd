"""Rewind, step, run, stop: the row of buttons below the text."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLineEdit,
    QSizePolicy,
    QSpinBox,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from logitscope.gui import icons, theme
from logitscope.gui.session import Session

DEFAULT_RUN = 64
LONGEST_RUN = 100_000
LEAST_LENGTH = 9 * theme.GRID
"""Room for four figures and the arrows."""
LEAST_STOP_TEXT = 12 * theme.GRID
"""Room that is worth to stand beside the buttons: "until this text" can be read."""


class Transport(QWidget):
    """Buttons for generation."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._row = QHBoxLayout()
        self._row.setSpacing(theme.GRID // 2)
        self._second_row = QHBoxLayout()
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(theme.GRID // 2)
        rows.addLayout(self._row)
        rows.addLayout(self._second_row)
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
        self.length.setMinimumWidth(LEAST_LENGTH)
        self.length.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._row.addWidget(self.length)
        self.stop = self._button(
            "stop", self.tr("Stop (Esc); what is written stays"), session.stop_all
        )
        self.stop_text = QLineEdit(self)
        self.stop_text.setPlaceholderText(self.tr("until this text"))
        self.stop_text.setToolTip(self.tr(r"A run ends when this text appears; \n is a line feed"))
        self.stop_text.setAccessibleName(self.tr("Stop text"))
        self.stop_text.setMaximumWidth(18 * theme.GRID)
        self._row.addWidget(self.stop_text, 1)
        self._place_of_stop_text = self._row.count() - 1
        self._row.addStretch(1)
        self.clear = self._button(
            "clear", self.tr("Forget all generated text; the prompt stays"), session.clear
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

    def _button(self, icon: str, tip: str, call: Callable[[], object]) -> QToolButton:
        button = QToolButton(self)
        button.setToolTip(tip)
        button.setIcon(icons.icon(icon))
        button.setAccessibleName(tip)
        button.clicked.connect(call)
        self._row.addWidget(button)
        return button

    # -- room -------------------------------------------------------------------------------

    def minimumSizeHint(self) -> QSize:
        """Without the stop text, which goes below the buttons where it does not fit."""
        buttons = (self.rewind, self.step, self.run, self.stop, self.clear)
        width = LEAST_LENGTH + sum(one.minimumSizeHint().width() for one in buttons)
        gaps = (len(buttons) + 1) * self._row.spacing()
        return QSize(width + gaps, super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_stop_text()

    def _place_stop_text(self) -> None:
        needed = self.minimumSizeHint().width() + LEAST_STOP_TEXT
        is_below = self._second_row.count() > 0
        if is_below is not (self.width() < needed):
            self._row.removeWidget(self.stop_text)
            self._second_row.removeWidget(self.stop_text)
            if is_below:
                self._row.insertWidget(self._place_of_stop_text, self.stop_text, 1)
            else:
                self._second_row.addWidget(self.stop_text, 0, Qt.AlignmentFlag.AlignLeft)

    def _run(self) -> None:
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
