"""The two kinds of number: weights, and keys and values of this prompt, block by block."""

from __future__ import annotations

import html

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QLabel, QScrollArea, QWidget

from logitscope.backends.base import ModelInfo
from logitscope.document import Block
from logitscope.gui import theme
from logitscope.gui.panels.origin_words import short
from logitscope.gui.widgets import numbers
from logitscope.gui.widgets.plain import rich
from logitscope.placed_spans import Placement


class OriginBytes(QScrollArea):
    """A short table."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.words = rich(QLabel())
        self.words.setWordWrap(True)
        self.words.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self.words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.setWidget(self.words)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)

    def show_sizes(
        self,
        model: ModelInfo | None,
        blocks: tuple[Block, ...],
        placement: Placement | None,
        prompt: int,
        answer: int,
    ) -> None:
        """``prompt`` and ``answer``: tokens of each."""
        self.words.setFont(theme.number_font())
        # Another document has come, and where its blocks lie among the ids is not known yet.
        is_older = placement is not None and len(placement.blocks) != len(blocks)
        if model is None or placement is None or is_older:
            self.words.setText("")
            return
        rows = self._block_rows(model, blocks, placement)
        known = sum(stop - start for start, stop in placement.blocks_found)
        each = model.kv_bytes_per_token
        rows.append((self.tr("begin and template"), prompt - known, (prompt - known) * each))
        rows.append((self.tr("answer"), answer, answer * each))
        weights = self.tr(
            "<b>Weights: {size}.</b> Fixed, shared by every text, and what an answer comes from "
            "where no source is needed."
        ).format(size=numbers.size(model.weight_bytes))
        state = self.tr(
            "<b>Keys and values: {size}.</b> Made for this one text, {each} a token:"
        ).format(size=numbers.size((prompt + answer) * each), each=numbers.size(each))
        self.words.setText(f"{weights}<br><br>{state}{_table(rows)}")

    def _block_rows(
        self, model: ModelInfo, blocks: tuple[Block, ...], placement: Placement
    ) -> list[tuple[str, int, float]]:
        found = []
        for index, (block, tokens) in enumerate(zip(blocks, placement.blocks, strict=True)):
            if tokens is None:
                continue
            count = tokens[1] - tokens[0]
            spans = sum(b - a for a, b in placement.spans_in(index))
            name = short(" ".join(block.text.split()), 32)
            if spans:
                name = self.tr("{name} (sources: {n} tokens)").format(name=name, n=spans)
            found.append((name, count, count * model.kv_bytes_per_token))
        return found


def _table(rows: list[tuple[str, int, float]]) -> str:
    cells = "".join(
        f"<tr><td style='padding-right: {2 * theme.GRID}px'>{html.escape(name)}</td>"
        f"<td align='right' style='padding-right: {2 * theme.GRID}px'>{numbers.count(count)}</td>"
        f"<td align='right'>{numbers.size(size)}</td></tr>"
        for name, count, size in rows
    )
    return f"<table cellpadding='2'>{cells}</table>"
