"""Taking a comparison out of the window."""

from __future__ import annotations

from functools import partial

from PySide6.QtWidgets import QWidget

from logitscope.gui.comparing import Comparison
from logitscope.gui.export import Table, provenance
from logitscope.gui.export_menu import ExportMenu
from logitscope.gui.panels.compare_heat import TITLES, export_table


class CompareExport(ExportMenu):
    """All ranges with the losses of both sides, and the picture."""

    def __init__(self, comparison: Comparison, picture: QWidget) -> None:
        super().__init__(comparison.session, picture, "comparison", self._later)
        self._comparison = comparison

    def made_from(self) -> dict[str, object]:
        """Both models and texts."""
        comparison = self._comparison
        shown = provenance(comparison.session)
        right = comparison.right_session
        model = None if right is None else right.model
        return {key: shown[key] for key in ("model", "header_hash", "backend")} | {
            "text": comparison.left_text.name if comparison.shows_opened else "on screen",
            "window": comparison.left.window_size,
            "against": comparison.against.value,
            "right_model": None if model is None else model.name,
            "right_header_hash": None if model is None else model.header_hash,
            "right_text": comparison.other_text.name,
            "right_window": None if comparison.right is None else comparison.right.window_size,
        }

    def _later(self) -> partial[Table]:
        compared = self._comparison.result
        if compared is None:
            return partial(Table, "ranges", TITLES, ())
        return partial(export_table, compared, self._comparison.divergence.values.copy())
