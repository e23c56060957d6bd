"""Every way to a model: dialogs, menus, what was dropped, what is opened at the start."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from logitscope.backends.base import BackendError, LoadOptions, MissingBackend, ModelFileError
from logitscope.backends.library import LibraryEntry, find_models
from logitscope.backends.packaged import assemble, demo_path
from logitscope.backends.registry import choose
from logitscope.gui.background import Background
from logitscope.gui.message import Action, Message, Severity, Topic
from logitscope.gui.notify import Messages
from logitscope.gui.panels.model import size_text
from logitscope.gui.session import Session
from logitscope.gui.settings import OPEN_LAST, Settings, exists, is_on_disk
from logitscope.gui.widgets.insets import inset_numbers
from logitscope.gui.widgets.plain import plain_tip

if TYPE_CHECKING:
    from logitscope.backends.inspect import HeaderSummary

PATIENCE_MS = 500
"""Until it is said that a header is still being read."""


class Opener(QObject):
    """Opens models into the session. Paths are checked for being a model at all before the one
    that is loaded is given up for them."""

    refused = Signal()
    demo_opened = Signal()
    """The demo model was asked for, since nothing else was."""
    demo_refused = Signal(str)
    """Nothing is installed that runs it: one sentence."""

    def __init__(
        self, session: Session, settings: Settings, messages: Messages, window: QWidget
    ) -> None:
        super().__init__(window)
        self._session = session
        self._settings = settings
        self._messages = messages
        self._window = window
        self._newest = 0
        self._good: list[tuple[str, str, LoadOptions]] = []
        """The last two models that were loaded, the newest first."""
        self.background = Background(self)
        session.model_changed.connect(self._model_changed)
        messages.ways_out = self._ways_out

    # -- opening ----------------------------------------------------------------------------

    def open(self, path: str, backend: str = "", options: LoadOptions | None = None) -> None:
        """Load this path, or say in one sentence why it is no model. The newest wish wins."""
        self._newest += 1
        self._messages.settle(Topic.MODEL)
        try:
            if not backend:
                choose(path)
        except BackendError as error:
            self._refuse(error)
            return
        options = options or self._settings.load_options()
        if self._session.model is not None and is_on_disk(path):
            self._look_first(path, backend, options)
        else:
            self._session.open_model(path, backend, options)

    def _look_first(self, path: str, backend: str, options: LoadOptions) -> None:
        """What is damaged or too large does not take the loaded model away: its header is read
        before."""
        from logitscope.backends.inspect import inspect

        wish = self._newest
        name = Path(path).name
        load = partial(self._session.open_model, path, backend, options)
        said = QTimer(self, interval=PATIENCE_MS, singleShot=True)

        def say() -> None:
            if wish == self._newest:
                words = self.tr("Looking at {name} …").format(name=name)
                self._messages.say(words, topic=Topic.MODEL)

        said.timeout.connect(say)
        said.start()

        def ended(obstacle: Message | None) -> None:
            said.deleteLater()
            if wish != self._newest:
                return
            self._messages.settle(Topic.MODEL)
            if obstacle is None:
                load()
            else:
                self._messages.put(obstacle)
                self.refused.emit()

        def done(summary: HeaderSummary) -> None:
            if summary.refusal:
                ended(self._refusal(ModelFileError(summary.refusal)))
            else:
                ended(self._shortage(summary, options, load))

        def failed(error: Exception) -> None:
            ended(self._refusal(error) if isinstance(error, BackendError) else None)

        self.background.start(partial(inspect, Path(path)), done, failed)

    def _shortage(
        self, summary: HeaderSummary, options: LoadOptions, load: Callable[[], None]
    ) -> Message | None:
        """What to say of a model that may not fit into the memory there is. Where models go to a
        GPU it takes less than is said, and can be opened all the same; else it would be refused."""
        from logitscope.backends.inspect import least_memory

        estimate = least_memory(summary, options)
        model = self._session.model
        free = psutil.virtual_memory().available + (0 if model is None else model.weight_bytes)
        if estimate.total <= free:
            return None
        words = self.tr(
            "{name} may not fit: it needs about {needed} of memory ({weights} of weights), and "
            "{free} are free. The loaded model stays."
        ).format(
            name=Path(summary.path).name,
            needed=size_text(estimate.total),
            weights=size_text(estimate.weights),
            free=size_text(free),
        )
        is_on_gpu = model is not None and model.cpu_threads == 0
        anyway = (Action(self.tr("Open it all the same"), load),) if is_on_gpu else ()
        return Message(words, "", Severity.PROBLEM, anyway, Topic.MODEL)

    def open_entry(self, entry: LibraryEntry) -> None:
        """Open a model of the library; the packaged one is put together first."""
        if entry.ready:
            self.open(str(entry.path))
            return
        self._newest += 1
        wish = self._newest
        self._messages.say(self.tr("Putting the packaged model together …"), topic=Topic.MODEL)

        def done(path: Path) -> None:
            if wish == self._newest:
                self.open(str(path))

        self.background.start(assemble, done, self._assembling_failed)

    def open_at_start(
        self, model: str | None, backend: str = "", options: LoadOptions | None = None
    ) -> None:
        """Open what was asked for; else the last model; else the demo model."""
        if model is not None:
            self.open(model, backend, options)
            return
        if not self._settings.get(OPEN_LAST):
            return
        known = [path for path in self._settings.recent if exists(path)]
        if known and known[0] != _demo():
            self.open(known[0], backend, options)
        else:
            self.open_demo(options)

    def open_demo(self, options: LoadOptions | None = None) -> None:
        """Open the model that ships; where that cannot be, the first one on this machine."""
        try:
            path = demo_path()
        except BackendError as error:
            if isinstance(error, MissingBackend):
                self.demo_refused.emit(str(error))
            self._open_any()
        else:
            self.open(str(path), "", options)
            self.demo_opened.emit()

    def _open_any(self) -> None:
        wish = self._newest

        def done(entries: list[LibraryEntry]) -> None:
            if entries and wish == self._newest:
                self.open_entry(entries[0])

        self.background.start(find_models, done, lambda _error: None)

    def close(self) -> None:
        self.background.close()

    # -- asking -----------------------------------------------------------------------------

    def ask_for_file(self) -> None:
        dialog = self._file_dialog(self.tr("Open a model file"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters([self.tr("Models (*.gguf *.bigram.json)"), self.tr("All files (*)")])
        dialog.open()

    def ask_for_folder(self) -> None:
        dialog = self._file_dialog(self.tr("Open a Hugging Face model folder"))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.open()

    def ask_for_options(self) -> None:
        from logitscope.gui.dialogs.open_model import OpenModelDialog

        last = self._session.last_load[0] if self._session.last_load else ""
        path = last if Path(last).exists() else ""
        dialog = OpenModelDialog(self._settings, self.background, path, self._window)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.wanted.connect(self.open)
        inset_numbers(dialog)
        dialog.open()

    def show_library(self) -> None:
        from logitscope.gui.dialogs.library import LibraryDialog

        dialog = LibraryDialog(self.background, self._window)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.wanted.connect(self.open_entry)
        dialog.open()

    def fill_recent(self, menu: QMenu) -> None:
        """One entry for each recent model; those that are gone cannot be chosen."""
        menu.clear()
        for path in self._settings.recent:
            there = exists(path)
            name = Path(path).name
            action = QAction(
                name if there else self.tr("{name}  (missing)").format(name=name), menu
            )
            action.setToolTip(plain_tip(path))
            action.setEnabled(there)
            action.triggered.connect(partial(self.open, path))
            menu.addAction(action)
        if menu.isEmpty():
            menu.addAction(self.tr("No models opened yet")).setEnabled(False)
        else:
            menu.addSeparator()
            menu.addAction(self.tr("Forget these"), self._settings.forget_models)
        menu.setToolTipsVisible(True)

    # -- inside -----------------------------------------------------------------------------

    def _file_dialog(self, title: str) -> QFileDialog:
        recent = self._settings.recent
        start = str(Path(recent[0]).parent) if recent else str(Path.home())
        dialog = QFileDialog(self._window, title, start)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(partial(self.open))
        return dialog

    def _model_changed(self) -> None:
        session = self._session
        if session.model is not None and session.last_load is not None:
            others = [load for load in self._good if load[0] != session.last_load[0]]
            self._good = [session.last_load, *others[:1]]
            self._settings.remember_model(session.last_load[0])

    def _ways_out(self, can_load_again: bool) -> list[Action]:
        """Buttons where there is no model any more, the likeliest to help first."""
        actions = []
        good = next((load for load in self._good if load != self._session.last_load), None)
        if good is not None:
            title = self.tr("Back to {name}").format(name=Path(good[0]).name)
            actions.append(Action(title, partial(self._session.open_model, *good)))
        if can_load_again:
            actions.append(Action(self.tr("Load again"), self._session.reload_model))
        actions.append(Action(self.tr("Open another model…"), self.ask_for_file))
        return actions

    def _refuse(self, error: BackendError) -> None:
        self._messages.put(self._refusal(error))
        self.refused.emit()

    def _refusal(self, error: BackendError) -> Message:
        """Where a model is there, all is as it was; else one is still to be chosen."""
        if self._session.model is not None or self._session.loading_path is not None:
            return Message(str(error), error.detail)
        last = self._session.last_load
        actions = tuple(self._ways_out(last in self._good[:1]))
        return Message(str(error), error.detail, Severity.PROBLEM, actions, Topic.MODEL)

    def _assembling_failed(self, error: Exception) -> None:
        expected = isinstance(error, BackendError)
        sentence = str(error) if expected else self.tr("The packaged model cannot be prepared.")
        detail = error.detail if isinstance(error, BackendError) else repr(error)
        self._messages.put(
            Message(sentence, detail, Severity.PROBLEM if expected else Severity.BUG)
        )


def _demo() -> str:
    """Path of the demo model; "" where there is none."""
    try:
        return str(demo_path())
    except BackendError:
        return ""
