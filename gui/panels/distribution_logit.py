"""Where a logit comes from: hidden state and row of the unembedding table, with real numbers."""

from __future__ import annotations

import html

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from logitscope.backends.base import ModelInfo
from logitscope.backends.messages import Failed, Finished, Reply, Unembedded
from logitscope.gui import theme
from logitscope.gui.panels.step_words import Labels
from logitscope.gui.session import Session
from logitscope.gui.shown import ShownRow
from logitscope.gui.widgets import numbers
from logitscope.gui.widgets.plain import rich
from logitscope.unembedding import Unembedding

Wanted = tuple[tuple[int, ...], int]

AGREEMENT = 1e-3
"""Parts and row differ by more only where the model rounds coarsely, as in bfloat16."""


class LogitSource(QLabel):
    """The logit of one token as a dot product; asks the model for the parts when it needs them."""

    def __init__(self, session: Session, labels: Labels, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        rich(self)
        self._session = session
        self._labels = labels
        self._wanted: Wanted | None = None
        self._number = 0
        self._parts: Unembedding | None = None
        self.setWordWrap(True)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        session.engine.replied.connect(self._take)
        session.model_changed.connect(self._forget)

    def show_token(self, row: ShownRow | None, token_id: int | None) -> None:
        """Explain the logit of a token in a row; None clears."""
        model = self._session.model
        self.setFont(theme.number_font())
        if row is None or token_id is None or model is None:
            self.clear()
            return
        if not model.capabilities.hidden_state:
            self.setText(f"<b>{self._title()}</b><br>{self._why_not(model)}")
            return
        wanted = row.ids, token_id
        if wanted != self._wanted:
            self._ask(wanted)
        self._show()

    def _ask(self, wanted: Wanted) -> None:
        self._parts, self._number = None, 0
        # During a run every question would cut the cache that the run goes on with.
        self._wanted = None if self._session.is_running else wanted
        if self._wanted is not None:
            self._number = self._session.engine.unembed(*wanted)

    def _take(self, reply: Reply) -> None:
        if self._number == 0 or reply.number != self._number:
            return
        match reply:
            case Unembedded():
                self._parts, self._number = reply.parts, 0
            case Failed() | Finished():
                # The session has told the person why; the next look asks again.
                self._wanted, self._number = None, 0
                return
        self._show()

    def _forget(self) -> None:
        self._wanted, self._parts, self._number = None, None, 0

    # -- the text ---------------------------------------------------------------------------

    def _show(self) -> None:
        if self._parts is not None:
            self.setText(self._parts_text(self._parts))
            return
        if self._session.is_running:
            wait = self.tr("The dot product stands here when the run has ended.")
        else:
            wait = self.tr("The model is asked for the hidden state …")
        self.setText(f"<b>{self._title()}</b><br>{wait}")

    def _title(self) -> str:
        return self.tr("Where the logit comes from")

    def _why_not(self, model: ModelInfo) -> str:
        if model.backend == "llamacpp":
            return self.tr(
                "llama.cpp gives logits without the hidden state and the table behind them: open "
                "the model's Hugging Face folder to see its logits as dot products."
            )
        if model.backend == "hf":
            return self.tr(
                "What {architecture} does behind its unembedding table is not known to Logitscope, "
                "so the logit cannot be taken to pieces."
            ).format(architecture=html.escape(model.architecture))
        return self.tr("This model gives logits alone, without the hidden state behind them.")

    def _parts_text(self, of: Unembedding) -> str:
        name = html.escape(self._labels(of.token_id))
        lines = [
            (
                self.tr("final hidden state h"),
                self.tr("{n} numbers, length |h| = {norm}").format(
                    n=numbers.count(of.width), norm=f"{of.hidden_norm:.5g}"
                ),
            ),
            (
                self.tr("row w of “{token}”").format(token=name),
                self.tr("{n} numbers, length |w| = {norm}").format(
                    n=numbers.count(of.width), norm=f"{of.row_norm:.5g}"
                ),
            ),
            (
                self.tr("angle between them"),
                f"{of.angle:.2f}°, cos = {numbers.signed(of.cosine, 4)}",
            ),
            (
                self.tr("dot product h · w"),
                f"|h| · |w| · cos = {numbers.signed(of.dot, 4)}",
            ),
            *self._further_lines(of),
            (self.tr("logit"), f"<b>{numbers.signed(of.logit, 4)}</b>"),
        ]
        return f"<b>{self._title()}</b>{_rows(lines)}{self._remarks(of)}"

    def _further_lines(self, of: Unembedding) -> list[tuple[str, str]]:
        lines = []
        if of.bias is not None:
            lines.append((self.tr("plus the token's bias"), numbers.signed(of.bias, 4)))
        if of.scale != 1.0:
            scaled = numbers.signed(of.scaled, 4)
            lines.append((self.tr("times the logit scale"), f"× {of.scale:.6g} = {scaled}"))
        if of.soft_cap is not None:
            inside = f"{numbers.signed(of.scaled, 4)} / {of.soft_cap:g}"
            capped = f"{of.soft_cap:g} · tanh({inside}) = {numbers.signed(of.logit, 4)}"
            lines.append((self.tr("soft cap"), capped))
        return lines

    def _remarks(self, of: Unembedding) -> str:
        tied = (
            self.tr("The table is tied: w is also the token's row of the embedding table.")
            if of.tied
            else self.tr("The unembedding table is not tied to the embedding: w is used here only.")
        )
        if abs(of.logit - of.model_logit) <= AGREEMENT:
            return tied
        rounded = self.tr("The model's own row has {logit}: it computes with fewer digits.")
        return f"{tied} {rounded.format(logit=numbers.signed(of.model_logit, 4))}"


def _rows(lines: list[tuple[str, str]]) -> str:
    cells = "".join(
        f"<tr><td style='padding: 2px 16px 2px 0'>{name}</td>"
        f"<td style='padding: 2px 0'>{value}</td></tr>"
        for name, value in lines
    )
    return f"<table>{cells}</table>"
