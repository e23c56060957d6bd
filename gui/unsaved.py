"""Sessions that were not saved: the offer at the start, and the menu that lists them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from PySide6.QtCore import QDateTime, QLocale, QObject
from PySide6.QtWidgets import QMenu, QWidget

from logitscope import session_file
from logitscope.gui.background import Background
from logitscope.gui.kept import delete, lost_sessions, purge, recovery_folder, restore
from logitscope.gui.message import Action, Message, Severity, Topic
from logitscope.gui.notify import Messages

SHOWN_OF_TEXT = 40
"""Characters of a session's text that its offer shows."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What one goes by when choosing a copy."""

    copy: Path
    when: str
    name: str
    """Of its file, or ""."""
    begin: str
    """Of its text."""


class UnsavedSessions(QObject):
    """Each can be brought back for as long as its copy is kept."""

    def __init__(
        self, recover: Callable[[Path], object], messages: Messages, window: QWidget
    ) -> None:
        super().__init__(window)
        self._recover = recover
        self._messages = messages
        self._background = Background(self)
        self.menu = QMenu(window)
        self.menu.aboutToShow.connect(self._fill)

    def offer(self) -> None:
        """Offer the newest that was closed, put aside, or lost in a crash: in a moment, since it is
        read whole."""
        self._background.start(_newest, self._say_kept, _unless_gone)

    def _say_kept(self, found: tuple[Kept | None, bool]) -> None:
        kept, has_older = found
        if kept is None:
            return
        if kept.name:
            words = self.tr("Changes to “{name}” of {when} were not saved; they are kept.")
        elif kept.begin:
            words = self.tr("A session of {when} was not saved; its text is kept: “{begin}”.")
        else:
            words = self.tr("A session of {when} was not saved; it is kept.")
        sentences = [words.format(when=kept.when, name=kept.name, begin=kept.begin)]
        if has_older:
            sentences.append(self.tr("Older ones are under File > Unsaved sessions."))
        back = Action(self.tr("Bring it back"), partial(self._take, kept.copy))
        drop = Action(self.tr("Delete it"), partial(self._delete, (kept.copy,)))
        self._messages.put(
            Message(
                " ".join(sentences),
                severity=Severity.PROBLEM,
                actions=(back, drop),
                topic=Topic.UNSAVED,
            )
        )

    def close(self) -> None:
        """The window ends, and with it the way back to what was deleted."""
        self._background.close()
        purge(recovery_folder())

    def _fill(self) -> None:
        self.menu.clear()
        copies = tuple(lost_sessions(recovery_folder()))
        for kept in map(_described, copies):
            title = " – ".join(filter(None, (kept.when, kept.name, kept.begin)))
            self.menu.addAction(title.replace("&", "&&"), partial(self._take, kept.copy))
        if not copies:
            self.menu.addAction(self.tr("None")).setEnabled(False)
            return
        self.menu.addSeparator()
        self.menu.addAction(self.tr("Delete these"), partial(self._delete, copies))

    def _take(self, copy: Path) -> None:
        """Whatever was offered before speaks of what is here now, or is in the menu."""
        self._messages.settle(Topic.UNSAVED)
        self._recover(copy)

    def _delete(self, copies: Sequence[Path]) -> None:
        self._messages.settle(Topic.UNSAVED)
        deleted = [delete(copy) for copy in copies if copy.exists()]
        words = self.tr("Unsaved sessions deleted: {count}.").format(count=len(deleted))
        undo = Action(self.tr("Undo"), partial(self._restore, deleted))
        self._messages.say(words, undo, topic=Topic.UNSAVED)

    def _restore(self, deleted: Sequence[Path]) -> None:
        for file in deleted:
            restore(file)
        self._messages.say(self.tr("They are under File > Unsaved sessions again."))


def _newest() -> tuple[Kept | None, bool]:
    """The newest copy, and whether there are older ones; what was deleted goes for good."""
    purge(recovery_folder())
    copies = list(islice(lost_sessions(recovery_folder()), 2))
    return (_described(copies[0]) if copies else None), len(copies) > 1


def _unless_gone(error: Exception) -> None:
    """Another window may have taken the copy by now; any other error is reported."""
    if not isinstance(error, OSError):
        raise error


def _described(copy: Path) -> Kept:
    at = QDateTime.fromSecsSinceEpoch(int(copy.stat().st_mtime))
    session = session_file.load(copy)
    name = Path(session.home.path).name if session.home else ""
    text = " ".join(session.state.text.split())
    begin = text if len(text) <= SHOWN_OF_TEXT else text[: SHOWN_OF_TEXT - 1].rstrip() + "…"
    locale = QLocale()
    # That of C writes "1 12 2026".
    is_c = locale.language() is QLocale.Language.C
    form = "yyyy-MM-dd HH:mm" if is_c else QLocale.FormatType.ShortFormat
    return Kept(copy, locale.toString(at, form), name, begin)
