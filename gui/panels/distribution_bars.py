"""The bars tab: the likeliest tokens, raw and shaped, and everything else as one row."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from logitscope.distribution import Distribution
from logitscope.gui.export import Cell, Table
from logitscope.gui.export_menu import ExportMenu
from logitscope.gui.panels.step_words import (
    ActualToken,
    Labels,
    actual_token,
    remover_name,
    table,
)
from logitscope.gui.session import Session
from logitscope.gui.widgets import numbers
from logitscope.gui.widgets.bars_data import Bar, Tail
from logitscope.gui.widgets.bars_view import TAIL, BarsView
from logitscope.step_table import RawRows, Rest, StepTable, raw_rows, tabulate

BAR_LIMITS = (5, 200)
DEFAULT_BARS = 20


class BarsTab(QWidget):
    """Draws the row on show; Enter or a double click asks for a token to be forced."""

    wants_force = Signal(int)

    def __init__(self, session: Session, labels: Labels, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._labels = labels
        self._count = DEFAULT_BARS
        self._table: StepTable | None = None
        self._kept: tuple[tuple[Distribution, int, tuple[int, ...]], RawRows] | None = None
        self.view = BarsView()
        self.view.setAccessibleName(self.tr("Next-token probabilities"))
        self.view.tooltip_of = self._tooltip
        self.view.spoken_row_of = self._spoken_row
        self.view.activated.connect(self.wants_force)
        self.menu = ExportMenu(session, self.view, "next-token", lambda: self._exported)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.view)

    @property
    def table(self) -> StepTable | None:
        """What is on show."""
        return self._table

    @property
    def bar_count(self) -> int:
        return self._count

    def set_bar_count(self, count: int) -> None:
        self._count = min(BAR_LIMITS[1], max(BAR_LIMITS[0], count))
        self.refresh()

    def refresh(self) -> None:
        """Read the row on show."""
        row, shaped = self._session.row, self._session.shaped
        if row is None or shaped is None:
            self._table = self._kept = None
            self.view.set_rows((), None, is_forced=False)
            return
        actual = actual_token(self._session)
        others = () if actual is None else (actual.token_id,)
        self._table = tabulate(self._raw_rows(row.distribution, others), shaped)
        bars = self._bars(self._table, actual, is_greedy=shaped.greedy)
        is_forced = actual is not None and actual.is_forced
        self.view.set_rows(bars, self._tail(self._table.rest), is_forced=is_forced)

    def _raw_rows(self, distribution: Distribution, others: tuple[int, ...]) -> RawRows:
        """The raw half of the table, kept while only the sampler's settings change."""
        wanted = (distribution, self._count, others)
        if self._kept is None or self._kept[0] != wanted:
            self._kept = (wanted, raw_rows(distribution, self._count, others))
        return self._kept[1]

    def _bars(
        self, rows: StepTable, actual: ActualToken | None, *, is_greedy: bool
    ) -> tuple[Bar, ...]:
        columns = zip(
            rows.ids.tolist(),
            rows.ranks.tolist(),
            rows.logits.tolist(),
            rows.raw.tolist(),
            rows.shaped.tolist(),
            rows.removed_by.tolist(),
            strict=True,
        )
        return tuple(
            Bar(
                token_id,
                self._labels(token_id),
                rank,
                logit,
                raw,
                shaped,
                remover_name(code, is_greedy=is_greedy),
                self._note(rank, actual, token_id),
                place >= rows.head_count,
            )
            for place, (token_id, rank, logit, raw, shaped, code) in enumerate(columns)
        )

    def _note(self, rank: int, actual: ActualToken | None, token_id: int) -> str:
        if actual is None or token_id != actual.token_id:
            return ""
        return self.tr("rank {rank} · {how}").format(rank=numbers.count(rank), how=actual.how)

    def _tail(self, rest: Rest) -> Tail | None:
        if rest.count == 0:
            return None
        note = ""
        if rest.removed_count == rest.count:
            note = self.tr("all removed")
        elif rest.removed_count:
            note = self.tr("{count} removed").format(count=numbers.count(rest.removed_count))
        return Tail(self.tr("every other token"), rest.count, rest.raw, rest.shaped, note)

    def _exported(self) -> Table:
        """The rows and the rest, with their exact values."""
        titles = ("rank", "token", "id", "logit", "raw", "shaped", "removed_by")
        rows: list[tuple[Cell, ...]] = [
            (bar.rank, bar.text, bar.token_id, bar.logit, bar.raw, bar.shaped, bar.removed_by)
            for bar in self.view.bars
        ]
        tail = self.view.tail
        if tail is not None:
            words = f"{tail.label} ({numbers.count(tail.count)})"
            rows.append((None, words, None, None, tail.raw, tail.shaped, tail.note))
        return Table("tokens", titles, tuple(rows))

    # -- words ------------------------------------------------------------------------------

    def _tooltip(self, token_id: int) -> str:
        if self._table is None:
            return ""
        if token_id == TAIL:
            return self._tail_tooltip(self._table)
        bar = next((bar for bar in self.view.bars if bar.token_id == token_id), None)
        return "" if bar is None else table(self._facts(bar))

    def _facts(self, bar: Bar) -> list[tuple[str, str]]:
        facts = [
            (self.tr("token"), bar.text),
            (self.tr("id"), str(bar.token_id)),
            (self.tr("bytes"), self._labels.hex(bar.token_id)),
            (self.tr("rank"), numbers.count(bar.rank)),
            (self.tr("logit"), numbers.logit(bar.logit)),
            (self.tr("probability, raw"), numbers.probability(bar.raw)),
            (self.tr("probability, shaped"), numbers.probability(bar.shaped)),
        ]
        if bar.removed_by:
            facts.append((self.tr("removed by"), bar.removed_by))
        if bar.note:
            facts.append((self.tr("in the text"), bar.note))
        return facts

    def _tail_tooltip(self, rows: StepTable) -> str:
        """The sums that show that nothing is missing."""
        rest = rows.rest
        sums = (
            (self.tr("raw"), float(rows.raw.sum()), rest.raw),
            (self.tr("shaped"), float(rows.shaped.sum()), rest.shaped),
        )
        lines = [
            (name, f"{shown:.12f} + {others:.12f} = {shown + others:.12f}")
            for name, shown, others in sums
        ]
        removed = self.tr("{tokens}, {mass} raw").format(
            tokens=numbers.tokens(rest.removed_count), mass=numbers.probability(rest.removed_raw)
        )
        return table([*lines, (self.tr("removed"), removed)])

    def _spoken_row(self, bar: Bar) -> str:
        return ", ".join(f"{name} {value}" for name, value in self._facts(bar))
