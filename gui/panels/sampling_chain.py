"""The sampler chain as a list: the order of its stages, and what each one removed."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QToolButton, QVBoxLayout, QWidget

from logitscope.gui.export import Table
from logitscope.gui.export_menu import ExportMenu
from logitscope.gui.panels.step_words import stage_name
from logitscope.gui.session import Session
from logitscope.gui.widgets import numbers
from logitscope.gui.widgets.plain import plain
from logitscope.gui.widgets.stage_list import StageList, StageRow
from logitscope.sampling import SamplerSettings, Shaped, Stage, StageReport


class SamplingChain(QWidget):
    """Shows the reports of ``session.shaped``; a new order is asked for by ``changed``."""

    changed = Signal(object)
    """The SamplerSettings with the new order."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.list = StageList()
        self.list.setAccessibleName(self.tr("Order of the sampler chain"))
        self.list.order_changed.connect(self._order_made)
        self.summary = plain(QLabel())
        self.summary.setWordWrap(True)
        self.up = self._button(Qt.ArrowType.UpArrow, self.tr("Earlier (Alt+Up)"), -1)
        self.down = self._button(Qt.ArrowType.DownArrow, self.tr("Later (Alt+Down)"), 1)
        self.menu = ExportMenu(session, self.list, "sampler-chain", lambda: self._exported)
        self._lay_out()

    def _button(self, arrow: Qt.ArrowType, tooltip: str, by: int) -> QToolButton:
        button = QToolButton()
        button.setArrowType(arrow)
        button.setProperty("flat", True)
        button.setToolTip(tooltip)
        button.setAccessibleName(tooltip)
        button.clicked.connect(lambda: self.list.move_current(by))
        return button

    def _lay_out(self) -> None:
        title = plain(QLabel(self.tr("Stages, first to last")))
        head = QHBoxLayout()
        head.addWidget(title, 1)
        head.addWidget(self.up)
        head.addWidget(self.down)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addLayout(head)
        layout.addWidget(self.list)
        layout.addWidget(self.summary)

    def refresh(self) -> None:
        """Show the settings and, where there is a row, what they did to it."""
        settings, shaped = self._session.settings, self._session.shaped
        reports = {} if shaped is None else {report.stage: report for report in shaped.reports}
        self.list.set_rows(
            tuple(self._row(stage, settings, reports.get(stage)) for stage in settings.order)
        )
        self.summary.setText("" if shaped is None else self._summary_of(shaped))

    def _exported(self) -> Table:
        shaped = self._session.shaped
        rows = (
            ()
            if shaped is None
            else tuple(
                (
                    entry.stage.value,
                    entry.active,
                    entry.kept_before,
                    entry.kept_after,
                    entry.removed_mass,
                )
                for entry in shaped.reports
            )
        )
        titles = ("stage", "active", "kept_before", "kept_after", "removed_mass")
        return Table("stages", titles, rows)

    def _order_made(self, keys: list[str]) -> None:
        order = tuple(Stage(key) for key in keys)
        self.changed.emit(replace(self._session.settings, order=order))

    def _row(self, stage: Stage, settings: SamplerSettings, report: StageReport | None) -> StageRow:
        is_active = settings.is_active(stage)
        return StageRow(
            stage.value,
            f"{stage_name(stage)}  {self._value(stage, settings)}",
            self._effect(stage, settings, report),
            is_active,
            self._tooltip(report),
        )

    def _value(self, stage: Stage, settings: SamplerSettings) -> str:
        if stage is Stage.PENALTIES:
            return (
                f"×{settings.repetition_penalty:g}  "
                f"−{settings.frequency_penalty:g}·n  −{settings.presence_penalty:g}"
            )
        if stage is Stage.TOP_K:
            return self.tr("all") if settings.top_k == 0 else numbers.count(settings.top_k)
        values = {
            Stage.TEMPERATURE: settings.temperature,
            Stage.TOP_P: settings.top_p,
            Stage.MIN_P: settings.min_p,
            Stage.TYPICAL: settings.typical_p,
        }
        return f"{values[stage]:g}"

    def _effect(self, stage: Stage, settings: SamplerSettings, report: StageReport | None) -> str:
        if not settings.is_active(stage):
            return self.tr("off")
        if report is None:
            return ""
        removed = report.kept_before - report.kept_after
        if removed == 0:
            changes = stage in {Stage.PENALTIES, Stage.TEMPERATURE}
            return self.tr("removes nothing") if not changes else self.tr("changes probabilities")
        return self.tr("−{count} · mass {mass}").format(
            count=numbers.count(removed), mass=numbers.probability(report.removed_mass)
        )

    def _tooltip(self, report: StageReport | None) -> str:
        if report is None or report.kept_after == report.kept_before:
            return ""
        return self.tr(
            "Saw {before} tokens, kept {after}; the least likely of these had probability {cut}."
        ).format(
            before=numbers.count(report.kept_before),
            after=numbers.count(report.kept_after),
            cut=numbers.probability(report.cut_probability),
        )

    def _summary_of(self, shaped: Shaped) -> str:
        if shaped.greedy:
            return self.tr("Temperature 0 is greedy: the likeliest token is taken, without a draw.")
        if shaped.kept == shaped.n_vocab:
            return self.tr("Every one of the {count} tokens can be drawn.").format(
                count=numbers.count(shaped.kept)
            )
        return self.tr("{kept} of {all} tokens can be drawn.").format(
            kept=numbers.count(shaped.kept), all=numbers.count(shaped.n_vocab)
        )
