"""The draw: the random number on the cumulative bar, once more, and a thousand times."""

from __future__ import annotations

import math

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from logitscope import diagnosis, sampling
from logitscope.draw_view import Frequency, Intervals, frequencies, intervals
from logitscope.gui.export import Table
from logitscope.gui.export_menu import ExportMenu
from logitscope.gui.panels.sampling_last import LastDraw
from logitscope.gui.panels.step_words import Labels, table
from logitscope.gui.session import Session
from logitscope.gui.shown import ShownRow
from logitscope.gui.widgets import numbers
from logitscope.gui.widgets.draw_bar import DrawBar, Interval
from logitscope.gui.widgets.eliding_label import ElidingLabel
from logitscope.gui.widgets.frequency_view import FrequencyRow, FrequencyView
from logitscope.gui.widgets.plain import plain, plain_tip, set_tip
from logitscope.gui.widgets.sheltered import Sheltered
from logitscope.sampling import SamplerSettings, Shaped
from logitscope.steps import Draw, Origin, StepRecord

MANY = 1000
MOST_INTERVALS = 256
LISTED = 12
SAME_DRAW = 0.05
"""A row computed anew differs by rounding, which moves probabilities by less than this share."""


class DrawSection(QWidget):
    """The draw that chose the token at the selected position, or the one that comes next."""

    def __init__(self, session: Session, labels: Labels, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._labels = labels
        self._attempt = 0
        self._seen: tuple[ShownRow | None, Shaped | None] = (None, None)
        self._then: tuple[ShownRow, SamplerSettings, Shaped] | None = None
        """What is shown of a step that was drawn with other settings."""
        self.sentence = ElidingLabel()
        self.last = LastDraw(session, labels)
        self.reason = plain(QLabel())
        self.bar = DrawBar()
        self.bar.setAccessibleName(self.tr("Intervals of the tokens that can be drawn"))
        self.bar.tooltip_of = self._tooltip
        self.again = QPushButton(self.tr("Draw again"))
        self.again.setToolTip(
            self.tr("The next random number of this seed and position; the text stays.")
        )
        self.again.clicked.connect(self._draw_again)
        self.many = QPushButton(self.tr("Draw {n} times").format(n=numbers.count(MANY)))
        self.many.setToolTip(self.tr("Counts what comes, against what is to be expected."))
        self.many.clicked.connect(self._draw_many)
        self.take = QPushButton(self.tr("Use its settings"))
        self.take.setToolTip(
            self.tr("This token was drawn with other settings, which the bar shows: set them.")
        )
        self.take.clicked.connect(self._take_settings)
        self.take.hide()
        self.counts_title = plain(QLabel(self.tr("Drawn / expected ± one standard deviation")))
        self.counts = FrequencyView()
        self.bar_menu = ExportMenu(session, self.bar, "draw", lambda: self._exported_bar)
        self.counts_menu = ExportMenu(session, self.counts, "draws", lambda: self._exported_counts)
        self._lay_out()

    def _lay_out(self) -> None:
        self.reason.setWordWrap(True)
        for label in (self.sentence, self.last, self.reason):
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        # Its text changes with every move of a slider: it must not lay out the panel again.
        self.sentence.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.sentence.setMinimumWidth(1)
        buttons = QHBoxLayout()
        buttons.addWidget(self.again)
        buttons.addWidget(self.many)
        buttons.addWidget(self.take)
        buttons.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(Sheltered(self.sentence, self))
        layout.addWidget(self.bar)
        # Before lines that come and go: the buttons stay where they are.
        layout.addLayout(buttons)
        layout.addWidget(self.last)
        layout.addWidget(self.reason)
        layout.addWidget(self.counts_title)
        layout.addWidget(self.counts)

    @property
    def attempt(self) -> int:
        """How often "Draw again" was used here."""
        return self._attempt

    # -- showing ----------------------------------------------------------------------------

    def refresh(self) -> None:
        """Read the row on show and the settings."""
        row, shaped = self._session.row, self._session.shaped
        if (row, shaped) != self._seen:
            self._seen = (row, shaped)
            self._attempt = 0
            self.counts.set_rows(())
        self.counts_title.setVisible(bool(self.counts.rows))
        self.last.refresh()
        has_draw = row is not None and shaped is not None and not shaped.greedy
        self.again.setEnabled(has_draw)
        self.many.setEnabled(has_draw)
        if row is None or shaped is None:
            self.sentence.setText(self.tr("The draw appears here once there is a distribution."))
            self.sentence.setToolTip("")
            self.reason.clear()
            self.bar.set_draw((), None, None)
            self.take.hide()
            return
        step = self._step(row)
        self._offer_settings(step)
        if step is not None:
            shaped = self._shaped_then(row, step, shaped)
        self._show_reason(step, shaped)
        self.reason.setVisible(bool(self.reason.text()))
        self._show_draw(row, step, shaped)
        set_tip(self.sentence, plain_tip(self.sentence.text()))

    def _show_draw(self, row: ShownRow, step: StepRecord | None, shaped: Shaped) -> None:
        if step is None or self._attempt > 0:
            self._show_preview(row, shaped)
        else:
            self._show_past(step, shaped)

    def _step(self, row: ShownRow) -> StepRecord | None:
        """The record of the token that stands where the row predicts one."""
        ids = self._session.ids
        if row.ids != ids[: row.position]:
            return None
        return self._session.document.step_at(row.position)

    def _shaped_then(self, row: ShownRow, step: StepRecord, now: Shaped) -> Shaped:
        """What the chain made of the row when the step was drawn, as far as that is known."""
        settings = step.settings
        if self._attempt > 0 or settings is None or settings == now.settings:
            return now
        if self._then is None or self._then[:2] != (row, settings):
            made = sampling.shape(row.distribution.logits, settings, row.ids)
            self._then = row, settings, made
        return self._then[2]

    def _offer_settings(self, step: StepRecord | None) -> None:
        """A way back to the settings of the step, where they were others."""
        settings = None if step is None else step.settings
        self.take.setVisible(settings is not None and settings != self._session.settings)

    def _take_settings(self) -> None:
        row = self._session.row
        step = None if row is None else self._step(row)
        if step is not None and step.settings is not None:
            self._session.set_settings(step.settings)

    def _show_reason(self, step: StepRecord | None, shaped: Shaped) -> None:
        if step is None:
            self.reason.clear()
        elif _is_drawn_from(step, shaped):
            self.reason.setText(diagnosis.diagnose(step, shaped.settings).sentence)
        else:
            # The temperature of now says nothing about a step made at another.
            why = diagnosis.diagnose(step, SamplerSettings()).sentence
            changed = self.tr("The settings were others then: the bar shows those of now.")
            self.reason.setText(f"{why} {changed}")

    def _show_preview(self, row: ShownRow, shaped: Shaped) -> None:
        choice = sampling.draw(
            shaped, self._session.settings.seed, row.position, attempt=self._attempt
        )
        name = self._labels(choice.token_id)
        if choice.draw is None:
            text = self.tr("Greedy takes “{token}”: nothing is drawn.").format(token=name)
        elif self._attempt:
            text = self.tr("Draw {n}: {what}").format(
                n=self._attempt + 1, what=self._in_words(choice.draw, name)
            )
        else:
            text = self.tr("Next draw: {what}").format(what=self._in_words(choice.draw, name))
        self.sentence.setText(text)
        self._show_bar(shaped, choice.draw, choice.token_id)

    def _show_past(self, step: StepRecord, shaped: Shaped) -> None:
        name = self._labels(step.token_id)
        if step.draw is not None:
            self.sentence.setText(
                self.tr("Drawn: {what}").format(what=self._in_words(step.draw, name))
            )
        elif step.origin is Origin.SAMPLED:
            text = self.tr("Greedy took “{token}”: nothing was drawn.")
            self.sentence.setText(text.format(token=name))
        else:
            text = self.tr("“{token}” was put here by you: nothing was drawn.")
            self.sentence.setText(text.format(token=name))
        # u of other settings points at another token's interval.
        draw = step.draw if _is_drawn_from(step, shaped) else None
        self._show_bar(shaped, draw, step.token_id)

    def _in_words(self, draw: Draw, name: str) -> str:
        # A large vocabulary has intervals of 1e-6 and less: four decimals would show them empty.
        u, low, high = numbers.told_apart((draw.u, draw.low, draw.high), 4)
        return self.tr("u = {u} → “{token}” [{low}, {high})").format(
            u=u, token=name, low=low, high=high
        )

    def _show_bar(self, shaped: Shaped, draw: Draw | None, token_id: int) -> None:
        least = 1.0 / max(1, self.bar.width())
        shown = intervals(shaped, MOST_INTERVALS, least)
        self.bar.set_draw(
            self._named(shown, draw, token_id), None if draw is None else draw.u, token_id
        )

    def _named(self, shown: Intervals, draw: Draw | None, token_id: int) -> tuple[Interval, ...]:
        """The intervals for the bar, the hit one among them however narrow it is."""
        named = [
            Interval(other, self._labels(other), low, high)
            for other, low, high in zip(
                shown.ids.tolist(), shown.lows.tolist(), shown.highs.tolist(), strict=True
            )
        ]
        if draw is not None and token_id not in {entry.token_id for entry in named}:
            named.append(Interval(token_id, self._labels(token_id), draw.low, draw.high))
        return tuple(named)

    def _tooltip(self, interval: Interval | None) -> str:
        if interval is None:
            return self.tr("All other tokens that can be drawn, too narrow to show.")
        low, high = numbers.told_apart((interval.low, interval.high), 6)
        return table(
            [
                (self.tr("token"), interval.text),
                (self.tr("from"), low),
                (self.tr("to"), high),
                (self.tr("probability"), numbers.probability(interval.high - interval.low)),
            ]
        )

    # -- copying ----------------------------------------------------------------------------

    def _exported_bar(self) -> Table:
        bar = self.bar
        rows = tuple(
            (entry.text, entry.token_id, entry.low, entry.high, bar.u)
            if entry.token_id == bar.hit
            else (entry.text, entry.token_id, entry.low, entry.high, None)
            for entry in bar.intervals
        )
        return Table("intervals", ("token", "id", "low", "high", "drawn_by_u"), rows)

    def _exported_counts(self) -> Table:
        rows = tuple(
            (row.text, row.observed, row.expected, row.deviation) for row in self.counts.rows
        )
        return Table("draws", ("token", "observed", "expected", "deviation"), rows)

    # -- acting -----------------------------------------------------------------------------

    def _draw_again(self) -> None:
        self._attempt += 1
        self.refresh()

    def _draw_many(self) -> None:
        row, shaped = self._session.row, self._session.shaped
        if row is None or shaped is None:
            return
        tally = sampling.draw_many(shaped, self._session.settings.seed, row.position, MANY)
        self.counts.set_rows(
            tuple(self._frequency_row(entry) for entry in frequencies(shaped, tally, LISTED))
        )
        self.counts_title.setVisible(True)

    def _frequency_row(self, entry: Frequency) -> FrequencyRow:
        name = self.tr("others") if entry.token_id is None else self._labels(entry.token_id)
        return FrequencyRow(name, entry.observed, entry.expected, entry.deviation)


def _is_drawn_from(step: StepRecord, shaped: Shaped) -> bool:
    """Whether these settings, as they are now, explain the step; True where nothing was drawn."""
    if step.draw is None or step.shaped_probability is None:
        return step.origin is not Origin.SAMPLED or shaped.greedy
    interval = shaped.interval_of(step.token_id)
    if shaped.greedy or interval is None or not interval[0] <= step.draw.u < interval[1]:
        return False
    now = shaped.probability_of(step.token_id)
    return math.isclose(now, step.shaped_probability, rel_tol=SAME_DRAW)
