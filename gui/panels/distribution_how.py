"""The "how" tab: softmax in three moves, what changes it, and where the logit comes from."""

from __future__ import annotations

import html

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QScrollArea, QVBoxLayout, QWidget

from logitscope.gui import theme
from logitscope.gui.export import Table
from logitscope.gui.export_menu import ExportMenu
from logitscope.gui.panels.distribution_logit import LogitSource
from logitscope.gui.panels.step_words import Labels
from logitscope.gui.session import Session
from logitscope.gui.shown import ShownRow
from logitscope.gui.widgets import numbers
from logitscope.gui.widgets.plain import rich
from logitscope.gui.widgets.slider_field import SliderField
from logitscope.sampling import Shaped
from logitscope.softmax_lesson import Moves, Tempered, at_temperature, lead, moves, shaped_rank

TEMPERATURES = (0.5, 1.0, 2.0)
ADDED_LIMIT = 50.0
ADDED_TYPED_LIMIT = 100_000.0


class HowTab(QWidget):
    """Explains the probability of one token with its own numbers."""

    def __init__(self, session: Session, labels: Labels, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._labels = labels
        self._token: int | None = None
        self._known_for: tuple[ShownRow, int] | None = None
        self._known: dict[float, Tempered] = {}
        self.moves = self._text()
        self.constant = self._text()
        self.ranking = self._text()
        self.source = LogitSource(session, labels)
        self.added = SliderField(
            self.tr("Add to every logit"), -ADDED_LIMIT, ADDED_LIMIT, ADDED_TYPED_LIMIT, parent=self
        )
        self.added.set_value(0.0)
        self.added.changed.connect(self.refresh)
        self._lay_out()
        # The copy key belongs to what is selected in the texts.
        self.menu = ExportMenu(session, self, "softmax", lambda: self._exported, is_own=False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self.menu.show_at)

    def _text(self) -> QLabel:
        label = rich(QLabel())
        label.setWordWrap(True)
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        # A label's own menu would hide that of the tab.
        label.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)
        return label

    def _lay_out(self) -> None:
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(8, 8, 8, 8)
        column.setSpacing(16)
        slider = QGridLayout()
        slider.setColumnStretch(1, 1)
        self.added.add_to(slider, 0)
        column.addWidget(self.moves)
        column.addWidget(self.ranking)
        column.addLayout(slider)
        column.addWidget(self.constant)
        column.addWidget(self.source)
        column.addStretch(1)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidget(body)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(area)

    def set_token(self, token_id: int | None) -> None:
        """Explain this token; None: the likeliest."""
        self._token = token_id
        if self.isVisible():
            self.refresh()

    @property
    def token(self) -> int | None:
        """The token explained; None while there is no row."""
        row = self._session.row
        if row is None:
            return None
        if self._token is None or self._token >= len(row.distribution):
            return row.distribution.likeliest
        return self._token

    def refresh(self) -> None:
        """Read the row on show."""
        row, shaped, token = self._session.row, self._session.shaped, self.token
        for label in (self.moves, self.constant, self.ranking):
            label.setFont(theme.number_font())
        self.source.show_token(row, token)
        if row is None or shaped is None or token is None:
            self.moves.setText(
                self.tr("Here stands how a probability comes about, once there is one.")
            )
            self.ranking.clear()
            self.constant.clear()
            self._known_for = None
            return
        plain = moves(row.distribution, token)
        self.moves.setText(self._moves_text(row, token, plain))
        self.ranking.setText(self._ranking_text(row, shaped, token))
        self.constant.setText(self._constant_text(row, token, plain))

    def _exported(self) -> Table:
        """The three moves with exact numbers."""
        row, token = self._session.row, self.token
        titles = ("token", "id", "logit", "largest_logit", "exponential", "sum", "probability")
        if row is None or token is None:
            return Table("softmax", titles, ())
        of = moves(row.distribution, token)
        name = self._labels(token)
        numbers_of = (of.logit, of.largest, of.exponential, of.total, of.probability)
        return Table("softmax", titles, ((name, token, *numbers_of),))

    # -- the texts --------------------------------------------------------------------------

    def _moves_text(self, row: ShownRow, token: int, of: Moves) -> str:
        name = html.escape(self._labels(token))
        difference = of.logit - of.largest
        title = self.tr("Softmax of “{token}” in three moves").format(token=name)
        exponent = numbers.signed(difference, 4)
        lines = [
            (
                self.tr("1. exponentiate"),
                f"e<sup>{numbers.signed(of.logit, 4)} − {_own(of.largest)}</sup> = "
                f"e<sup>{exponent}</sup> = {of.exponential:.6g}",
            ),
            (
                self.tr("2. sum over all {n}").format(n=numbers.count(len(row.distribution))),
                f"Σ = {of.total:.6g}",
            ),
            (
                self.tr("3. divide"),
                f"{of.exponential:.6g} / {of.total:.6g} = "
                f"<b>{numbers.probability(of.probability)}</b>",
            ),
        ]
        return f"<b>{title}</b>{_rows(lines)}{self._lead_text(row, token)}"

    def _lead_text(self, row: ShownRow, token: int) -> str:
        top = row.distribution.likeliest
        if token == top:
            return self.tr(
                "It is the likeliest token. One that is 2 logits behind is e² = 7.389× less likely."
            )
        behind = lead(row.distribution, token)
        return self.tr(
            "The likeliest, “{top}”, leads by {lead} logits: e<sup>{lead}</sup> = {factor} as "
            "likely. A lead of 2 would be e² = 7.389×."
        ).format(
            top=html.escape(self._labels(top)),
            lead=numbers.signed(behind.logits, 3),
            factor=numbers.times(behind.factor),
        )

    def _ranking_text(self, row: ShownRow, shaped: Shaped, token: int) -> str:
        now = shaped.settings.temperature
        wanted = sorted({*TEMPERATURES, now} - {0.0})
        lines = [
            (
                self.tr("T = {t}").format(t=f"{entry.temperature:g}"),
                self.tr("rank {rank}, probability {p}").format(
                    rank=numbers.count(entry.rank), p=numbers.probability(entry.probability)
                ),
            )
            for entry in (self._tempered(row, token, value) for value in wanted)
        ]
        place = shaped_rank(shaped, token)
        after = self.tr("removed") if place is None else numbers.count(place)
        title = self.tr("Temperature changes the probability, never the ranking")
        chain = self.tr("Rank raw {raw}, rank after the whole sampler chain: {shaped}.").format(
            raw=numbers.count(row.distribution.rank(token)), shaped=after
        )
        return f"<b>{title}</b>{_rows(lines)}{chain}"

    def _tempered(self, row: ShownRow, token: int, temperature: float) -> Tempered:
        """Remembered for the usual temperatures: a slider changes only its own."""
        if self._known_for != (row, token):
            self._known_for = (row, token)
            self._known.clear()
        if temperature not in TEMPERATURES:
            return at_temperature(row.distribution, token, temperature)
        if temperature not in self._known:
            self._known[temperature] = at_temperature(row.distribution, token, temperature)
        return self._known[temperature]

    def _constant_text(self, row: ShownRow, token: int, plain: Moves) -> str:
        moved = moves(row.distribution, token, self.added.value)
        lines = [
            (
                name,
                f"e<sup>{numbers.signed(of.logit, 2)} − {_own(of.largest, 2)}</sup> / "
                f"{of.total:.6g} = <b>{of.probability:.10g}</b>",
            )
            for name, of in ((self.tr("as it is"), plain), (self.tr("all moved"), moved))
        ]
        note = self.tr("Both terms of the difference move alike: no probability changes.")
        return f"{_rows(lines)}{note}"


def _own(value: float, decimals: int = 4) -> str:
    """The second term of a difference, in brackets where it is negative."""
    shown = numbers.signed(value, decimals)
    return f"({shown})" if value < 0 else shown


def _rows(lines: list[tuple[str, str]]) -> str:
    cells = "".join(
        f"<tr><td style='padding: 2px 16px 2px 0'>{name}</td>"
        f"<td style='padding: 2px 0'>{value}</td></tr>"
        for name, value in lines
    )
    return f"<table>{cells}</table>"
