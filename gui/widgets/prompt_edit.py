"""A plain text editor that keeps exactly what is typed and leaves undo to others.

Qt's ``toPlainText`` turns no-break spaces into spaces; a model reads them as another token, so
the text is taken from the document's raw form.
"""

from __future__ import annotations

import sys

from PySide6.QtCore import QEvent, QMimeData, QSize, Qt, Signal
from PySide6.QtGui import (
    QAction,
    QContextMenuEvent,
    QKeyEvent,
    QKeySequence,
    QResizeEvent,
    QTextCursor,
)
from PySide6.QtWidgets import QPlainTextEdit, QSizePolicy, QTextEdit, QWidget

from logitscope.blocks import changed_range
from logitscope.gui import theme
from logitscope.gui.origin_style import source_tint

_IS_MAC = sys.platform == "darwin"
_KEYPAD = Qt.KeyboardModifier.KeypadModifier
_HELD_IN_WRITING = (
    _KEYPAD | Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.GroupSwitchModifier
)
_PARAGRAPH_END = "\u2029"
LEAST_LINES, MOST_LINES = 2, 8


class PromptEdit(QPlainTextEdit):
    """Grows with its text between ``LEAST_LINES`` and ``MOST_LINES``."""

    edited = Signal(str)
    """The person changed the text."""
    undo_requested = Signal()
    redo_requested = Signal()
    pasted = Signal(int, int)
    """Characters ``start <= i < stop`` of the text came from the clipboard, or were dropped."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text = self._shown = ""
        self._is_set_from_outside = False
        self._spans: tuple[tuple[int, int], ...] = ()
        self.span_actions: list[QAction] = []
        """What the context menu offers besides Qt's own entries."""
        self.setUndoRedoEnabled(False)
        self.setTabChangesFocus(False)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.textChanged.connect(self._take_text)
        self.document().documentLayout().documentSizeChanged.connect(self.updateGeometry)
        theme.notifier().changed.connect(self._restyle)
        self._restyle()

    # -- text -------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """Exactly what is written; lines end with LF."""
        return self._text

    def set_text(self, text: str) -> None:
        """Show a text that came from elsewhere; the caret stays where the text did not change."""
        if text == self._text:
            return
        cursor = self.textCursor()
        self._is_set_from_outside = True
        self._replace(text)
        self._is_set_from_outside = False
        self.setTextCursor(cursor)
        self._text, self._shown = text, self._raw_text()

    def _replace(self, text: str) -> None:
        shown = self._shown
        start, old_stop, new_stop = changed_range(shown, text)
        edit = QTextCursor(self.document())
        if _units(shown) + 1 == self.document().characterCount():
            edit.setPosition(_units(shown[:start]))
            edit.setPosition(_units(shown[:old_stop]), QTextCursor.MoveMode.KeepAnchor)
            edit.insertText(text[start:new_stop])
        else:
            # A half of a surrogate pair is lost on the way to Python: positions would be wrong.
            edit.select(QTextCursor.SelectionType.Document)
            edit.insertText(text)

    @property
    def is_exact(self) -> bool:
        """Whether the editor can hold its text as it is; an edit would turn CR and U+2029 to LF."""
        return self._shown == self._text

    def _raw_text(self) -> str:
        return self.document().toRawText().replace(_PARAGRAPH_END, "\n")

    def _take_text(self) -> None:
        if self._is_set_from_outside:
            return
        shown = self._raw_text()
        if shown != self._shown:
            self._text = self._shown = shown
            self.edited.emit(shown)

    # -- spans ------------------------------------------------------------------------------

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """The tinted ranges of characters."""
        return self._spans

    def set_spans(self, spans: tuple[tuple[int, int], ...]) -> None:
        """Tint these ranges of characters, neighbours in two different tints."""
        if spans or self._spans:
            # Also where they are the same: Qt has moved its own with what was typed.
            self._spans = spans
            self._tint_spans()

    @property
    def chosen(self) -> tuple[int, int]:
        """Characters that are selected; where there are none, twice the caret."""
        cursor, text = self.textCursor(), self._shown
        return _index(text, cursor.selectionStart()), _index(text, cursor.selectionEnd())

    def _tint_spans(self) -> None:
        tinted: list[QTextEdit.ExtraSelection] = []
        for number, (start, stop) in enumerate(self._spans):
            one = QTextEdit.ExtraSelection()
            cursor = QTextCursor(self.document())
            last = self.document().characterCount() - 1
            cursor.setPosition(min(last, _units(self._shown[:start])))
            cursor.setPosition(
                min(last, _units(self._shown[:stop])), QTextCursor.MoveMode.KeepAnchor
            )
            one.cursor = cursor
            one.format.setBackground(source_tint(number))
            tinted.append(one)
        self.setExtraSelections(tinted)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = self.createStandardContextMenu()
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if self.span_actions:
            menu.addSeparator()
            menu.addActions(self.span_actions)
        menu.popup(event.globalPos())

    # -- input ------------------------------------------------------------------------------

    def type_at_end(self, text: str) -> None:
        """Go on writing behind the text, wherever the person was before."""
        self.setFocus(Qt.FocusReason.OtherFocusReason)
        self.moveCursor(QTextCursor.MoveOperation.End)
        self.insertPlainText(text)

    def event(self, event: QEvent) -> bool:
        # Undo and redo belong to the window: do not claim their keys.
        is_claim = event.type() is QEvent.Type.ShortcutOverride
        if is_claim and isinstance(event, QKeyEvent) and (_is_undo(event) or _is_redo(event)):
            event.ignore()
            return False
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if _is_undo(event):
            self.undo_requested.emit()
        elif _is_redo(event):
            self.redo_requested.emit()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and (
            event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        ):
            # Qt would put in U+2028, another token than LF.
            self.insertPlainText("\n")
        elif _is_unused_shortcut(event):
            event.ignore()
        else:
            super().keyPressEvent(event)

    def insertFromMimeData(self, source: QMimeData) -> None:
        if source.hasText():
            start = self.textCursor().selectionStart()
            self.insertPlainText(source.text())
            stop = self.textCursor().position()
            self.pasted.emit(_index(self._shown, start), _index(self._shown, stop))

    # -- size -------------------------------------------------------------------------------

    def sizeHint(self) -> QSize:
        return QSize(320, self._height_for(self._content_height(), MOST_LINES))

    def minimumSizeHint(self) -> QSize:
        return QSize(120, self._height_for(0.0, LEAST_LINES))

    def _content_height(self) -> float:
        """Height of the text; its first lines suffice, and only they are surely laid out."""
        height, block = 0.0, self.document().firstBlock()
        for _ in range(MOST_LINES):
            if not block.isValid():
                break
            height += self.blockBoundingRect(block).height()
            block = block.next()
        return height

    def _height_for(self, content: float, most_lines: int) -> int:
        line = self.fontMetrics().lineSpacing()
        content = max(LEAST_LINES * line, min(most_lines * line, content))
        around = self.height() - self.viewport().height()
        return round(content + 2 * self.document().documentMargin()) + around

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.updateGeometry()

    def _restyle(self) -> None:
        self.setFont(theme.token_font())
        self.setTabStopDistance(4 * self.fontMetrics().horizontalAdvance("0"))
        self._tint_spans()
        self.updateGeometry()


def _units(text: str) -> int:
    """UTF-16 code units, which Qt counts in."""
    return len(text) + sum(character > "\uffff" for character in text)


def _index(text: str, units: int) -> int:
    """Characters in front of a place that Qt counts in UTF-16 code units."""
    if text.isascii():
        return min(units, len(text))
    return len(
        text.encode("utf-16-le", "surrogatepass")[: 2 * units].decode("utf-16-le", "surrogatepass")
    )


def is_writing(event: QKeyEvent) -> bool:
    """A key that writes something, and is no shortcut: without Ctrl, Alt or Meta."""
    held = event.modifiers() & ~_HELD_IN_WRITING
    return bool(event.text()) and event.text().isprintable() and not held.value


def _is_unused_shortcut(event: QKeyEvent) -> bool:
    """Alt and a character: Qt would write it. AltGr is another modifier, or Ctrl with Alt; on a
    Mac, Option writes characters of its own."""
    is_alt = event.modifiers() & ~_KEYPAD == Qt.KeyboardModifier.AltModifier
    return is_alt and event.text().isprintable() and bool(event.text()) and not _IS_MAC


def _is_undo(event: QKeyEvent) -> bool:
    return event.matches(QKeySequence.StandardKey.Undo)


def _is_redo(event: QKeyEvent) -> bool:
    return event.matches(QKeySequence.StandardKey.Redo)
