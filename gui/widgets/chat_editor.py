"""Chat messages as rows: a role, a text, and a button to take the message out."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from logitscope.blocks import with_text
from logitscope.document import Block
from logitscope.gui import icons, theme
from logitscope.gui.widgets.prompt_edit import PromptEdit
from logitscope.sources import SOURCE_ROLES, Place, is_document, mark, mark_block, spans_of

ROLES = ("system", "user", "assistant", "tool")
"""Roles that most templates know; any other can be typed."""
TALLEST = 320


class MessageRow(QWidget):
    """One message."""

    changed = Signal()
    source_toggled = Signal(bool)
    removed = Signal()
    undo_requested = Signal()
    redo_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.role = QComboBox()
        self.role.setEditable(True)
        self.role.addItems(ROLES)
        self.role.setAccessibleName(self.tr("Role"))
        self.role.setFixedWidth(112)
        self.text = PromptEdit(self)
        self.text.setAccessibleName(self.tr("Message"))
        self.source = QToolButton()
        self.source.setCheckable(True)
        self.source.setText(self.tr("source"))
        self.source.setProperty("small", True)
        self.source.setToolTip(self.tr("Whether this message is a source for the origin panel"))
        self.source.setAccessibleName(self.source.toolTip())
        self.remove = QToolButton(autoRaise=True)
        self.remove.setProperty("flat", True)
        self.remove.setIcon(icons.icon("close", "muted"))
        self.remove.setToolTip(self.tr("Take this message out"))
        self.remove.setAccessibleName(self.tr("Take this message out"))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(theme.GRID)
        top = Qt.AlignmentFlag.AlignTop
        row.addWidget(self.role, 0, top)
        row.addWidget(self.text, 1)
        row.addWidget(self.source, 0, top)
        row.addWidget(self.remove, 0, top)
        self.source.clicked.connect(self.source_toggled)
        self.role.currentTextChanged.connect(self.changed)
        self.text.edited.connect(self.changed)
        self.text.undo_requested.connect(self.undo_requested)
        self.text.redo_requested.connect(self.redo_requested)
        self.remove.clicked.connect(self.removed)

    def show_block(self, block: Block) -> None:
        """Show a message that came from elsewhere, without saying that it changed."""
        blocked = self.blockSignals(True)
        if self.role.currentText() != block.role:
            self.role.setCurrentText(block.role)
        self.text.set_text(block.text)
        self.text.set_spans(spans_of(block))
        self.source.setChecked(block.is_source or bool(block.sources))
        self.blockSignals(blocked)


class ChatEditor(QScrollArea):
    """A list of messages that grows and shrinks; ``edited`` carries all of them as blocks."""

    edited = Signal(object)
    sources_edited = Signal(object)
    """The same messages, of which others are sources."""
    undo_requested = Signal()
    redo_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._blocks: tuple[Block, ...] = ()
        self.rows: list[MessageRow] = []
        self._last_row: MessageRow | None = None
        self._actions: list[QAction] = []
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        self._body = QWidget()
        self._layout = QVBoxLayout(self._body)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(theme.GRID)
        self.add = QPushButton(self.tr("Add message"))
        self.add.clicked.connect(self._append)
        self._layout.addWidget(self.add, 0, Qt.AlignmentFlag.AlignLeft)
        self.setWidget(self._body)

    def set_blocks(self, blocks: tuple[Block, ...]) -> None:
        """Show these messages; rows that stay keep their caret."""
        self._blocks = blocks
        while len(self.rows) > len(blocks):
            self.rows.pop().deleteLater()
        while len(self.rows) < len(blocks):
            self._add_row()
        for row, block in zip(self.rows, blocks, strict=True):
            row.show_block(block)
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        height = self._body.sizeHint().height() + 2
        return QSize(super().sizeHint().width(), min(TALLEST, height))

    def _add_row(self) -> None:
        row = MessageRow(self._body)
        row.changed.connect(self._tell)
        row.removed.connect(partial(self._remove, row))
        row.source_toggled.connect(partial(self._mark, row))
        row.text.pasted.connect(partial(self._mark_pasted, row))
        row.text.cursorPositionChanged.connect(partial(self._note_row, row))
        row.text.span_actions = self._actions
        row.undo_requested.connect(self.undo_requested)
        row.redo_requested.connect(self.redo_requested)
        self._layout.insertWidget(len(self.rows), row)
        self.rows.append(row)

    def _tell(self) -> None:
        blocks = tuple(
            _with_role(with_text(block, row.text.text), row.role.currentText())
            for row, block in zip(self.rows, self._blocks, strict=True)
        )
        if blocks != self._blocks:
            self._blocks = blocks
            self.edited.emit(blocks)

    def type_at_end(self, text: str) -> None:
        """Go on writing behind the last message."""
        if self.rows:
            self.rows[-1].text.type_at_end(text)
            self.ensureWidgetVisible(self.rows[-1])

    # -- sources ----------------------------------------------------------------------------

    @property
    def place(self) -> Place | None:
        """What is selected in the message that had the caret last."""
        if self._last_row not in self.rows:
            return None
        return Place(self.rows.index(self._last_row), *self._last_row.text.chosen)

    def set_source_actions(self, actions: list[QAction]) -> None:
        """What the context menus of the messages offer besides."""
        self._actions = actions
        for row in self.rows:
            row.text.span_actions = actions

    def _note_row(self, row: MessageRow) -> None:
        if row.text.hasFocus():
            self._last_row = row

    def _mark(self, row: MessageRow, is_source: bool) -> None:
        self.sources_edited.emit(mark_block(self._blocks, self.rows.index(row), is_source))

    def _mark_pasted(self, row: MessageRow, start: int, stop: int) -> None:
        """A pasted document is a source from the start."""
        if is_document(row.text.text[start:stop]):
            place = Place(self.rows.index(row), start, stop)
            if not self._blocks[place.block].is_source:
                self.sources_edited.emit(mark(self._blocks, place))

    # -- messages ---------------------------------------------------------------------------

    def _append(self) -> None:
        """The next message is the other side's: user after assistant, assistant after user."""
        last = self._blocks[-1].role if self._blocks else "assistant"
        role = "assistant" if last == "user" else "user"
        self.edited.emit((*self._blocks, Block("", role)))
        if self.rows:
            self.rows[-1].text.setFocus()

    def _remove(self, row: MessageRow) -> None:
        at = self.rows.index(row)
        left = self._blocks[:at] + self._blocks[at + 1 :]
        self.edited.emit(left or (Block(""),))


def _with_role(block: Block, role: str) -> Block:
    """A message that becomes a system message becomes a source, where nothing of it is one."""
    if role == block.role:
        return block
    is_new_source = role in SOURCE_ROLES and not block.sources
    return replace(block, role=role, is_source=block.is_source or is_new_source)
