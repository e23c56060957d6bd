"""A plain text editor that keeps exactly what is typed and leaves undo to others.

Qt's ``toPlainText`` turns no-break spaces into spaces; a model reads them as another token, so
the text is taken from the document's raw form.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QMimeData, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QResizeEvent, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QSizePolicy, QWidget

from logitscope.gui import theme

_PARAGRAPH_END = "\u2029"
LEAST_LINES, MOST_LINES = 2, 8


class PromptEdit(QPlainTextEdit):
    """Grows with its text between ``LEAST_LINES`` and ``MOST_LINES``."""

    edited = Signal(str)
    """The person changed the text."""
    undo_requested = Signal()
    redo_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text = ""
        self._is_set_from_outside = False
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
        start, old_end, new_end = _changed_range(self._text, text)
        cursor = self.textCursor()
        self._is_set_from_outside = True
        edit = QTextCursor(self.document())
        edit.setPosition(_units(self._text[:start]))
        edit.setPosition(_units(self._text[:old_end]), QTextCursor.MoveMode.KeepAnchor)
        edit.insertText(text[start:new_end])
        self._is_set_from_outside = False
        self.setTextCursor(cursor)
        self._text = self._raw_text()

    def _raw_text(self) -> str:
        return self.document().toRawText().replace(_PARAGRAPH_END, "\n")

    def _take_text(self) -> None:
        if self._is_set_from_outside:
            return
        text = self._raw_text()
        if text != self._text:
            self._text = text
            self.edited.emit(text)

    # -- input ------------------------------------------------------------------------------

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
        else:
            super().keyPressEvent(event)

    def insertFromMimeData(self, source: QMimeData) -> None:
        if source.hasText():
            self.insertPlainText(source.text())

    # -- size -------------------------------------------------------------------------------

    def sizeHint(self) -> QSize:
        lines = max(LEAST_LINES, min(MOST_LINES, round(self.document().size().height())))
        return QSize(320, self._height_of(lines))

    def minimumSizeHint(self) -> QSize:
        return QSize(120, self._height_of(LEAST_LINES))

    def _height_of(self, lines: int) -> int:
        margins = self.contentsMargins()
        frame = margins.top() + margins.bottom() + 2 * round(self.document().documentMargin())
        return lines * self.fontMetrics().lineSpacing() + frame + 2

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.updateGeometry()

    def _restyle(self) -> None:
        self.setFont(theme.token_font())
        self.setTabStopDistance(4 * self.fontMetrics().horizontalAdvance("0"))
        self.updateGeometry()


def _changed_range(old: str, new: str) -> tuple[int, int, int]:
    """The first difference, and where the two texts are equal again from behind."""
    limit = min(len(old), len(new))
    start = 0
    while start < limit and old[start] == new[start]:
        start += 1
    behind = 0
    while behind < limit - start and old[-1 - behind] == new[-1 - behind]:
        behind += 1
    return start, len(old) - behind, len(new) - behind


def _units(text: str) -> int:
    """UTF-16 code units, which Qt counts in."""
    return len(text) + sum(character > "\uffff" for character in text)


def _is_undo(event: QKeyEvent) -> bool:
    return event.matches(QKeySequence.StandardKey.Undo)


def _is_redo(event: QKeyEvent) -> bool:
    return event.matches(QKeySequence.StandardKey.Redo)
