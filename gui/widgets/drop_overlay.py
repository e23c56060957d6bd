"""Files dragged over a window: accepted wherever they are dropped, with a hint on top."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, QRectF, Qt, Signal
from PySide6.QtGui import QDropEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from logitscope.gui import colors, theme

MARGIN = 16
TAKES_TEXTS = "takesTexts"
"""Property of a widget on which a text file can be dropped; it opens the file itself."""
NO_TEXTS = (".gguf", ".safetensors", ".bin", ".pt", ".pth", ".logitscope.json")
"""Ends of the names of models and sessions."""


class DropOverlay(QWidget):
    """Covers its parent, a window, while local files are dragged over it.

    Listens to the native window, before any child: an editor would take the file's name as text.
    """

    dropped = Signal(list)
    """Paths of local files, as text."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._is_listening = False
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def listen(self) -> None:
        """Call it when the window has a native one, which it has once it is shown."""
        handle = self._window.windowHandle()
        if handle is not None and not self._is_listening:
            self._is_listening = True
            handle.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind is QEvent.Type.DragLeave or (
            isinstance(event, QDropEvent) and self._is_for_panel(event)
        ):
            self.hide()
        elif isinstance(event, QDropEvent) and local_paths(event.mimeData()):
            event.setDropAction(Qt.DropAction.CopyAction)
            event.accept()
            if kind is QEvent.Type.Drop:
                self.hide()
                self.dropped.emit(local_paths(event.mimeData()))
            else:
                self._cover()
            return True
        return super().eventFilter(watched, event)

    def _is_for_panel(self, event: QDropEvent) -> bool:
        """Whether it is a text over a widget that has said it takes texts."""
        paths = local_paths(event.mimeData())
        if len(paths) != 1 or not is_text_file(paths[0]):
            return False
        widget = self._window.childAt(event.position().toPoint())
        while widget is not None and not widget.property(TAKES_TEXTS):
            widget = widget.parentWidget()
        return widget is not None

    def _cover(self) -> None:
        if self.isHidden():
            self.setGeometry(self._window.rect())
            self.show()
            self.raise_()

    def paintEvent(self, _event: QPaintEvent) -> None:
        palette = theme.palette()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), colors.with_alpha(palette.panel, 0.86))
        painter.setPen(QPen(palette.accent, 2, Qt.PenStyle.DashLine))
        painter.setBrush(colors.with_alpha(palette.accent, 0.08))
        area = QRectF(self.rect()).adjusted(MARGIN, MARGIN, -MARGIN, -MARGIN)
        painter.drawRoundedRect(area, 12, 12)
        font = theme.ui_font(5)
        font.setWeight(font.Weight.DemiBold)
        painter.setFont(font)
        painter.setPen(palette.text)
        words = self.tr("Drop a GGUF file, a model folder, a session, or a text to score")
        painter.drawText(area, Qt.AlignmentFlag.AlignCenter, words)


def is_text_file(name: str) -> bool:
    """Whether a file is to be read as a text: any whose name is not a model's or a session's."""
    return Path(name).is_file() and not name.lower().endswith(NO_TEXTS)


def local_paths(data: QMimeData) -> list[str]:
    """The local files among what is dragged."""
    return [url.toLocalFile() for url in data.urls() if url.isLocalFile()]
