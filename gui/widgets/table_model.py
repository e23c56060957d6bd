"""A read-only table of finished texts."""

from __future__ import annotations

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from logitscope.gui import theme

AnyIndex = QModelIndex | QPersistentModelIndex
ROOT = QModelIndex()
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class TableModel(QAbstractTableModel):
    """Rows of texts under fixed titles; the first column holds tokens, the others numbers."""

    def __init__(self, titles: tuple[str, ...], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._titles = titles
        self._rows: tuple[tuple[str, ...], ...] = ()
        self._read_fonts()
        theme.notifier().changed.connect(self._read_fonts)

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        return self._rows

    def set_rows(self, rows: tuple[tuple[str, ...], ...]) -> None:
        if len(rows) != len(self._rows):
            self.beginResetModel()
            self._rows = rows
            self.endResetModel()
        elif rows:
            self._rows = rows
            last = self.index(len(rows) - 1, len(self._titles) - 1)
            self.dataChanged.emit(self.index(0, 0), last)

    def rowCount(self, parent: AnyIndex = ROOT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: AnyIndex = ROOT) -> int:
        return 0 if parent.isValid() else len(self._titles)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._titles[section]
        return self._alignment(section) if role == Qt.ItemDataRole.TextAlignmentRole else None

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if role == Qt.ItemDataRole.DisplayRole:
            return self._rows[index.row()][index.column()]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self._alignment(index.column())
        if role == Qt.ItemDataRole.FontRole:
            return self._token_font if index.column() == 0 else self._number_font
        return None

    def _read_fonts(self) -> None:
        self._token_font = theme.token_font()
        self._number_font = theme.number_font()

    def _alignment(self, column: int) -> Qt.AlignmentFlag:
        return LEFT if column == 0 else RIGHT
