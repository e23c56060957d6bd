"""Keeping what the person has: saving and opening sessions, and a copy of what was not saved.

The recovery copy is written a moment after each change into the user's data folder, one file a
window. When the window is closed it goes, or stays if its text was not saved; a text that another
one takes the place of is put aside there.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from logitscope import session_file
from logitscope.backends.base import BackendError
from logitscope.backends.registry import choose
from logitscope.document import State
from logitscope.gui.background import Background
from logitscope.gui.kept import SUFFIX, kept_name, prune, recovery_folder
from logitscope.gui.session import Session
from logitscope.session_file import (
    HomeFile,
    ModelReference,
    SavedSession,
    SessionText,
    Stamp,
)

AUTOSAVE_MS = 2000
"""What a crash costs at most."""
CLOSE_SECONDS = 5.0
"""Given to a copy that is being written when the window closes; it would be left behind."""


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A document with its file, to return to."""

    state: State
    saved: State
    path: Path | None
    stamp: Stamp | None = None
    model: ModelReference | None = None
    """Loaded again where another one has been opened since."""

    @property
    def is_unsaved(self) -> bool:
        """It would be lost: it differs from its file, and there is something in it."""
        state = self.state
        return _content(state) != _content(self.saved) and bool(state.text or state.count)

    def as_copy(self) -> SavedSession:
        """What a recovery copy holds."""
        home = None if self.path is None else HomeFile(str(self.path), self.stamp)
        return SavedSession(self.state, self.model, home)


class Keeper(QObject):
    """The file of the session, if it has one, and its recovery copy."""

    changed = Signal()
    """The file's name, or whether there is something to save."""

    def __init__(
        self, session: Session, parent: QObject | None = None, folder: Path | None = None
    ) -> None:
        super().__init__(parent)
        self._session = session
        self.folder = folder or recovery_folder()
        self._recovery = self.folder / f"{os.getpid()}-{id(self)}{SUFFIX}"
        self._text = SessionText()
        self._writing = Background(self)
        self._is_writing = False
        self._saved: State = session.state
        self.path: Path | None = None
        self._stamp: Stamp | None = None
        """Of the file when it was opened or saved here."""
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
        return Bookmark(self._session.state, self._saved, self.path, self._stamp, self._model())

    def return_to(self, bookmark: Bookmark) -> ModelReference | None:
        """Show a document again that another one had taken the place of, as that of its file.

        Returns its model if that is not to be found.
        """
        missing = self._show(SavedSession(bookmark.state, bookmark.model))
        self.path, self._stamp, self._saved = bookmark.path, bookmark.stamp, bookmark.saved
        self.changed.emit()
        return missing

    def put_aside(self, bookmark: Bookmark) -> Path | None:
        """Keep a document that another one has taken the place of, if it was not saved.

        Returns its copy, or None where there is nothing to keep or the disk does not take it.
        """
        if not bookmark.is_unsaved:
            return None
        copy = self.folder / kept_name()
        if not self._put(copy, session_file.dumps(bookmark.as_copy())):
            return None
        prune(self.folder)
        return copy

    def accept(self) -> None:
        """What is there now was made by nobody: it need not be saved or recovered."""
        self._saved = self._session.state
        self.changed.emit()

    @property
    def is_outdated(self) -> bool:
        """The session's file is not as it was opened or saved here: another window, or another
        program, has written it since."""
        return self.path is not None and _stamp(self.path) not in (None, self._stamp)

    def save(self, path: Path) -> None:
        """Write the session. Raises OSError; the old file is then untouched."""
        session_file.save(path, SavedSession(self._session.state, self._model()))
        self.path, self._stamp = path, _stamp(path)
        self._saved = self._session.state
        self.changed.emit()

    def open(self, path: Path) -> ModelReference | None:
        """Show a saved session and load its model; returns the model if that is not to be found.

        Raises SessionFileError and OSError; the document is then untouched.
        """
        stamp = _stamp(path)
        missing = self._show(session_file.load(path))
        self.path, self._stamp = path, stamp
        self._saved = self._session.state
        self.changed.emit()
        return missing

    def recover(self, path: Path) -> ModelReference | None:
        """Show what was kept, as changes to its file if that is still there; the copy becomes that
        of this window.

        Raises SessionFileError and OSError; the document is then untouched.
        """
        kept = session_file.load(path)
        missing = self._show(kept)
        self.path, self._stamp, self._saved = None, None, State()
        if kept.home is not None and _stamp(Path(kept.home.path)) is not None:
            self.path, self._stamp = Path(kept.home.path), kept.home.stamp
        self.take_over(path)
        self.changed.emit()
        return missing

    def take_over(self, copy: Path) -> None:
        """What it holds is on the screen: the copy goes once this window's own is written."""
        if self.autosave():
            copy.unlink(missing_ok=True)

    def autosave(self) -> bool:
        """Write the recovery copy, or remove it where there is nothing to recover.

        False where the disk does not take it.
        """
        self._timer.stop()
        if self._is_writing:
            # What is on its way to the disk is older, and may arrive behind this.
            self._timer.start()
        return self._keep(self._text.of(self.bookmark.as_copy()) if self.is_modified else None)

    def _autosave_behind(self) -> None:
        """The same in a thread: a disk may take its time."""
        if self._is_writing:
            self._timer.start()
            return
        self._is_writing = True
        text = self._text.of(self.bookmark.as_copy()) if self.is_modified else None
        self._writing.start(lambda: self._keep(text), self._written, self._broke)

    def _written(self, _result: object) -> None:
        self._is_writing = False

    def _broke(self, error: Exception) -> None:
        """An error that is none of the disk's is reported like any other."""
        self._is_writing = False
        raise error

    def _keep(self, text: str | None) -> bool:
        """Put a text, or nothing, into the recovery copy."""
        if text is not None:
            return self._put(self._recovery, text)
        with suppress(OSError):
            self._recovery.unlink(missing_ok=True)
        return True

    def _put(self, file: Path, text: str) -> bool:
        """Write into the folder; False where that fails."""
        # A full disk must not disturb: the person will meet it when saving.
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            session_file.write(file, text)
        except OSError:
            return False
        return True

    def close(self) -> None:
        """The window ends: a text that was not saved is kept, to be offered at the next start."""
        self._timer.stop()
        self._writing.close(CLOSE_SECONDS)
        if self.bookmark.is_unsaved:
            self._keep(self._text.of(self.bookmark.as_copy()))
            with suppress(OSError):
                self._recovery.replace(self.folder / kept_name())
            prune(self.folder)
        else:
            self._keep(None)

    def _model(self) -> ModelReference | None:
        model, last = self._session.model, self._session.last_load
        if model is not None:
            return ModelReference(model.path, model.backend, model.name, model.header_hash)
        return None if last is None else ModelReference(last[0], last[1], "", "")

    def _show(self, loaded: SavedSession) -> ModelReference | None:
        """The model is asked for first: its ids would mean nothing to the one that is there."""
        wanted = loaded.model
        if wanted is not None and self._has(wanted):
            wanted = None
        if wanted is not None and _is_there(wanted.path):
            self._session.open_model(wanted.path, wanted.backend)
            wanted = None
        self._session.replace_document(loaded.state)
        return wanted

    def _has(self, wanted: ModelReference) -> bool:
        """That model is loaded, or on its way."""
        present = self._session.model
        if present is None:
            return self._session.loading_path == wanted.path
        if not wanted.header_hash:
            return present.path == wanted.path
        return present.header_hash == wanted.header_hash

    def _note_change(self) -> None:
        self.changed.emit()
        # Not started again while it runs: a long run is saved every two seconds, not at its end.
        if not self._timer.isActive():
            self._timer.start()


def _stamp(path: Path) -> Stamp | None:
    """What tells a file from what is written in its place; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _is_there(path: str) -> bool:
    try:
        choose(path)
    except BackendError:
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
