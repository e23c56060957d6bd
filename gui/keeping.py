"""Keeping what the person has: saving and opening sessions, and a copy of what was not saved.

The recovery copy is written a moment after each change into the user's data folder, one file a
window. When the window is closed it goes, or stays if its text was not saved. A file whose process
is gone is what a crash left.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import platformdirs
from PySide6.QtCore import QObject, QTimer, Signal

from logitscope import session_file
from logitscope.backends.base import BackendError
from logitscope.backends.registry import choose
from logitscope.document import State
from logitscope.gui.background import Background
from logitscope.gui.session import Session
from logitscope.session_file import (
    ModelReference,
    SavedSession,
    SessionFileError,
    SessionText,
)

SUFFIX = ".logitscope.json"
AUTOSAVE_MS = 2000
"""What a crash costs at most."""
KEPT = "kept-"
"""Begins the name of a copy that no process owns any more."""
MOST_KEPT = 10
"""Copies of closed windows; the oldest go."""
CLOSE_SECONDS = 5.0
"""Given to a copy that is being written when the window closes; it would be left behind."""


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A document with its file, to return to."""

    state: State
    saved: State
    path: Path | None


class Keeper(QObject):
    """The file of the session, if it has one, and its recovery copy."""

    changed = Signal()
    """The file's name, or whether there is something to save."""

    def __init__(
        self, session: Session, parent: QObject | None = None, folder: Path | None = None
    ) -> None:
        super().__init__(parent)
        self._session = session
        self._folder = folder or recovery_folder()
        self._recovery = self._folder / f"{os.getpid()}-{id(self)}{SUFFIX}"
        self._text = SessionText()
        self._writing = Background(self)
        self._is_writing = False
        self._saved: State = session.state
        self.path: Path | None = None
        self._timer = QTimer(self, interval=AUTOSAVE_MS, singleShot=True)
        self._timer.timeout.connect(self._autosave_behind)
        for signal in (
            session.prompt_changed,
            session.sources_changed,
            session.path_changed,
            session.settings_changed,
        ):
            signal.connect(self._note_change)

    @property
    def is_modified(self) -> bool:
        """The document differs from its file (or from an empty one)."""
        return _content(self._session.state) != _content(self._saved)

    @property
    def bookmark(self) -> Bookmark:
        return Bookmark(self._session.state, self._saved, self.path)

    def return_to(self, bookmark: Bookmark) -> None:
        """Show a document again that another one had taken the place of, as that of its file."""
        self._session.replace_document(bookmark.state)
        self.path, self._saved = bookmark.path, bookmark.saved
        self.changed.emit()

    def accept(self) -> None:
        """What is there now was made by nobody: it need not be saved or recovered."""
        self._saved = self._session.state
        self.changed.emit()

    def save(self, path: Path) -> None:
        """Write the session. Raises OSError; the old file is then untouched."""
        session_file.save(path, self._as_saved())
        self.path = path
        self._saved = self._session.state
        self.changed.emit()

    def open(self, path: Path) -> ModelReference | None:
        """Show a saved session and load its model; returns the model if that is not to be found.

        Raises SessionFileError and OSError; the document is then untouched.
        """
        missing = self._show(session_file.load(path))
        self.path = path
        self._saved = self._session.state
        self.changed.emit()
        return missing

    def recover(self, path: Path) -> ModelReference | None:
        """Show what was kept. It counts as not saved; its file goes with the next autosave."""
        missing = self._show(session_file.load(path))
        self.autosave()
        path.unlink(missing_ok=True)
        self.changed.emit()
        return missing

    def autosave(self) -> None:
        """Write the recovery copy, or remove it where there is nothing to recover."""
        self._timer.stop()
        self._keep(self._text.of(self._as_saved()) if self.is_modified else None)

    def _autosave_behind(self) -> None:
        """The same in a thread: a disk may take its time."""
        if self._is_writing:
            self._timer.start()
            return
        self._is_writing = True
        text = self._text.of(self._as_saved()) if self.is_modified else None
        self._writing.start(lambda: self._keep(text), self._written, self._broke)

    def _written(self, _result: object) -> None:
        self._is_writing = False

    def _broke(self, error: Exception) -> None:
        """An error that is none of the disk's is reported like any other."""
        self._is_writing = False
        raise error

    def _keep(self, text: str | None) -> None:
        """Put a text, or nothing, into the recovery copy."""
        # A full disk must not disturb: the person will meet it when saving.
        with suppress(OSError):
            if text is None:
                self._recovery.unlink(missing_ok=True)
            else:
                self._folder.mkdir(parents=True, exist_ok=True)
                session_file.write(self._recovery, text)

    def close(self) -> None:
        """The window ends: a text that was not saved is kept, to be offered at the next start."""
        self._timer.stop()
        self._writing.close(CLOSE_SECONDS)
        state = self._session.state
        if self.is_modified and (state.text or state.count > 0):
            self._keep(self._text.of(self._as_saved()))
            with suppress(OSError):
                self._recovery.replace(self._folder / f"{KEPT}{self._recovery.name}")
            _prune(self._folder)
        else:
            self._keep(None)

    def _as_saved(self) -> SavedSession:
        model, last = self._session.model, self._session.last_load
        if model is None:
            known = None if last is None else ModelReference(last[0], last[1], "", "")
        else:
            known = ModelReference(model.path, model.backend, model.name, model.header_hash)
        return SavedSession(self._session.state, known)

    def _show(self, loaded: SavedSession) -> ModelReference | None:
        """The model is asked for first: its ids would mean nothing to the one that is there."""
        wanted, present = loaded.model, self._session.model
        if present is not None and wanted is not None:
            wanted = None if present.header_hash == wanted.header_hash else wanted
        if wanted is not None and _is_there(wanted.path):
            self._session.open_model(wanted.path, wanted.backend)
            wanted = None
        self._session.replace_document(loaded.state)
        return wanted

    def _note_change(self) -> None:
        self.changed.emit()
        # Not started again while it runs: a long run is saved every two seconds, not at its end.
        if not self._timer.isActive():
            self._timer.start()


def recovery_folder() -> Path:
    """Where recovery copies are."""
    return Path(platformdirs.user_data_path("logitscope", appauthor=False)) / "recovery"


def lost_sessions(folder: Path) -> Iterator[Path]:
    """Copies of closed windows and of processes that are gone, newest first, if they are whole."""
    with suppress(OSError):
        for file in _newest_first(folder.glob(f"*{SUFFIX}")):
            if (file.name.startswith(KEPT) or _is_orphan(file)) and _is_whole(file):
                yield file


def _prune(folder: Path) -> None:
    """Remove the oldest copies of closed windows."""
    with suppress(OSError):
        for file in _newest_first(folder.glob(f"{KEPT}*{SUFFIX}"))[MOST_KEPT:]:
            file.unlink(missing_ok=True)


def _newest_first(files: Iterable[Path]) -> list[Path]:
    return sorted(files, key=lambda file: file.stat().st_mtime, reverse=True)


def _is_orphan(file: Path) -> bool:
    """The process that wrote the copy is gone; its number may be another one's by now."""
    # Behind the first painting: it takes 12 ms to import.
    import psutil

    process = file.name.partition("-")[0]
    if not process.isdigit():
        return False
    try:
        return bool(psutil.Process(int(process)).create_time() > file.stat().st_mtime)
    except psutil.NoSuchProcess:
        return True
    except psutil.Error:
        return False


def _is_there(path: str) -> bool:
    try:
        choose(path)
    except BackendError:
        return False
    return True


def _is_whole(file: Path) -> bool:
    try:
        session_file.load(file)
    except (SessionFileError, OSError):
        return False
    return True


def _content(state: State) -> tuple[object, ...]:
    """What of a state is worth saving; ids that the model made of the text are not."""
    return (
        state.blocks,
        state.chat,
        state.add_special,
        state.parse_special,
        state.settings,
        state.count,
        state.leaf,
        state.names,
        state.deleted,
    )
