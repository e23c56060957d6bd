"""The curve tab: the whole vocabulary as probability over rank, with the cuts of the stages."""

from __future__ import annotations

import html

from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from logitscope.gui import theme
from logitscope.gui.export import Table
from logitscope.gui.export_menu import ExportMenu
from logitscope.gui.panels.step_words import Labels, stage_name
from logitscope.gui.session import Session
from logitscope.gui.widgets import numbers
from logitscope.gui.widgets.curve_view import CurveView, CutLine
from logitscope.gui.widgets.plain import rich
from logitscope.rank_curve import Cut, RankCurve, rank_curve

TITLES = ("rank", "raw", "shaped")
POINTS = 500
"""More than the curve has pixels in a dock, fewer than cost time."""


class CurveTab(QWidget):
    """The plot is made when the tab is first shown: its library takes a third of a second."""

    def __init__(self, session: Session, labels: Labels, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._labels = labels
        self._curve: RankCurve | None = None
        self._view: CurveView | None = None
        self.note = rich(QLabel())
        self.note.setWordWrap(True)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 4, 0, 0)
        self._layout.addWidget(self.note)

    @property
    def curve(self) -> RankCurve | None:
        """What is drawn."""
        return self._curve

    @property
    def view(self) -> CurveView | None:
        return self._view

    def refresh(self) -> None:
        """Read the row on show."""
        row, shaped = self._session.row, self._session.shaped
        if row is None or shaped is None:
            self._curve = None
            self.note.setText(self.tr("The curve appears here once there is a distribution."))
            if self._view is not None:
                self._view.hide()
            return
        self._curve = rank_curve(row.distribution, shaped, POINTS)
        view = self._made_view()
        view.show()
        cuts = tuple(line for cut in self._curve.cuts for line in self._lines_of(cut))
        view.set_curves(self._curve.ranks, self._curve.raw, self._curve.shaped, cuts)
        self._show_legend()

    def _made_view(self) -> CurveView:
        if self._view is None:
            self._view = CurveView()
            self._view.setAccessibleName(self.tr("Probability over rank"))
            self._view.hovered.connect(self._show_rank)
            self._layout.addWidget(self._view, 1)
            self.menu = ExportMenu(self._session, self._view, "rank-curve", lambda: self._exported)
        return self._view

    def _exported(self) -> Table:
        curve = self._curve
        if curve is None:
            return Table("ranks", TITLES, ())
        columns = (curve.ranks.tolist(), curve.raw.tolist(), curve.shaped.tolist())
        return Table("ranks", TITLES, tuple(zip(*columns, strict=True)))

    def _lines_of(self, cut: Cut) -> list[CutLine]:
        name = stage_name(cut.stage)
        size = 0 if self._curve is None else int(self._curve.ranks[-1])
        lines = []
        if cut.first_rank > 1:
            lines.append(CutLine(self.tr("{stage} from").format(stage=name), cut.first_rank - 0.5))
        if cut.last_rank < size:
            label = self.tr("{stage} {rank}").format(stage=name, rank=numbers.count(cut.last_rank))
            lines.append(CutLine(label, cut.last_rank + 0.5))
        return lines

    def _show_legend(self) -> None:
        palette = theme.palette()
        self.note.setText(
            f"<span style='color: {palette.muted.name()}'>━</span> {self.tr('raw')} &nbsp; "
            f"<span style='color: {palette.bar_shaped.name()}'>━</span> {self.tr('shaped')} &nbsp; "
            f"<span style='color: {palette.warning.name()}'>┆</span> {self.tr('cut of a stage')}"
        )

    def _show_rank(self, rank: int) -> None:
        row, shaped = self._session.row, self._session.shaped
        if row is None or shaped is None or rank > len(row.distribution):
            return
        token_id = int(row.distribution.order[rank - 1])
        self.note.setText(
            self.tr("rank {rank}: “{token}” · raw {raw} · shaped {shaped}").format(
                rank=numbers.count(rank),
                token=html.escape(self._labels(token_id)),
                raw=numbers.probability(row.distribution.probability(token_id)),
                shaped=numbers.probability(shaped.probability_of(token_id)),
            )
        )
