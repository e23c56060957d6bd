"""What the origin panel gives away: its words, and words against spans."""

from __future__ import annotations

import math
from functools import partial

from PySide6.QtWidgets import QWidget

from logitscope.gui.export import Cell, Table
from logitscope.gui.export_menu import ExportMenu, TableMaker
from logitscope.gui.originating import Originator
from logitscope.gui.panels.origin_words import span_text
from logitscope.gui.session import Session
from logitscope.origin_totals import evidence_matrix
from logitscope.origin_types import Condition, OriginReport, WordOrigin
from logitscope.vocabulary import Vocabulary

WORD_TITLES = (
    "word", "text", "label", "share", "delta_low", "delta_high",
    *(f"log_probability_{condition.value}" for condition in Condition),
    "flags", "top_span", "need", "hold", "source_word", "swaps",
)  # fmt: skip


class OriginExport(ExportMenu):
    """Menus of the panel (``matrix=False``) and of its matrix."""

    def __init__(
        self, session: Session, originator: Originator, widget: QWidget, *, matrix: bool
    ) -> None:
        name = "origin-matrix" if matrix else "origin"
        super().__init__(session, widget, name, self._later, is_own=True)
        self._originator = originator
        self._document = session
        self._is_matrix = matrix

    def made_from(self) -> dict[str, object]:
        """The ids, the sources and the threshold besides."""
        report = self._originator.report
        known = super().made_from()
        if report is None:
            return known
        return known | {
            "answer_ids": list(report.case.answer_ids),
            "sources": [list(span) for span in report.case.sources],
            "threshold": report.threshold,
        }

    def _later(self) -> TableMaker:
        report, vocabulary = self._originator.report, self._document.vocabulary
        if report is None or vocabulary is None:
            return partial(Table, "words", WORD_TITLES, ())
        make = matrix_table if self._is_matrix else word_table
        return partial(make, report, vocabulary)


def word_table(report: OriginReport, vocabulary: Vocabulary) -> Table:
    """One row a word; log-probabilities and gains in nats."""
    rows = tuple(
        _word_row(number, word, report, vocabulary) for number, word in enumerate(report.words)
    )
    return Table("words", WORD_TITLES, rows)


def _word_row(
    number: int, word: WordOrigin, report: OriginReport, vocabulary: Vocabulary
) -> tuple[Cell, ...]:
    is_known = len(word.log_probability) > 1
    low, high = word.deltas if is_known else (None, None)
    top = max(word.sources or (), key=lambda each: each.evidence, default=None)
    place = word.copied_from or (None if top is None else top.word)
    return (
        number,
        word.text,
        word.label.value,
        word.share if is_known else None,
        low,
        high,
        *(word.log_probability.get(condition) for condition in Condition),
        " ".join(sorted(word.flags)),
        None if top is None else span_text(vocabulary, report.case, report.case.sources[top.span]),
        None if top is None else top.need,
        None if top is None else top.hold,
        None if place is None else span_text(vocabulary, report.case, place),
        "; ".join(f"{s.original.strip()}>{s.replacement.strip()}: {s.says}" for s in word.swaps),
    )


def matrix_table(report: OriginReport, vocabulary: Vocabulary) -> Table:
    """Evidence in nats of every span (columns, by their text) for every word."""
    spans = tuple(span_text(vocabulary, report.case, span) for span in report.case.sources)
    matrix = evidence_matrix(report).tolist()
    rows = tuple(
        (word.text, *(None if math.isnan(value) else value for value in values))
        for word, values in zip(report.words, matrix, strict=True)
    )
    return Table("evidence", ("word", *spans), rows)
