"""Whether the row on show is that of an older text, and has been for longer than a moment."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal

from logitscope.gui.session import Session

GRACE_MS = 150
"""Most rows are there sooner; what grows faint at every key would flicker."""


class OlderRow(QObject):
    """Follows a session. A run goes on by itself: its newest row is as new as can be."""

    changed = Signal(bool)

    def __init__(self, session: Session, parent: QObject) -> None:
        super().__init__(parent)
        self._session = session
        self.is_older = False
        self._grace = QTimer(self, interval=GRACE_MS, singleShot=True)
        self._grace.timeout.connect(lambda: self._set(True))
        for signal in (
            session.prompt_changed,
            session.path_changed,
            session.selection_changed,
            session.row_changed,
            session.run_changed,
            session.reading.changed,
        ):
            signal.connect(self._follow)

    def _follow(self) -> None:
        session = self._session
        is_current = session.is_ready and session.row_is_current
        is_meant = session.is_running or session.inspected is not None
        if session.row is None or is_current or is_meant:
            self._grace.stop()
            self._set(False)
        elif not self.is_older and not self._grace.isActive():
            self._grace.start()

    def _set(self, is_older: bool) -> None:
        if is_older != self.is_older:
            self.is_older = is_older
            self.changed.emit(is_older)
