"""Models that are on this machine already."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QLabel,
    QLineEdit,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from logitscope.backends.library import LibraryEntry, find_models
from logitscope.gui import icons, theme
from logitscope.gui.background import Background
from logitscope.gui.panels.model import size_text
from logitscope.gui.widgets.plain import plain, plain_tip

_ENTRY = Qt.ItemDataRole.UserRole


class LibraryDialog(QDialog):
    """Looks in the places where other programs keep models; ``wanted`` tells which to open."""

    wanted = Signal(object)

    def __init__(self, background: Background, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Models on this machine"))
        self.search = QLineEdit(placeholderText=self.tr("Search"))
        self.search.addAction(
            icons.icon("search", "muted"), QLineEdit.ActionPosition.LeadingPosition
        )
        self.search.setAccessibleName(self.tr("Search"))
        self.search.textChanged.connect(self._filter)
        self._looked = self.tr("Looking …")
        """What has come of looking, said while there is nothing to say of the selected model."""
        self.status = plain(QLabel(wordWrap=True))
        self.status.setProperty("muted", True)
        self.tree = self._tree()
        kind = QDialogButtonBox.StandardButton
        self.buttons = QDialogButtonBox(kind.Open | kind.Cancel)
        self.buttons.accepted.connect(self._open)
        self.buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 16, 16, 16)
        layout.setSpacing(12)
        for widget in (self.search, self.tree, self.status, self.buttons):
            layout.addWidget(widget)
        self.resize(680, 440)
        self._selection_changed()
        background.start(find_models, self._fill, self._failed)

    def _tree(self) -> QTreeWidget:
        tree = QTreeWidget()
        tree.setColumnCount(3)
        tree.setHeaderLabels([self.tr("Model"), self.tr("Found in"), self.tr("Size")])
        tree.setRootIsDecorated(False)
        tree.setAccessibleName(self.tr("Models"))
        tree.itemActivated.connect(lambda _item: self._open())
        tree.itemSelectionChanged.connect(self._selection_changed)
        header = tree.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        for column in (1, 2):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)
        return tree

    def _fill(self, entries: list[LibraryEntry]) -> None:
        for entry in entries:
            size = size_text(entry.bytes) if entry.bytes else self.tr("unknown")
            item = QTreeWidgetItem([entry.title, entry.source, size])
            item.setTextAlignment(2, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            item.setFont(2, theme.number_font())
            item.setToolTip(0, plain_tip(str(entry.path)))
            item.setData(0, _ENTRY, entry)
            if entry.lacks:
                for column in range(3):
                    item.setForeground(column, QColor(theme.palette().muted))
            self.tree.addTopLevelItem(item)
        places = "Hugging Face, LM Studio, Ollama, llama.cpp"
        self._looked = (
            self.tr("Looked where {places} keep their models.").format(places=places)
            if entries
            else self.tr(
                "None found where {places} keep theirs: open a GGUF file or a model folder instead."
            ).format(places=places)
        )
        self._filter(self.search.text())

    def _failed(self, error: Exception) -> None:
        self._looked = self.tr("Looking failed: {error}").format(error=error)
        self._selection_changed()

    def _filter(self, text: str) -> None:
        words = text.casefold().split()
        shown = []
        for row in range(self.tree.topLevelItemCount()):
            item = self.tree.topLevelItem(row)
            if item is not None:
                content = f"{item.text(0)} {item.text(1)}".casefold()
                item.setHidden(not all(word in content for word in words))
                shown += [] if item.isHidden() else [item]
        self._select_among(shown)

    def _select_among(self, shown: list[QTreeWidgetItem]) -> None:
        """What was selected, or else the first that can be opened, for Enter to open."""
        if not any(item.isSelected() for item in shown):
            self.tree.clearSelection()
            whole = [item for item in shown if not item.data(0, _ENTRY).lacks]
            for first in (whole or shown)[:1]:
                self.tree.setCurrentItem(first)
        self._selection_changed()

    def _selected(self) -> LibraryEntry | None:
        return next((item.data(0, _ENTRY) for item in self.tree.selectedItems()), None)

    def _selection_changed(self) -> None:
        entry = self._selected()
        button = self.buttons.button(QDialogButtonBox.StandardButton.Open)
        button.setEnabled(entry is not None and not entry.lacks)
        if entry is None or not entry.lacks:
            self.status.setText(self._looked)
            return
        self.status.setText(
            self.tr("{title} cannot be opened: {reason}.").format(
                title=entry.title, reason=entry.lacks
            )
        )

    def _open(self) -> None:
        entry = self._selected()
        if entry is not None and not entry.lacks:
            self.accept()
            self.wanted.emit(entry)
