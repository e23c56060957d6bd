"""Taking the scored text out of the window: numbers, pictures, a page."""

from __future__ import annotations

import importlib.util
import math
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QMenu, QWidget

from logitscope.display import token_label
from logitscope.gui.export import Cell, Table, provenance
from logitscope.gui.export_menu import ExportMenu
from logitscope.gui.session import Session
from logitscope.loss_html import loss_html
from logitscope.losses import LossTable
from logitscope.vocabulary import Vocabulary

if TYPE_CHECKING:
    from logitscope.gui.panels.loss import LossPanel

TITLES = (
    "position", "id", "token", "loss_nats", "probability", "rank", "entropy_nats", "logit",
    "top_ids", "top_log_probabilities",
)  # fmt: skip
_PARQUET = "pyarrow"


class LossExport(ExportMenu):
    """The menu of the loss panel: all numbers of the text on show, and its pictures."""

    def __init__(self, session: Session, panel: LossPanel, picture: QWidget) -> None:
        super().__init__(session, picture, "loss", self._later, self._chosen)
        self._panel = panel

    def fill(self, menu: QMenu) -> None:
        super().fill(menu)
        menu.addAction(self.tr("Export HTML …"), self.save_html)
        if importlib.util.find_spec(_PARQUET) is None:
            missing = menu.addAction(self.tr("Export Parquet (needs the package pyarrow)"))
            missing.setEnabled(False)
        else:
            menu.addAction(self.tr("Export Parquet …"), self.save_parquet)

    def made_from(self) -> dict[str, object]:
        """The model, the text and how it was read."""
        shown = provenance(self._session)
        scorer = self._panel.scorer
        return {key: shown[key] for key in ("model", "header_hash", "backend")} | {
            "text": self._panel.opened_text.name if self._panel.shows_opened else "on screen",
            "tokens": len(self._panel.table),
            "window": scorer.window_size,
            "stride": scorer.stride,
        }

    def save_html(self) -> None:
        """The heatmap as a file of its own, with the measure and the scale on show."""
        vocabulary = self._session.vocabulary
        if vocabulary is None:
            return
        made_from, heat = self.made_from(), self._panel.heat
        facts = (
            self._panel.figures.summary.text(),
            self.tr("windows of {window} tokens every {stride}; header {header_hash}").format(
                **made_from
            ),
        )
        made = partial(
            loss_html,
            vocabulary,
            deepcopy(self._panel.table),
            self.tr("Loss of the text “{text}” under {model}").format(**made_from),
            measure=heat.measure,
            scale=heat.scale,
            facts=facts,
        )
        self.save_later("html", lambda path: path.write_text(made(), encoding="utf-8"))

    def save_parquet(self) -> None:
        make, made_from = self._later(), self.made_from()
        self.save_later("parquet", lambda path: _write_parquet(make(), made_from, path))

    def _later(self) -> partial[Table]:
        losses = deepcopy(self._panel.table)
        return partial(loss_table, self._session.vocabulary, losses, range(len(losses)))

    def _chosen(self) -> Table:
        """The chosen range, else the selected token, else all."""
        panel = self._panel
        part = panel.heat_view.chosen
        if not part and panel.position is not None:
            part = range(panel.position, panel.position + 1)
        return loss_table(self._session.vocabulary, panel.table, part or range(len(panel.table)))


def loss_table(vocabulary: Vocabulary | None, losses: LossTable, part: range) -> Table:
    """One row a token."""
    rows = () if vocabulary is None else tuple(_row(vocabulary, losses, p) for p in part)
    return Table("tokens", TITLES, rows)


def _write_parquet(table: Table, made_from: dict[str, object], path: Path) -> None:
    import pyarrow  # type: ignore[import-not-found,unused-ignore]
    import pyarrow.parquet  # type: ignore[import-not-found,unused-ignore]

    columns = list(zip(*table.rows, strict=True)) or [()] * len(TITLES)
    made = pyarrow.table({name: list(c) for name, c in zip(TITLES, columns, strict=True)})
    words = {key: str(value) for key, value in made_from.items()}
    pyarrow.parquet.write_table(made.replace_schema_metadata(words), path)


def _row(vocabulary: Vocabulary, losses: LossTable, position: int) -> tuple[Cell, ...]:
    token_id = int(losses.ids[position])
    loss = -float(losses.log_probability[position])
    is_known = not math.isnan(loss)
    top = losses.top_ids[position] >= 0
    logit = float(losses.logit[position])
    return (
        position,
        token_id,
        token_label(vocabulary, token_id),
        loss if is_known else None,
        math.exp(-loss) if is_known else None,
        int(losses.rank[position]) if is_known else None,
        float(losses.entropy[position]) if is_known else None,
        None if math.isnan(logit) else logit,
        " ".join(map(str, losses.top_ids[position][top].tolist())),
        " ".join(f"{value:.6g}" for value in losses.top_log_probability[position][top].tolist()),
    )
