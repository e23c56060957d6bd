"""Opening, pasting and dropping texts into the loss panel."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QInputDialog, QWidget

from logitscope import textfile
from logitscope.gui.background import Background
from logitscope.textfile import TextFile, TextFileError

JSONL = ".jsonl"
BETWEEN_RECORDS = "\n\n"
"""A blank line: the usual end of a piece of text."""


class TextOpener(QObject):
    """Reads files off the window's thread; every failure is one sentence."""

    opened = Signal(str, str, str)
    """Text, name, and a sentence to show or ""."""
    failed = Signal(str, str)
    """A sentence, and details for a bug report."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._background = Background(self)
        self._folder = ""

    def ask(self) -> None:
        """Let the person choose a file."""
        dialog = QFileDialog(self._window, self.tr("Open a text to score"), self._folder)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters(
            [
                self.tr(
                    "Texts (*.txt *.md *.rst *.jsonl *.json *.csv *.py *.c *.h *.cpp *.rs *.js)"
                ),
                self.tr("All files (*)"),
            ]
        )
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.open)
        dialog.open()

    def paste(self) -> None:
        """Take the text of the clipboard."""
        text = QGuiApplication.clipboard().text()
        if text:
            self.opened.emit(text, self.tr("Pasted text"), "")
        else:
            self.failed.emit(self.tr("There is no text on the clipboard: copy some first."), "")

    def open(self, name: str) -> None:
        """Read a file; for JSON Lines, ask which field."""
        path = Path(name)
        self._folder = str(path.parent)
        is_records = path.suffix.lower() == JSONL
        self._background.start(
            partial(textfile.read_text, path),
            partial(self._choose_field if is_records else self._hand_over, path.name),
            self._fail,
        )

    def close(self) -> None:
        self._background.close()

    def _hand_over(self, name: str, file: TextFile) -> None:
        self.opened.emit(file.text, name, file.note)

    def _choose_field(self, name: str, file: TextFile) -> None:
        try:
            fields = textfile.jsonl_field_names(file, name)
        except TextFileError as error:
            self._fail(error)
            return
        if len(fields) == 1:
            self._take_field(name, file, fields[0])
        elif fields:
            self._ask_field(name, file, fields)
        else:
            self.failed.emit(
                self.tr("{name} has no field with text in its first line.").format(name=name), ""
            )

    def _ask_field(self, name: str, file: TextFile, fields: tuple[str, ...]) -> None:
        dialog = QInputDialog(self._window)
        dialog.setWindowTitle(self.tr("Open {name}").format(name=name))
        dialog.setLabelText(self.tr("Field that holds the text:"))
        dialog.setComboBoxItems(list(fields))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.textValueSelected.connect(partial(self._take_field, name, file))
        dialog.open()

    def _take_field(self, name: str, file: TextFile, field: str) -> None:
        try:
            records = textfile.jsonl_field(file, field, name)
        except TextFileError as error:
            self._fail(error)
            return
        self.opened.emit(BETWEEN_RECORDS.join(records.texts), f"{name}: {field}", records.note)

    def _fail(self, error: Exception) -> None:
        if isinstance(error, TextFileError):
            self.failed.emit(str(error), "")
        else:
            self.failed.emit(self.tr("The text cannot be read."), repr(error))
