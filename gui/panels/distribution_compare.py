"""The compare tab: one distribution is pinned, the one on show is held against it."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass

from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QPushButton,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from logitscope.gui.export import Table, provenance
from logitscope.gui.export_menu import ExportMenu
from logitscope.gui.panels.step_words import Labels
from logitscope.gui.session import Session
from logitscope.gui.shown import ShownRow
from logitscope.gui.widgets import numbers
from logitscope.gui.widgets.plain import rich
from logitscope.gui.widgets.table_model import TableModel
from logitscope.pinned import Comparison, Side, compare
from logitscope.sampling import Shaped
from logitscope.units import bits
from logitscope.vocabulary import Vocabulary

MOVERS = 50


@dataclass(frozen=True, slots=True, eq=False)
class Pinned:
    """What was on show when the pin was set."""

    raw: Side
    shaped: Side
    vocabulary: Vocabulary | None
    title: str
    made_from: dict[str, object]


class CompareMenu(ExportMenu):
    """Exports say what both distributions come from, and how far they are apart."""

    def __init__(self, session: Session, tab: CompareTab) -> None:
        super().__init__(session, tab.table, "comparison", lambda: tab.exported)
        self._tab = tab

    def made_from(self) -> dict[str, object]:
        return super().made_from() | self._tab.facts()


class CompareTab(QWidget):
    """Holds the pinned distribution: it is a thing looked at, not part of the document."""

    def __init__(self, session: Session, labels: Labels, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._labels = labels
        self._pinned: Pinned | None = None
        self._comparison: Comparison | None = None
        self.pin = QPushButton(self.tr("Pin this distribution"))
        self.pin.clicked.connect(self._pin)
        self.unpin = QPushButton(self.tr("Unpin"))
        self.unpin.clicked.connect(self._unpin)
        self.which = QComboBox()
        self.which.setAccessibleName(self.tr("Which distributions to compare"))
        self.which.addItem(self.tr("Raw"), False)
        self.which.addItem(self.tr("Shaped"), True)
        self.which.currentIndexChanged.connect(self.refresh)
        self.summary = rich(QLabel())
        self.summary.setWordWrap(True)
        titles = (self.tr("token"), self.tr("pinned"), self.tr("now"), self.tr("change"))
        self.model = TableModel((*titles, self.tr("factor")), self)
        self.table = self._table_view()
        self.menu = CompareMenu(session, self)
        self._lay_out()

    def _table_view(self) -> QTableView:
        view = QTableView()
        view.setModel(self.model)
        view.setAccessibleName(self.tr("Tokens whose probability changed most"))
        view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        view.setShowGrid(False)
        view.verticalHeader().hide()
        view.verticalHeader().setDefaultSectionSize(24)
        view.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        return view

    def _lay_out(self) -> None:
        buttons = QHBoxLayout()
        for widget in (self.pin, self.unpin, self.which):
            buttons.addWidget(widget)
        buttons.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 8, 0, 0)
        layout.addLayout(buttons)
        layout.addWidget(self.summary)
        layout.addWidget(self.table, 1)

    @property
    def comparison(self) -> Comparison | None:
        return self._comparison

    # -- acting -----------------------------------------------------------------------------

    def _pin(self) -> None:
        row, shaped = self._session.row, self._session.shaped
        if row is None or shaped is None:
            return
        title = self.tr("after “{text}” at temperature {t}").format(
            text=self._labels.before(row.ids), t=f"{shaped.settings.temperature:g}"
        )
        raw, kept = Side.raw(row.distribution), Side.shaped(shaped)
        made_from = provenance(self._session)
        self._pinned = Pinned(raw, kept, self._session.vocabulary, title, made_from)
        self.refresh()

    def _unpin(self) -> None:
        self._pinned = None
        self.refresh()

    # -- showing ----------------------------------------------------------------------------

    def refresh(self) -> None:
        """Compare the row on show with the pinned one."""
        row, shaped, pinned = self._session.row, self._session.shaped, self._pinned
        self.pin.setEnabled(row is not None)
        self.unpin.setEnabled(pinned is not None)
        self.table.setVisible(False)
        self._comparison = None
        if pinned is None:
            self.summary.setText(
                self.tr(
                    "Pin the distribution on show, then change the temperature, the prompt or the "
                    "position: here stands how far the two are apart."
                )
            )
        elif pinned.vocabulary is not self._session.vocabulary:
            self.summary.setText(
                self.tr("The pinned distribution is another model's: unpin it, or load that model.")
            )
        elif row is not None and shaped is not None:
            self._compare(pinned, row, shaped)

    def _compare(self, pinned: Pinned, row: ShownRow, shaped: Shaped) -> None:
        is_shaped = bool(self.which.currentData())
        now = Side.shaped(shaped) if is_shaped else Side.raw(row.distribution)
        found = compare(pinned.shaped if is_shaped else pinned.raw, now, MOVERS)
        self._comparison = found
        self.summary.setText(self._summary_of(pinned, found))
        self.model.set_rows(self._rows_of(found))
        self.table.setVisible(True)

    def facts(self) -> dict[str, object]:
        """What the pinned distribution comes from, and the distances (nats)."""
        found, pinned = self._comparison, self._pinned
        if found is None or pinned is None:
            return {}
        return {
            "pinned": pinned.made_from,
            "compared": "shaped" if self.which.currentData() else "raw",
            "kl_pinned_now": _json_number(found.kl_forward),
            "kl_now_pinned": _json_number(found.kl_backward),
            "jensen_shannon": found.jensen_shannon,
        }

    def exported(self) -> Table:
        """The biggest movers with their exact probabilities."""
        found = self._comparison
        titles = ("token", "id", "pinned", "now")
        if found is None:
            return Table("movers", titles, ())
        ids = found.movers.tolist()
        columns = ([self._labels(i) for i in ids], ids, found.before.tolist(), found.after.tolist())
        return Table("movers", titles, tuple(zip(*columns, strict=True)))

    def _summary_of(self, pinned: Pinned, found: Comparison) -> str:
        lines = (
            (self.tr("KL(pinned ‖ now)"), found.kl_forward),
            (self.tr("KL(now ‖ pinned)"), found.kl_backward),
            (self.tr("Jensen–Shannon"), found.jensen_shannon),
        )
        rows = "".join(
            f"<tr><td>{name}&nbsp;&nbsp;</td><td align='right'>{_nats(value)}</td>"
            f"<td align='right'>&nbsp;&nbsp;{_bits(value)}</td></tr>"
            for name, value in lines
        )
        title = self.tr("Pinned: {what}").format(what=html.escape(pinned.title))
        return f"{title}<table>{rows}</table>"

    def _rows_of(self, found: Comparison) -> tuple[tuple[str, ...], ...]:
        return tuple(
            (
                self._labels(token_id),
                numbers.probability(before),
                numbers.probability(after),
                _change(after - before),
                _factor(before, after),
            )
            for token_id, before, after in zip(
                found.movers.tolist(), found.before.tolist(), found.after.tolist(), strict=True
            )
        )


def _json_number(value: float) -> float | str:
    return "inf" if math.isinf(value) else value


def _nats(value: float) -> str:
    return "∞ nats" if math.isinf(value) else f"{value:.6f} nats"


def _bits(value: float) -> str:
    return "∞ bits" if math.isinf(value) else f"{bits(value):.6f} bits"


def _change(value: float) -> str:
    sign = "−" if value < 0 else "+" if value > 0 else ""
    return sign + numbers.probability(abs(value))


def _factor(before: float, after: float) -> str:
    if before == 0.0:
        return numbers.UNKNOWN if after == 0.0 else numbers.times(math.inf)
    return numbers.times(after / before)
