"""Which model is being loaded, which was the last to be, and why it is not there."""

from __future__ import annotations

from enum import StrEnum

from logitscope.backends.base import LoadOptions
from logitscope.gui.engine import Engine

Wish = tuple[str, str, LoadOptions]
"""Path, backend or "", options."""


class Gone(StrEnum):
    """Why the last model that was asked for is not there."""

    DIED = "died"
    """Its process ended."""
    STOPPED = "stopped"
    """The person did not wait for it."""
    REFUSED = "refused"
    """It could not be loaded."""


class Loading:
    """One at a time; the newest wish replaces the one before."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._number = 0
        self.path: str | None = None
        """What is being loaded now."""
        self.last: Wish | None = None
        self.gone: Gone | None = None
        """None while a model is there or is being loaded, and before the first."""

    def start(self, path: str, backend: str, options: LoadOptions) -> None:
        self.last = (path, backend, options)
        self.path, self.gone = path, None
        self._number = self._engine.load(path, backend, options)

    def is_ended_by(self, number: int) -> bool:
        """Whether the loading under way is the request with this number."""
        return self.path is not None and number == self._number

    def end(self, gone: Gone | None = None) -> None:
        """The model is there, or is ``gone``."""
        self.path, self.gone = None, gone
