"""The segments of a tree as a Qt model: text, length, log-probability, name."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QFont

from logitscope.branches import Branches, Segment
from logitscope.gui import theme

AnyIndex = QModelIndex | QPersistentModelIndex
NOWHERE = QModelIndex()
TEXT, TOKENS, OWN, PATH, NAME = range(5)


class BranchModel(QAbstractItemModel):
    """Read-only but for the names; ``renamed`` is called with (node, name)."""

    def __init__(
        self,
        titles: tuple[str, ...],
        text_of: Callable[[Segment], str],
        renamed: Callable[[int, str], None],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._titles = titles
        self._text_of = text_of
        self._renamed = renamed
        self._branches = Branches((), 0)
        self._children: dict[int, list[int]] = {}
        self._rows: list[int] = []

    @property
    def branches(self) -> Branches:
        return self._branches

    def set_branches(self, branches: Branches) -> bool:
        """Show another tree; False if only numbers of the same tree changed."""
        before = [(s.parent, s.nodes[0]) for s in self._branches.segments]
        after = [(s.parent, s.nodes[0]) for s in branches.segments]
        if before == after:
            self._branches = branches
            self._tell_all()
            return False
        self.beginResetModel()
        self._branches = branches
        self._children = {}
        self._rows = []
        for index, segment in enumerate(branches.segments):
            siblings = self._children.setdefault(segment.parent, [])
            self._rows.append(len(siblings))
            siblings.append(index)
        self.endResetModel()
        return True

    def segment_at(self, index: AnyIndex) -> Segment | None:
        return self._branches.segments[index.internalId()] if index.isValid() else None

    def index_of(self, segment: int, column: int = TEXT) -> QModelIndex:
        """The model index of a segment by its number; -1 is nowhere."""
        if segment < 0:
            return QModelIndex()
        return self.createIndex(self._rows[segment], column, segment)

    # -- Qt ---------------------------------------------------------------------------------

    def rowCount(self, parent: AnyIndex = NOWHERE) -> int:
        if parent.isValid() and parent.column() != TEXT:
            return 0
        return len(self._children.get(_number(parent), ()))

    def columnCount(self, _parent: AnyIndex = NOWHERE) -> int:
        return len(self._titles)

    def index(self, row: int, column: int, parent: AnyIndex = NOWHERE) -> QModelIndex:
        children = self._children.get(_number(parent), [])
        if not 0 <= row < len(children) or not 0 <= column < len(self._titles):
            return QModelIndex()
        return self.createIndex(row, column, children[row])

    def parent(self, index: AnyIndex = NOWHERE) -> QModelIndex:  # type: ignore[override]
        if not index.isValid():
            return QModelIndex()
        return self.index_of(self._branches.segments[index.internalId()].parent)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        # A narrow panel cuts the titles.
        roles = {Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole}
        if orientation is Qt.Orientation.Horizontal and role in roles:
            return self._titles[section]
        return None

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        segment = self.segment_at(index)
        if segment is None:
            return None
        if role in {Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.EditRole}:
            return self._shown(segment, index.column())
        return _appearance(segment, index.column(), role)

    def setData(self, index: AnyIndex, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        segment = self.segment_at(index)
        if segment is None or role != Qt.ItemDataRole.EditRole or index.column() != NAME:
            return False
        self._renamed(segment.nodes[-1], str(value).strip())
        return True

    def flags(self, index: AnyIndex) -> Qt.ItemFlag:
        usual = super().flags(index)
        return usual | Qt.ItemFlag.ItemIsEditable if index.column() == NAME else usual

    def _shown(self, segment: Segment, column: int) -> str:
        match column:
            case 0:
                return self._text_of(segment)
            case 1:
                return f"{len(segment.nodes):,}"
            case 2:
                return f"{segment.log_probability:.2f}"
            case 3:
                return f"{segment.path_log_probability:.2f}"
            case _:
                return segment.name

    def _tell_all(self) -> None:
        """The view asks again for what it shows; rows and parents are the same."""
        self.layoutChanged.emit()


def _number(index: AnyIndex) -> int:
    return int(index.internalId()) if index.isValid() else -1


def _appearance(segment: Segment, column: int, role: int) -> object:
    if role == Qt.ItemDataRole.FontRole:
        if column == NAME:
            return None
        font = QFont(theme.token_font() if column == TEXT else theme.number_font())
        font.setBold(segment.is_on_path and column == TEXT)
        return font
    if role == Qt.ItemDataRole.TextAlignmentRole and column in {TOKENS, OWN, PATH}:
        return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
    if role == Qt.ItemDataRole.ForegroundRole and not segment.is_on_path and column == TEXT:
        return theme.palette().muted
    return None
