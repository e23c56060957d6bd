"""The whole vocabulary in the order of the raw distribution, as a table that computes only what
is looked at."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from logitscope.distribution import Distribution
from logitscope.gui import theme
from logitscope.gui.panels.step_words import Labels, remover_name
from logitscope.gui.widgets import numbers
from logitscope.gui.words import mark, translated
from logitscope.sampling import KEPT, Shaped

AnyIndex = QModelIndex | QPersistentModelIndex
ROOT = QModelIndex()
TOKEN_ID = Qt.ItemDataRole.UserRole


class Column(IntEnum):
    RANK = 0
    TEXT = 1
    RAW = 2
    SHAPED = 3
    REMOVED = 4
    CUMULATIVE = 5
    ODDS = 6
    LOGIT = 7
    LOG = 8
    ID = 9
    BYTES = 10


TITLES = {
    Column.RANK: mark("RankedModel", "rank"),
    Column.TEXT: mark("RankedModel", "token"),
    Column.BYTES: mark("RankedModel", "bytes"),
    Column.ID: mark("RankedModel", "id"),
    Column.LOGIT: mark("RankedModel", "logit"),
    Column.RAW: mark("RankedModel", "p raw"),
    Column.SHAPED: mark("RankedModel", "p shaped"),
    Column.LOG: mark("RankedModel", "ln p"),
    Column.CUMULATIVE: mark("RankedModel", "cumulative"),
    Column.ODDS: mark("RankedModel", "odds to top"),
    Column.REMOVED: mark("RankedModel", "removed by"),
}
TOOLTIPS = {
    Column.RAW: mark("RankedModel", "Softmax of the raw logits over the whole vocabulary"),
    Column.SHAPED: mark("RankedModel", "Behind the sampler chain; 0 where a stage removed it"),
    Column.LOG: mark("RankedModel", "Natural logarithm of the raw probability, nats"),
    Column.CUMULATIVE: mark("RankedModel", "Raw probability of this and all likelier tokens"),
    Column.ODDS: mark("RankedModel", "How many times as likely the likeliest token is"),
}
_LEFT = {Column.TEXT, Column.BYTES, Column.REMOVED}
_MONOSPACED = {Column.TEXT, Column.BYTES}
RIGHT_ALIGNED = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
LEFT_ALIGNED = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class RankedModel(QAbstractTableModel):
    """Row r is the token of rank r + 1."""

    def __init__(self, labels: Labels, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._labels = labels
        self._distribution: Distribution | None = None
        self._shaped: Shaped | None = None
        self._read_fonts()
        theme.notifier().changed.connect(self._read_fonts)
        self._cells: dict[Column, Callable[[int], str]] = {
            Column.RANK: lambda row: numbers.count(row + 1),
            Column.TEXT: lambda row: self._labels(self.id_at(row)),
            Column.BYTES: lambda row: self._labels.hex(self.id_at(row)),
            Column.ID: lambda row: str(self.id_at(row)),
            Column.LOGIT: self._logit,
            Column.RAW: self._raw,
            Column.SHAPED: self._shaped_probability,
            Column.LOG: self._log,
            Column.CUMULATIVE: self._cumulative,
            Column.ODDS: self._odds,
            Column.REMOVED: self._removed,
        }

    def set_step(self, distribution: Distribution | None, shaped: Shaped | None) -> None:
        """Show another row of logits, or another shape of it."""
        size = 0 if distribution is None else len(distribution)
        if size != self.rowCount():
            self.beginResetModel()
            self._distribution, self._shaped = distribution, shaped
            self.endResetModel()
            return
        self._distribution, self._shaped = distribution, shaped
        if size:
            last = self.index(size - 1, len(Column) - 1)
            self.dataChanged.emit(self.index(0, 0), last)

    def id_at(self, row: int) -> int:
        """The id of rank ``row`` + 1."""
        assert self._distribution is not None
        return int(self._distribution.order[row])

    def row_of(self, token_id: int) -> int:
        """The row of an id; IndexError outside the vocabulary."""
        assert self._distribution is not None
        return self._distribution.rank(token_id) - 1

    # -- Qt ---------------------------------------------------------------------------------

    def rowCount(self, parent: AnyIndex = ROOT) -> int:
        if parent.isValid() or self._distribution is None:
            return 0
        return len(self._distribution)

    def columnCount(self, parent: AnyIndex = ROOT) -> int:
        return 0 if parent.isValid() else len(Column)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        column = Column(section)
        if role == Qt.ItemDataRole.DisplayRole:
            return translated("RankedModel", TITLES[column])
        if role == Qt.ItemDataRole.ToolTipRole:
            return translated("RankedModel", TOOLTIPS.get(column, ""))
        return self._alignment(column) if role == Qt.ItemDataRole.TextAlignmentRole else None

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        column = Column(index.column())
        if role == Qt.ItemDataRole.DisplayRole:
            return self._cells[column](index.row())
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self._alignment(column)
        if role == Qt.ItemDataRole.FontRole:
            return self._token_font if column in _MONOSPACED else self._number_font
        if role == Qt.ItemDataRole.ForegroundRole and self._is_removed(index.row()):
            return theme.palette().muted
        return self.id_at(index.row()) if role == TOKEN_ID else None

    def _alignment(self, column: Column) -> Qt.AlignmentFlag:
        return LEFT_ALIGNED if column in _LEFT else RIGHT_ALIGNED

    def _read_fonts(self) -> None:
        # A font a cell would cost half of a repaint.
        self._token_font = theme.token_font()
        self._number_font = theme.number_font()

    # -- cells ------------------------------------------------------------------------------

    def _logit(self, row: int) -> str:
        assert self._distribution is not None
        return numbers.signed(float(self._distribution.logits[self.id_at(row)]), 3)

    def _raw(self, row: int) -> str:
        assert self._distribution is not None
        return numbers.probability(self._distribution.probability(self.id_at(row)))

    def _shaped_probability(self, row: int) -> str:
        if self._shaped is None:
            return numbers.UNKNOWN
        return numbers.probability(self._shaped.probability_of(self.id_at(row)))

    def _log(self, row: int) -> str:
        assert self._distribution is not None
        return numbers.signed(float(self._distribution.log_probability([self.id_at(row)])[0]), 3)

    def _cumulative(self, row: int) -> str:
        assert self._distribution is not None
        return f"{self._distribution.cumulative[row]:.6f}"

    def _odds(self, row: int) -> str:
        assert self._distribution is not None
        return numbers.times(float(self._distribution.odds_to_top([self.id_at(row)])[0]))

    def _removed(self, row: int) -> str:
        if self._shaped is None:
            return ""
        code = int(self._shaped.removed_by[self.id_at(row)])
        return remover_name(code, is_greedy=self._shaped.greedy)

    def _is_removed(self, row: int) -> bool:
        shaped = self._shaped
        return shaped is not None and int(shaped.removed_by[self.id_at(row)]) != KEPT
