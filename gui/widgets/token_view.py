"""A text as the model sees it: every token a cell, in lines that wrap as the text is written.

The view knows ids and a vocabulary; what tokens are marked with comes from a hook, and so does
what their tooltips say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QPoint, QRect, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QGuiApplication,
    QHelpEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
)
from PySide6.QtWidgets import QToolTip, QWidget

from logitscope.display import hex_of, token_label
from logitscope.gui.widgets.token_canvas import TokenCanvas


class TokenView(TokenCanvas):
    """Tokens that can be selected, chosen as a range, copied, and asked for what they are."""

    position_selected = Signal(object)
    """The person chose a token (int), or the end of the text (None)."""
    range_selected = Signal(int, int)
    """The person chose tokens ``start <= i < stop`` for copying."""
    rewind_requested = Signal(int)
    menu_requested = Signal(int, QPoint)
    """A context menu for a token, at a point of the screen; the end of the text is ``len(ids)``."""
    hovered = Signal(object)
    """The token under the pointer (int), or None."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tooltip_of: Callable[[int], str] = lambda _token: ""
        self._anchor: int | None = None
        self._moving_end = 0
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(self.tr("Tokens"))
        self.viewport().setMouseTracking(True)

    def set_tooltip(self, tooltip_of: Callable[[int], str]) -> None:
        """Who says what a token's tooltip is (rich text)."""
        self._tooltip_of = tooltip_of

    # -- selection --------------------------------------------------------------------------

    @property
    def selected_position(self) -> int | None:
        """The selected token; None is the end of the text."""
        return self._selected

    def set_selected_position(self, position: int | None) -> None:
        """Select without telling anyone."""
        if position is not None and position >= len(self._ids):
            position = None
        if position == self._selected:
            return
        self._selected = position
        if position is not None:
            self.scroll_to(position)
        self._describe()
        self.viewport().update()

    def _describe(self) -> None:
        """Tell screen readers which token is selected."""
        position, vocabulary = self._selected, self._vocabulary
        if position is None or vocabulary is None:
            self.setAccessibleDescription(self.tr("End of the text"))
        else:
            token_id = self._ids[position]
            label = token_label(vocabulary, token_id)
            self.setAccessibleDescription(
                self.tr("Token {0}, id {1}, position {2}").format(label, token_id, position)
            )

    def _select(self, position: int | None) -> None:
        self._chosen = range(0)
        if position is not None and position >= len(self._ids):
            position = None
        self.set_selected_position(None if position is None else max(0, position))
        self.viewport().update()
        self.position_selected.emit(self._selected)

    @property
    def chosen(self) -> range:
        """The range of tokens chosen for copying; empty without one."""
        return self._chosen

    def choose(self, start: int, stop: int) -> None:
        """Choose a range of tokens for copying."""
        self._chosen = range(max(0, start), min(stop, len(self._ids)))
        self.viewport().update()
        self.range_selected.emit(self._chosen.start, self._chosen.stop)

    # -- copying ----------------------------------------------------------------------------

    def tokens_to_copy(self) -> Sequence[int]:
        """The ids of the chosen range, else of the selected token, else all."""
        if self._chosen:
            return self._ids[self._chosen.start : self._chosen.stop]
        if self._selected is not None:
            return self._ids[self._selected : self._selected + 1]
        return self._ids

    def copy_text(self) -> None:
        """Put the text of the tokens on the clipboard.

        Special tokens add nothing; bytes that are no text, which a clipboard cannot hold, become
        U+FFFD.
        """
        if self._vocabulary is not None:
            data = self._vocabulary.text_bytes(self.tokens_to_copy())
            QGuiApplication.clipboard().setText(data.decode(errors="replace"))

    def copy_ids(self) -> None:
        """Put the ids of the tokens on the clipboard, separated by spaces."""
        QGuiApplication.clipboard().setText(" ".join(map(str, self.tokens_to_copy())))

    def copy_bytes(self) -> None:
        """Put the bytes of the tokens on the clipboard, in hexadecimal."""
        if self._vocabulary is not None:
            data = self._vocabulary.text_bytes(self.tokens_to_copy())
            QGuiApplication.clipboard().setText(hex_of(data))

    # -- mouse ------------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() is not Qt.MouseButton.LeftButton:
            return
        token = self.token_at(event.position().toPoint())
        extends = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if extends and self._selected is not None and token is not None:
            self._choose_between(self._selected, token)
        else:
            self._anchor = token
            self._select(token)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        point = event.position().toPoint()
        if not event.buttons() & Qt.MouseButton.LeftButton:
            self._hover(self.token_at(point))
            return
        token = self.nearest_token(point)
        is_drag = token != self._anchor or bool(self._chosen)
        if self._anchor is not None and token is not None and is_drag:
            self._choose_between(self._anchor, token)

    def mouseReleaseEvent(self, _event: QMouseEvent) -> None:
        self._anchor = None

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        token = self.token_at(event.position().toPoint())
        if token is not None and event.button() is Qt.MouseButton.LeftButton:
            self.rewind_requested.emit(token)

    def leaveEvent(self, event: QEvent) -> None:
        self._hover(None)
        super().leaveEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        by_key = event.reason() is QContextMenuEvent.Reason.Keyboard
        token = self._selected if by_key else self.token_at(event.pos())
        where = event.globalPos()
        if by_key:
            end = len(self._ids) if token is None else token
            where = self.viewport().mapToGlobal(self.rect_of(end).bottomLeft())
        if token not in self._chosen:
            self._select(token)
        self.menu_requested.emit(len(self._ids) if token is None else token, where)

    def _choose_between(self, fixed: int, moving: int) -> None:
        self._moving_end = max(0, min(moving, len(self._ids) - 1))
        self.choose(min(fixed, self._moving_end), max(fixed, self._moving_end) + 1)
        self.scroll_to(self._moving_end)

    def _hover(self, token: int | None) -> None:
        if token != self._hovered:
            self._update_token(self._hovered)
            self._hovered = token
            self._update_token(token)
            self.hovered.emit(token)

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() is not QEvent.Type.ToolTip or not isinstance(event, QHelpEvent):
            return super().viewportEvent(event)
        token = self.token_at(event.pos())
        text = "" if token is None else self._tooltip_of(token)
        rect = QRect() if token is None else self.rect_of(token)
        QToolTip.showText(event.globalPos(), text, self.viewport(), rect)
        return True

    # -- keyboard ---------------------------------------------------------------------------

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy_text()
        elif event.matches(QKeySequence.StandardKey.SelectAll):
            self.choose(0, len(self._ids))
        elif self._selected is None and _is_plain_right(event):
            # There is no token behind the end: who is around may make one.
            event.ignore()
        elif not self._move(event):
            super().keyPressEvent(event)

    def _move(self, event: QKeyEvent) -> bool:
        here = self._here
        match event.key():
            case Qt.Key.Key_Left:
                target: int | None = here - 1
            case Qt.Key.Key_Right:
                target = here + 1
            case Qt.Key.Key_Up | Qt.Key.Key_Down:
                target = self._above_or_below(here, event.key() == Qt.Key.Key_Down)
            case Qt.Key.Key_Home:
                target = 0
            case Qt.Key.Key_End:
                target = None
            case Qt.Key.Key_Delete | Qt.Key.Key_Backspace:
                self.rewind_requested.emit(here if self._selected is not None else here - 1)
                return True
            case _:
                return False
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier and self._selected is not None:
            last = len(self._ids) - 1
            self._choose_between(self._selected, last if target is None else target)
        else:
            self._select(target)
        return True

    @property
    def _here(self) -> int:
        """Where keys move from."""
        if self._chosen:
            return self._moving_end
        return len(self._ids) if self._selected is None else self._selected

    def _above_or_below(self, token: int, below: bool) -> int | None:
        line, x, _width = self._layout.place_of(token)
        line += 1 if below else -1
        return 0 if line < 0 else self._layout.nearest(line, x + 1)


def _is_plain_right(event: QKeyEvent) -> bool:
    modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
    return event.key() == Qt.Key.Key_Right and modifiers == Qt.KeyboardModifier.NoModifier
