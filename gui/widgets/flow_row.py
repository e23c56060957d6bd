"""Widgets in a row that goes on in the next line where there is no room."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from logitscope.gui import theme

GAP = theme.GRID // 2


class FlowRow(QWidget):
    """Places the widgets that are ``add``\\ ed, at the size they want.

    Sets its own height: a layout that trades height for width would give every neighbour in the
    column the height it likes best, and a small panel a scroll bar.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._widgets: list[QWidget] = []
        self._least: dict[QWidget, int] = {}
        self._with_last: set[QWidget] = set()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def add(self, widget: QWidget, *, least: int | None = None, with_last: bool = False) -> None:
        """With ``least`` pixels it can do, but it takes what its line has left over. ``with_last``
        keeps it in one line with the widget before, where a line has room for both."""
        if widget.parent() is not self:
            widget.setParent(self)
        self._widgets.append(widget)
        if least is not None:
            self._least[widget] = least
        if with_last:
            self._with_last.add(widget)

    def _size(self, widget: QWidget) -> QSize:
        wanted = widget.sizeHint().expandedTo(widget.minimumSize()).boundedTo(widget.maximumSize())
        wanted.setWidth(self._least.get(widget, wanted.width()))
        return wanted.boundedTo(QSize(self.width(), wanted.height()))

    def _sizes(self, line: list[QWidget]) -> list[QSize]:
        """The first that takes what is left over takes all of it, up to its maximum."""
        sizes = [self._size(widget) for widget in line]
        left = self.width() - sum(size.width() + GAP for size in sizes) + GAP
        for widget, size in zip(line, sizes, strict=True):
            if widget in self._least:
                more = min(left, max(0, widget.maximumWidth() - size.width()))
                size.setWidth(size.width() + more)
                left -= more
        return sizes

    def _groups(self) -> list[list[QWidget]]:
        """What is in one line, if a line has room for it."""
        groups: list[list[QWidget]] = []
        for widget in self._widgets:
            if widget.isHidden():
                continue
            joined = [*groups[-1], widget] if groups and widget in self._with_last else []
            if joined and self._wanted(joined) <= self.width():
                groups[-1] = joined
            else:
                groups.append([widget])
        return groups

    def _wanted(self, widgets: list[QWidget]) -> int:
        return sum(self._size(widget).width() + GAP for widget in widgets) - GAP

    def _lines(self) -> list[list[QWidget]]:
        lines: list[list[QWidget]] = []
        for group in self._groups():
            if lines and self._wanted([*lines[-1], *group]) <= self.width():
                lines[-1] += group
            else:
                lines.append(group)
        return lines

    def _place(self) -> None:
        y = 0
        for line in self._lines():
            sizes = self._sizes(line)
            x, height = 0, max(size.height() for size in sizes)
            for widget, size in zip(line, sizes, strict=True):
                widget.setGeometry(x, y + (height - size.height()) // 2, *size.toTuple())
                x += size.width() + GAP
            y += height + GAP
        self.setFixedHeight(max(0, y - GAP))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def event(self, event: QEvent) -> bool:
        # A widget in it came, went, or wants another size.
        if event.type() is QEvent.Type.LayoutRequest:
            self._place()
        return super().event(event)

    def sizeHint(self) -> QSize:
        seen = [widget for widget in self._widgets if not widget.isHidden()]
        width = sum(widget.sizeHint().width() + GAP for widget in seen) - GAP
        return QSize(max(width, 0), self.height())

    def minimumSizeHint(self) -> QSize:
        narrowest = (
            self._least.get(widget, widget.minimumSizeHint().width()) for widget in self._widgets
        )
        return QSize(max(narrowest, default=0), 0)
