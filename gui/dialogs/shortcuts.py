"""Everything there is, with its keys: search it, read it, run it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QDialog,
    QHeaderView,
    QLineEdit,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from logitscope.gui import icons, theme
from logitscope.gui.actions import CONTEXT, ActionSet, Command, Menu, key_text
from logitscope.gui.widgets.card import FRAME
from logitscope.gui.words import translated

_COMMAND = Qt.ItemDataRole.UserRole
_TIP = 2
PADDING = 6
"""On either side of a cell, in the style sheet; Qt leaves it out when it breaks a text."""
USUAL_SIZE = QSize(1000, 640)
"""All sentences but the longest stand in one line."""


class _Wrapped(QStyledItemDelegate):
    """Text as high as the width of its column makes it; Qt asks for one line only."""

    def __init__(self, tree: QTreeWidget) -> None:
        super().__init__(tree)
        self._header = tree.header()

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        room = QStyleOptionViewItem(option)
        room.rect = QRect(0, 0, self._header.sectionSize(index.column()) - 2 * PADDING, 1)
        return super().sizeHint(room, index)


class ShortcutsDialog(QDialog):
    """All commands under the names of their menus. Enter runs the selected one."""

    def __init__(self, actions: ActionSet, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._actions = actions
        self.setWindowTitle(self.tr("Commands and shortcuts"))
        self.search = QLineEdit(placeholderText=self.tr("Search commands and keys"))
        self.search.addAction(
            icons.icon("search", "muted"), QLineEdit.ActionPosition.LeadingPosition
        )
        self.search.setClearButtonEnabled(True)
        self.search.setAccessibleName(self.tr("Search commands and keys"))
        self.search.textChanged.connect(self._filter)
        self.search.returnPressed.connect(self._run_current)
        self.search.installEventFilter(self)
        self.tree = QTreeWidget()
        self.tree.setAccessibleName(self.tr("Commands"))
        self.tree.setColumnCount(3)
        self.tree.setHeaderHidden(True)
        self.tree.setRootIsDecorated(False)
        self.tree.setIndentation(theme.GRID)
        self.tree.setIconSize(QSize(18, 18))
        self.tree.setWordWrap(True)
        self.tree.setItemDelegateForColumn(_TIP, _Wrapped(self.tree))
        self.tree.header().sectionResized.connect(self.tree.scheduleDelayedItemsLayout)
        self.tree.itemActivated.connect(self._run)
        self._fill()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 16, 16, 16)
        layout.setSpacing(12)
        layout.addWidget(self.search)
        layout.addWidget(self.tree)
        room = self.screen().availableGeometry().marginsRemoved(FRAME)
        self.resize(USUAL_SIZE.boundedTo(room.size()))
        self._filter("")

    # -- making -----------------------------------------------------------------------------

    def _fill(self) -> None:
        for menu in Menu:
            heading = QTreeWidgetItem([translated(CONTEXT, menu).replace("&", "")])
            font = theme.ui_font()
            font.setWeight(font.Weight.DemiBold)
            heading.setFont(0, font)
            heading.setForeground(0, theme.palette().muted)
            heading.setFlags(Qt.ItemFlag.ItemIsEnabled)
            self.tree.addTopLevelItem(heading)
            for command in self._actions.commands:
                if command.menu is menu:
                    heading.addChild(self._item(command))
            heading.setExpanded(True)
        header = self.tree.header()
        header.setStretchLastSection(True)
        for column in (0, 1):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)

    def _item(self, command: Command) -> QTreeWidgetItem:
        title = translated(CONTEXT, command.title)
        keys = "   ".join(key_text(key) for key in command.all_keys)
        item = QTreeWidgetItem([title, keys, translated(CONTEXT, command.tip)])
        item.setData(0, _COMMAND, command.id)
        # Without any the title would begin further to the left than the others.
        item.setIcon(0, icons.icon(command.icon, "muted") if command.icon else icons.blank())
        item.setForeground(_TIP, theme.palette().muted)
        if not self._actions[command.id].isEnabled():
            for column in range(2):
                item.setForeground(column, theme.palette().muted)
        return item

    # -- using ------------------------------------------------------------------------------

    def _filter(self, text: str) -> None:
        words = text.casefold().split()
        first: QTreeWidgetItem | None = None
        for heading in self._headings():
            for item in _children(heading):
                content = " ".join(item.text(column) for column in range(3)).casefold()
                item.setHidden(not all(word in content for word in words))
            shown = [item for item in _children(heading) if not item.isHidden()]
            heading.setHidden(not shown)
            first = first or (shown[0] if shown else None)
        if first is not None:
            self.tree.setCurrentItem(first)

    def _run_current(self) -> None:
        item = self.tree.currentItem()
        if item is not None and not item.isHidden():
            self._run(item)

    def _run(self, item: QTreeWidgetItem, _column: int = 0) -> None:
        command_id = item.data(0, _COMMAND)
        if command_id is not None:
            self.accept()
            self._actions[command_id].trigger()

    def _headings(self) -> list[QTreeWidgetItem]:
        items = (self.tree.topLevelItem(row) for row in range(self.tree.topLevelItemCount()))
        return [item for item in items if item is not None]

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        moves = {Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown}
        if isinstance(event, QKeyEvent) and event.type() is QEvent.Type.KeyPress:  # noqa: SIM102
            if event.key() in moves:
                self.tree.keyPressEvent(event)
                return True
        return super().eventFilter(watched, event)


def _children(heading: QTreeWidgetItem) -> list[QTreeWidgetItem]:
    items = (heading.child(row) for row in range(heading.childCount()))
    return [item for item in items if item is not None]
