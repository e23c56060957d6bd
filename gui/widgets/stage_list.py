"""A short list whose rows can be dragged, or moved with the keyboard, into another order."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QListWidget,
    QListWidgetItem,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from logitscope.gui import theme

AnyIndex = QModelIndex | QPersistentModelIndex
KEY = Qt.ItemDataRole.UserRole
ROW = Qt.ItemDataRole.UserRole + 1
PADDING = 8.0
CENTRE_LEFT = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft)
CENTRE_RIGHT = int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight)


@dataclass(frozen=True, slots=True)
class StageRow:
    """One line: what it is on the left, what it did on the right."""

    key: str
    title: str
    effect: str
    is_active: bool
    tooltip: str = ""


class _Delegate(QStyledItemDelegate):
    """Paints number and title left, the effect right; inactive lines in the quiet colour."""

    def __init__(self, view: QListWidget) -> None:
        super().__init__(view)
        self.read_theme()

    def read_theme(self) -> None:
        self._font = theme.number_font(-0.5)
        self._size = QSize(100, round(QFontMetricsF(self._font).height() + 10))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        row = index.data(ROW)
        palette = theme.palette()
        area = QRectF(option.rect)
        is_current = index.row() == _current_row(option)
        if is_current:
            painter.fillRect(area, palette.selection)
        painter.setFont(self._font)
        painter.setPen(palette.text if row.is_active or is_current else palette.muted)
        inner = area.adjusted(PADDING, 0, -PADDING, 0)
        painter.drawText(inner, CENTRE_LEFT, f"{index.row() + 1}   {row.title}")
        painter.drawText(inner, CENTRE_RIGHT, row.effect)

    def sizeHint(self, _option: QStyleOptionViewItem, _index: AnyIndex) -> QSize:
        return self._size


def _current_row(option: QStyleOptionViewItem) -> int:
    view = option.widget
    return view.currentRow() if isinstance(view, QListWidget) else -1


class StageList(QListWidget):
    """Rows in their order; Alt+Up and Alt+Down move the current one."""

    order_changed = Signal(list)
    """The keys in the order the person made."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._delegate = _Delegate(self)
        self.setItemDelegate(self._delegate)
        self.setUniformItemSizes(True)
        self.setDragDropMode(QAbstractItemView.DragDropMode.InternalMove)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.model().rowsMoved.connect(self._was_dragged)
        theme.notifier().changed.connect(self._theme_changed)

    def set_rows(self, rows: tuple[StageRow, ...]) -> None:
        """Show these rows; the current one stays current."""
        if self.keys() != [row.key for row in rows]:
            current = self.currentItem()
            key = current.data(KEY) if current is not None else None
            self.clear()
            for row in rows:
                item = QListWidgetItem()
                item.setData(KEY, row.key)
                self.addItem(item)
                if row.key == key:
                    self.setCurrentItem(item)
            self._fit()
        for place, row in enumerate(rows):
            item = self.item(place)
            if item.data(ROW) != row:
                # One change a row, not one a role: each makes the view lay out its rows again.
                self.model().setItemData(
                    self.indexFromItem(item),
                    {
                        KEY: row.key,
                        ROW: row,
                        Qt.ItemDataRole.ToolTipRole: row.tooltip,
                        Qt.ItemDataRole.AccessibleTextRole: f"{row.title}, {row.effect}",
                    },
                )

    def keys(self) -> list[str]:
        return [self.item(place).data(KEY) for place in range(self.count())]

    def move_current(self, by: int) -> None:
        """Move the current row up (negative) or down."""
        place = self.currentRow()
        target = place + by
        if place < 0 or not 0 <= target < self.count():
            return
        keys = self.keys()
        keys.insert(target, keys.pop(place))
        self.order_changed.emit(keys)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        moves = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}
        by = moves.get(Qt.Key(event.key()))
        if by is not None and event.modifiers() & Qt.KeyboardModifier.AltModifier:
            self.move_current(by)
        else:
            super().keyPressEvent(event)

    def _was_dragged(self) -> None:
        self.order_changed.emit(self.keys())

    def _theme_changed(self) -> None:
        self._delegate.read_theme()
        self._fit()

    def _fit(self) -> None:
        """As high as its rows: the list never scrolls by itself."""
        row = self.sizeHintForRow(0) if self.count() else 0
        frame = self.height() - self.viewport().height() if self.isVisible() else 12
        self.setFixedHeight(row * self.count() + max(12, frame))
