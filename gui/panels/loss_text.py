"""The tokens in the heatmap: which they are, and whether the text has changed since."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, QTimer, Signal

from logitscope.gui.panels import loss_words
from logitscope.gui.panels.loss_drawn import Drawn
from logitscope.gui.session import Session
from logitscope.gui.widgets.heat_pages import HeatPages
from logitscope.gui.widgets.loss_curve import LossCurve
from logitscope.losses import LossTable
from logitscope.vocabulary import Vocabulary

UNITS_MS = 50
STALE_MS = 150
"""Numbers of an older text are drawn faint only after this: most answers are faster."""


class HeatText(QObject):
    """Puts tokens into the heatmap. Those of an older text stay as they are, faint."""

    changed = Signal()
    """``is_older`` is another."""
    told = Signal()
    """There is another reason why the text was not read."""

    def __init__(
        self, session: Session, heat: HeatPages, curve: LossCurve, drawn: Drawn, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._session = session
        self._heat, self._curve, self._drawn = heat, curve, drawn
        self._shown: tuple[Sequence[int] | None, Vocabulary | None] = None, None
        self._opened: str | None = None
        self._is_older = session.model is None
        self._grace = QTimer(self, interval=STALE_MS, singleShot=True)
        self._grace.timeout.connect(lambda: self._set_older(True))
        session.path_changed.connect(self._follow)
        session.reading.changed.connect(self._follow)

    @property
    def is_older(self) -> bool:
        """The model has not read the present text, or there is none: what is on show is older."""
        return self._is_older

    def set_opened(self, text: str | None) -> None:
        """Whether an opened text is on show; None is that on screen."""
        if text != self._opened:
            self._opened = text
            self._grace.stop()
            self._follow()

    def show(self, ids: Sequence[int], table: LossTable) -> None:
        """Show the tokens of a table, where they are those of the text."""
        if self._is_older:
            if len(table) <= 1:
                self._put((), None)
            return
        vocabulary = self._fitting_vocabulary(table)
        if len(ids) == len(table):
            self._put(ids, vocabulary)

    def _put(self, ids: Sequence[int], vocabulary: Vocabulary | None) -> None:
        shown, its_vocabulary = self._shown
        if vocabulary is its_vocabulary and (ids is shown or ids == shown):
            return
        self._shown = ids, vocabulary
        self._heat.set_text(ids, vocabulary, grows=self._opened is None)
        self._curve.set_range(range(0))
        self._drawn.set_text(vocabulary)
        # Between the first row and the first text, for which it is needed.
        QTimer.singleShot(UNITS_MS, self, lambda: self._drawn.units)

    def _fitting_vocabulary(self, table: LossTable) -> Vocabulary | None:
        """None while the ids are those of another model: the new one's are on their way."""
        vocabulary, ids = self._session.vocabulary, table.ids
        if vocabulary is None or (len(ids) and int(ids.max()) >= len(vocabulary)):
            return None
        return vocabulary

    # -- older ------------------------------------------------------------------------------

    def _follow(self) -> None:
        session = self._session
        self._heat.view.set_placeholder(loss_words.placeholder(session, self._opened))
        is_there = session.model is not None
        if is_there and (session.is_ready or self._opened is not None):
            self._set_older(False)
        elif not is_there or not session.is_reading:
            self._set_older(True)
        elif not self._is_older and not self._grace.isActive():
            self._grace.start()
        self.told.emit()

    def _set_older(self, is_older: bool) -> None:
        self._grace.stop()
        if is_older != self._is_older:
            self._is_older = is_older
            self._heat.view.set_stale(is_older)
            self._curve.set_stale(is_older)
            self.changed.emit()
