"""The draw that was just made, while the panel is about the next one."""

from __future__ import annotations

from PySide6.QtWidgets import QSizePolicy

from logitscope.gui.panels.step_words import Labels
from logitscope.gui.session import Session
from logitscope.gui.widgets import numbers
from logitscope.gui.widgets.eliding_label import ElidingLabel
from logitscope.gui.widgets.plain import plain_tip
from logitscope.steps import StepRecord


class LastDraw(ElidingLabel):
    """One line; hidden where the last token was not drawn, or something older is selected."""

    def __init__(self, session: Session, labels: Labels) -> None:
        super().__init__()
        self._session = session
        self._labels = labels
        # Its text changes with every token: it must not lay out the panel again.
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def refresh(self) -> None:
        """Read the end of the text."""
        step = self._step()
        self.setVisible(step is not None)
        if step is None or step.draw is None:
            return
        text = self.tr("Last draw: u = {u:.4f} → “{token}” (p {p})").format(
            u=step.draw.u,
            token=self._labels(step.token_id),
            p=numbers.probability(step.shaped_probability),
        )
        if text != self.text():
            self.setText(text)
            self.setToolTip(plain_tip(text))

    def _step(self) -> StepRecord | None:
        session, row = self._session, self._session.row
        is_of_this_text = row is not None and row.ids == session.ids[: row.position]
        if not (is_of_this_text and session.follows_end):
            return None
        step = session.document.step_at(len(session.ids) - 1)
        return None if step is None or step.draw is None else step
