"""Choosing what stands on both sides: menus, files, the clipboard, models."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QMenu, QWidget

from logitscope.backends.base import LoadOptions
from logitscope.gui.background import Background
from logitscope.gui.comparing import Against, Comparison
from logitscope.gui.dialogs.open_model import OpenModelDialog
from logitscope.gui.panels.loss_opening import TextOpener
from logitscope.gui.settings import Settings, exists
from logitscope.gui.widgets.insets import inset_numbers
from logitscope.gui.widgets.plain import plain_tip


class Choice(QObject):
    """Fills the menus of the bar and does what they say."""

    failed = Signal(str, str)
    noted = Signal(str)
    """What is to be said of a text that was opened, or ""."""
    reading = Signal(str, object)
    """How far the reading of a file is, or "", and what stops it."""

    def __init__(self, comparison: Comparison, window: QWidget) -> None:
        super().__init__(window)
        self._comparison = comparison
        self._window = window
        self._background = Background(self)
        self.settings: Settings | None = None
        self.left_opener, self.right_opener = TextOpener(window), TextOpener(window)
        for opener, take in (
            (self.left_opener, comparison.use_text),
            (self.right_opener, comparison.compare_text),
        ):
            opener.opened.connect(partial(self._take, take))
            opener.failed.connect(self.failed)
            opener.progressed.connect(partial(self._tell_reading, opener))

    def fill_left(self, menu: QMenu) -> None:
        menu.clear()
        menu.addAction(self.tr("Text on screen"), self._comparison.use_screen)
        menu.addAction(self.tr("Open text …"), self.left_opener.ask)
        menu.addAction(self.tr("Paste text"), self.left_opener.paste)

    def fill_right(self, menu: QMenu) -> None:
        """A second model, also one of the recent ones, or another text."""
        menu.clear()
        menu.addAction(self.tr("Second model …"), self.ask_for_model)
        for path in () if self.settings is None else self.settings.recent:
            action = menu.addAction(f"    {Path(path).name}")
            action.setToolTip(plain_tip(path))
            action.setEnabled(exists(path))
            action.triggered.connect(partial(self.ask_for_model, path))
        menu.addSeparator()
        menu.addAction(self.tr("Another text …"), self.right_opener.ask)
        menu.addAction(self.tr("Paste another text"), self.right_opener.paste)
        if self._comparison.against is not Against.NOTHING:
            menu.addSeparator()
            menu.addAction(self.tr("End the comparison"), self._comparison.end)

    def ask_for_model(self, path: str = "", *_checked: bool) -> None:
        """Show what the model is and the memory it takes beside the first, before it is loaded."""
        if self.settings is None:
            self.settings = Settings(parent=self)
        dialog = OpenModelDialog(self.settings, self._background, path, self._window)
        dialog.setWindowTitle(self.tr("Second model"))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.wanted.connect(self._open)
        inset_numbers(dialog)
        dialog.open()

    def close(self) -> None:
        for part in (self._background, self.left_opener, self.right_opener):
            part.close()

    def _open(self, path: str, backend: str, options: LoadOptions) -> None:
        if self.settings is not None:
            self.settings.remember_model(path)
        self._comparison.open_model(path, backend, options)

    def _tell_reading(self, opener: TextOpener, sentence: str) -> None:
        self.reading.emit(sentence, opener.stop)

    def _take(self, take: object, text: str, name: str, note: str) -> None:
        # First: taking the text may say something more important.
        self.noted.emit(note)
        if callable(take):
            take(text, name)
