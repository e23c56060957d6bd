"""How far the model is with the text: what an empty panel says, the same in all of them."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QObject, Signal

from logitscope.backends.messages import Phase
from logitscope.gui.loading import Gone
from logitscope.gui.widgets import numbers

if TYPE_CHECKING:
    from logitscope.gui.session_view import SessionView


class Stage(StrEnum):
    """What is true of model and text now."""

    NO_MODEL = "no_model"
    """None was opened."""
    LOADING = "loading"
    GONE = "gone"
    """The model that was opened is not there, or not any more."""
    READING = "reading"
    """The row of the selected position is on its way."""
    UNREAD = "unread"
    """The model was stopped, or has failed."""
    TOO_LONG = "too_long"
    """More tokens stand before the selected position than the context holds."""
    EMPTY = "empty"
    READ = "read"
    """There is a row on show."""


class Reading(QObject):
    """Watches a session; everything is read off it when it is asked for."""

    changed = Signal()
    """``stage`` or ``sentence`` is another."""

    def __init__(self, session: SessionView) -> None:
        super().__init__(session)
        self._session = session
        self._told = self.stage, self.sentence()
        for signal in (
            session.model_changed,
            session.prompt_changed,
            session.path_changed,
            session.selection_changed,
            session.row_changed,
            session.run_changed,
            session.trouble_changed,
            session.engine.activity_changed,
        ):
            signal.connect(self._follow)

    def _follow(self) -> None:
        now = self.stage, self.sentence()
        if now != self._told:
            self._told = now
            self.changed.emit()

    @property
    def stage(self) -> Stage:
        session = self._session
        if session.model is None:
            return self._stage_without_model()
        if session.trouble and not session.is_running:
            return Stage.UNREAD
        if not session.is_ready:
            return Stage.READING
        if session.is_beyond_context:
            return Stage.TOO_LONG
        if session.row is not None:
            return Stage.READ
        return Stage.READING if session.ids else Stage.EMPTY

    def sentence(self, no_model: str = "", empty: str = "") -> str:
        """What there is to say. ``no_model`` and ``empty`` are said where no model was opened and
        where there is no text; "" where everything is on show."""
        said: dict[Stage, Callable[[], str]] = {
            Stage.NO_MODEL: lambda: no_model,
            Stage.LOADING: self._loading_sentence,
            Stage.GONE: self._gone_sentence,
            Stage.READING: self._reading_sentence,
            Stage.UNREAD: lambda: self._session.trouble,
            Stage.TOO_LONG: self.too_long_sentence,
            Stage.EMPTY: lambda: empty,
            Stage.READ: lambda: "",
        }
        return said[self.stage]()

    def too_long_sentence(self) -> str:
        """Of the whole text, whatever position is selected."""
        model = self._session.model
        held = 0 if model is None else model.context_length
        return _tr(
            "The text has {n} tokens, but the context holds {held}: shorten it, or open the model "
            "with a longer context."
        ).format(n=numbers.count(len(self._session.ids)), held=numbers.count(held))

    @property
    def progress(self) -> tuple[int, int] | None:
        """Of the tokens that were not in the cache: how many are read, and all; None where that is
        not known."""
        session, activity = self._session, self._session.engine.activity
        is_ours = activity.number in session.reading_numbers
        if activity.phase is not Phase.PREFILL or not is_ours or activity.total <= 1:
            return None
        return activity.done, activity.total

    def _stage_without_model(self) -> Stage:
        session = self._session
        if session.loading_path is not None:
            return Stage.LOADING
        return Stage.NO_MODEL if session.gone is None else Stage.GONE

    def _loading_sentence(self) -> str:
        name = Path(self._session.loading_path or "").name
        return _tr("Loading {name} …").format(name=name)

    def _gone_sentence(self) -> str:
        match self._session.gone:
            case Gone.DIED:
                return _tr(
                    "The model's process has ended: load it again (Ctrl+Shift+R), or open another."
                )
            case Gone.STOPPED:
                return _tr(
                    "Loading the model was stopped: load it again (Ctrl+Shift+R), or open another."
                )
            case _:
                return _tr("The model could not be loaded: open another (Ctrl+O).")

    def _reading_sentence(self) -> str:
        progress = self.progress
        if progress is None:
            return _tr("The model is reading the text …")
        return _tr("The model is reading the text: {done} of {total} tokens …").format(
            done=numbers.count(progress[0]), total=numbers.count(progress[1])
        )


def _tr(text: str) -> str:
    return QCoreApplication.translate("Reading", text)
