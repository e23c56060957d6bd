"""Opening, pasting and dropping texts into the loss panel."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QInputDialog, QWidget

from logitscope import textfile
from logitscope.gui.background import Background
from logitscope.textfile import Report, TextFile, TextFileError

T = TypeVar("T")

JSONL = ".jsonl"
BETWEEN_RECORDS = "\n\n"
"""A blank line: the usual end of a piece of text."""
LARGEST = 32 * 1024 * 1024
"""Bytes: some 8 million tokens, of which each takes 104 bytes of losses. `logitscope score` reads
files of up to 256 MB."""
LARGE = 4 * 1024 * 1024
"""Bytes from which on progress is told: less is there before it could be read."""


class TextOpener(QObject):
    """Reads files off the window's thread; every failure is one sentence."""

    opened = Signal(str, str, str)
    """Text, name, and a sentence to show or ""."""
    progressed = Signal(str)
    """How far the reading of a large file is, as a sentence; "" when it has ended."""
    failed = Signal(str, str)
    """A sentence, and details for a bug report."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._background = Background(self)
        self._folder = ""
        self._reading: _Reading | None = None

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
        """Read a file; for JSON Lines, ask which field. The newest file wins."""
        path = Path(name)
        self._folder = str(path.parent)
        if path.suffix.lower() == JSONL:
            self._start(
                path.name, partial(_fields_of, path), partial(self._choose_field, path.name)
            )
        else:
            read = partial(textfile.read_text, path, largest=LARGEST)
            self._start(path.name, read, partial(self._hand_over, path.name))

    def stop(self) -> None:
        """Give up the file that is being read."""
        if self._reading is not None:
            self._reading.is_stopped = True
            self._reading = None
            self.progressed.emit("")

    def close(self) -> None:
        self.stop()
        self._background.close()

    # -- reading ----------------------------------------------------------------------------

    def _start(self, name: str, work: Callable[..., T], done: Callable[[T], object]) -> None:
        """Do ``work(report=…)`` in a thread and hand its result to ``done``."""
        self.stop()
        reading = self._reading = _Reading(name, self)
        reading.reached.connect(self._show_progress)

        def end(then: Callable[[], object]) -> None:
            if reading is self._reading:
                self._reading = None
                self.progressed.emit("")
                then()

        self._background.start(
            partial(work, report=reading.report),
            lambda result: end(lambda: done(result)),
            lambda error: end(lambda: self._fail(error)),
        )

    def _show_progress(self, reading: _Reading, percent: int) -> None:
        # Reports of one that was stopped may still be on their way.
        if reading is self._reading:
            words = self.tr("Reading {name}: {percent} %")
            self.progressed.emit(words.format(name=reading.name, percent=percent))

    def _hand_over(self, name: str, file: TextFile) -> None:
        self.opened.emit(file.text, name, file.note)

    def _choose_field(self, name: str, found: tuple[TextFile, tuple[str, ...]]) -> None:
        file, fields = found
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
        def hand_over(found: tuple[str, str]) -> None:
            self.opened.emit(found[0], f"{name}: {field}", found[1])

        self._start(name, partial(_joined, file, field, name), hand_over)

    def _fail(self, error: Exception) -> None:
        if isinstance(error, TextFileError):
            self.failed.emit(str(error), "")
        else:
            self.failed.emit(self.tr("The text cannot be read."), repr(error))


class _Reading(QObject):
    """One file on its way; its thread asks here whether to go on."""

    reached = Signal(object, int)
    """This reading, and percent."""

    def __init__(self, name: str, parent: QObject) -> None:
        super().__init__(parent)
        self.name = name
        self._percent = 0
        self.is_stopped = False

    def report(self, done: int, total: int) -> None:
        """Called in the thread. Raises _Stopped."""
        if self.is_stopped:
            raise _Stopped
        percent = 100 * done // max(total, 1)
        if total > LARGE and percent != self._percent:
            self._percent = percent
            self.reached.emit(self, percent)


class _Stopped(Exception):
    """Nobody waits for the file any more."""


def _fields_of(path: Path, report: Report) -> tuple[TextFile, tuple[str, ...]]:
    file = textfile.read_text(path, largest=LARGEST, report=report)
    return file, textfile.jsonl_field_names(file, path.name)


def _joined(file: TextFile, field: str, name: str, report: Report) -> tuple[str, str]:
    """The text of all records, and a sentence to show or ""."""
    records = textfile.jsonl_field(file, field, name, report=report)
    return BETWEEN_RECORDS.join(records.texts), records.note
