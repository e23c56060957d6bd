"""Session files in the window: dialogs, and the way back to what was there before."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog, QInputDialog, QWidget

from logitscope.document import State
from logitscope.gui.keeping import Bookmark, Keeper
from logitscope.gui.kept import SUFFIX
from logitscope.gui.message import Action, Message, Severity, Topic
from logitscope.gui.notify import Messages
from logitscope.gui.session import Session
from logitscope.session_file import ModelReference, SessionFileError


class SessionFiles(QObject):
    """New, open, save; every failure is one sentence and changes nothing."""

    def __init__(self, session: Session, messages: Messages, window: QWidget) -> None:
        super().__init__(window)
        self._session = session
        self._messages = messages
        self._window = window
        self.keeper = Keeper(session, self)

    # -- commands ---------------------------------------------------------------------------

    def new(self) -> None:
        """An empty document; the one there was can be had back from the message."""
        before = self.keeper.bookmark
        self._session.replace_document(State(settings=before.state.settings))
        self.keeper.path = None
        self._offer_back(before, self.tr("A new session."))

    def show(self, state: State, sentence: str) -> None:
        """Show a document that ships; the one there was can be had back from the message."""
        before = self.keeper.bookmark
        self.keeper.return_to(Bookmark(state, state, None))
        if before.state.text or before.state.count > 0:
            self._offer_back(before, sentence)
        else:
            self._messages.say(sentence, topic=Topic.SESSION)

    def open(self) -> None:
        chosen, _ = QFileDialog.getOpenFileName(
            self._window, self.tr("Open session"), self._start_folder(), self._filter()
        )
        if chosen:
            self.open_path(Path(chosen))

    def open_path(self, path: Path) -> None:
        before = self.keeper.bookmark
        if self._try(path, partial(self.keeper.open, path)):
            self._offer_back(before, self.tr("Opened “{name}”.").format(name=path.name))

    def save(self) -> None:
        if self.keeper.path is None:
            self.save_as()
        elif self.keeper.is_outdated:
            words = self.tr(
                "“{name}” was changed by another window or program since it was opened here: "
                "nothing is saved yet."
            )
            self._ask_to_replace(self.keeper.path, words)
        else:
            self._save(self.keeper.path)

    def save_as(self) -> None:
        chosen, _ = QFileDialog.getSaveFileName(
            self._window, self.tr("Save session"), self._start_folder(), self._filter()
        )
        if not chosen:
            return
        path = Path(chosen)
        if path.suffix.lower() != ".json":
            path = path.with_name(path.name + SUFFIX)
        # The dialog has asked about the name that was typed, not about this one.
        if str(path) != chosen and path.exists():
            self._ask_to_replace(path, self.tr("“{name}” is there already: nothing is saved yet."))
        else:
            self._save(path)

    def insert_text(self) -> None:
        """Ask for a text and put it behind the path as tokens."""
        text, accepted = QInputDialog.getMultiLineText(
            self._window,
            self.tr("Insert text"),
            self.tr("This text is put behind what is there, as tokens:"),
        )
        if accepted:
            self._session.insert_text(text)

    def recover(self, copy: Path) -> None:
        """Show what was kept and not saved; its copy then follows what happens to it here."""
        before = self.keeper.bookmark
        if not copy.exists():
            self._messages.say(self.tr("That session is not kept any more."))
        elif self._try(copy, partial(self.keeper.recover, copy)):
            self._offer_back(before, self.tr("The session is back."))

    # -- parts ------------------------------------------------------------------------------

    def _ask_to_replace(self, path: Path, words: str) -> None:
        """The file holds what this window has never shown."""
        self._messages.put(
            Message(
                words.format(name=path.name),
                severity=Severity.PROBLEM,
                actions=(
                    Action(self.tr("Save under another name…"), self.save_as),
                    Action(self.tr("Replace it"), partial(self._save, path)),
                ),
                topic=Topic.SESSION,
            )
        )

    def _save(self, path: Path) -> None:
        try:
            self.keeper.save(path)
        except OSError as error:
            words = self.tr("{path} cannot be written ({reason}): choose another place.")
            reason = error.strerror or str(error)
            self._messages.put(Message(words.format(path=path, reason=reason)))
        else:
            self._messages.settle(Topic.SESSION)
            self._messages.say(self.tr("Saved as “{name}”.").format(name=path.name))

    def _try(self, path: Path, action: Callable[[], ModelReference | None]) -> bool:
        try:
            missing = action()
        except SessionFileError as error:
            self._messages.put(Message(str(error)))
            return False
        except OSError as error:
            words = self.tr("{path} cannot be read ({reason}): choose another file.")
            reason = error.strerror or str(error)
            self._messages.put(Message(words.format(path=path, reason=reason)))
            return False
        if missing is not None:
            self._tell_missing(missing)
        return True

    def _tell_missing(self, model: ModelReference) -> None:
        words = self.tr(
            "The session's model {name} is not at {path} any more: its continuations are kept in "
            "the file, and shown once it is there again."
        )
        sentence = words.format(name=model.name, path=model.path)
        self._messages.put(Message(sentence, severity=Severity.PROBLEM))

    def _offer_back(self, before: Bookmark, sentence: str) -> None:
        """The last document only: an older offer would replace one that it does not speak of.

        What was not saved of it stays among the unsaved sessions.
        """
        copy = self.keeper.put_aside(before)
        self._messages.settle(Topic.SESSION)
        if copy is not None:
            words = self.tr("What was there is kept under File > Unsaved sessions.")
            sentence = f"{sentence} {words}"
        if before.state.text or before.state.count > 0:
            back = Action(self.tr("Bring the old one back"), partial(self._return_to, before, copy))
            self._messages.say(sentence, back, topic=Topic.SESSION)

    def _return_to(self, bookmark: Bookmark, copy: Path | None) -> None:
        before = self.keeper.bookmark
        missing = self.keeper.return_to(bookmark)
        if copy is not None:
            self.keeper.take_over(copy)
        if missing is not None:
            self._tell_missing(missing)
        self._offer_back(before, self.tr("The old session is back."))

    def _start_folder(self) -> str:
        path = self.keeper.path
        return str(path) if path is not None else str(Path.home() / f"session{SUFFIX}")

    def _filter(self) -> str:
        return self.tr("Logitscope sessions (*{suffix})").format(suffix=SUFFIX)
