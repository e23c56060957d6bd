"""How far the distributions of two models are apart, position by position, exactly."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal

from logitscope.backends.messages import Channel, Died, Evaluated, Failed, Finished, Reply
from logitscope.comparison import kl
from logitscope.distribution import log_softmax
from logitscope.gui.background import Background
from logitscope.gui.engine import Engine

MOST = 512
"""Positions of one run: each costs a pass of one token through both models."""

Row = NDArray[np.float32]


class Divergence(QObject):
    """KL(left || right) of both rows at each position, nats, in float64 over the whole vocabulary.

    Two rows are held at a time. Both models must have the same vocabulary.
    """

    changed = Signal()
    """A position more is known, or a run began or ended."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._background = Background(self)
        self._engines: tuple[Engine, Engine] | None = None
        self._ids: tuple[int, ...] = ()
        self._wanted: list[int] = []
        self._total = 0
        self._numbers = [0, 0]
        self._rows: list[Row | None] = [None, None]
        self._run = 0
        self.values: NDArray[np.float64] = np.zeros(0)
        """(n,) by position, NaN = unknown."""

    @property
    def is_running(self) -> bool:
        return self._total > 0

    @property
    def progress(self) -> tuple[int, int]:
        """Positions done, and all of this run."""
        return self._total - len(self._wanted), self._total

    def set_engines(self, left: Engine, right: Engine) -> None:
        """Two models; nothing is known of them yet."""
        self.forget()
        self._engines = left, right
        left.replied.connect(self._take_left)
        right.replied.connect(self._take_right)

    def forget(self) -> None:
        """The models are others, or gone."""
        self.stop()
        if self._engines is not None:
            self._engines[0].replied.disconnect(self._take_left)
            self._engines[1].replied.disconnect(self._take_right)
        self._engines, self._ids, self.values = None, (), np.zeros(0)
        self.changed.emit()

    def follow(self, ids: tuple[int, ...]) -> None:
        """The text as it is now; what is known stays up to the first changed token."""
        if ids == self._ids:
            return
        self.stop()
        shared = min(len(ids), len(self._ids))
        same = np.array(ids[:shared]) == np.array(self._ids[:shared])
        kept = shared if same.all() else int((~same).argmax())
        # A row depends on the tokens before it only.
        kept = min(kept + 1, len(ids), len(self.values))
        values = np.full(len(ids), np.nan)
        values[:kept] = self.values[:kept]
        self._ids, self.values = ids, values
        self.changed.emit()

    def start(self, first: int, stop: int) -> None:
        """Find up to ``MOST`` unknown positions ``first <= p < stop``; else those before."""
        if self._engines is None or self.is_running:
            return
        stop = min(stop, len(self.values))
        unknown = np.flatnonzero(np.isnan(self.values[:stop]))
        unknown = unknown[unknown > 0]
        behind = unknown[unknown >= first]
        self._wanted = (behind if len(behind) else unknown)[:MOST].tolist()
        self._total = len(self._wanted)
        self._ask()

    def stop(self) -> None:
        """End the run; what is known stays."""
        if not self.is_running:
            return
        if self._engines is not None:
            for engine, number in zip(self._engines, self._numbers, strict=True):
                engine.cancel(number)
        self._end()

    def close(self) -> None:
        self.forget()
        self._background.close()

    # -- inside -----------------------------------------------------------------------------

    def _ask(self) -> None:
        if not self._wanted or self._engines is None:
            self._end()
            return
        self._rows = [None, None]
        self._ask_side(0)

    def _ask_side(self, side: int) -> None:
        """One model after the other: two at once would fight for the same cores."""
        if self._engines is not None:
            before = self._ids[: self._wanted[0]]
            self._numbers[side] = self._engines[side].evaluate(before, channel=Channel.COMPARE)

    def _take_left(self, reply: Reply) -> None:
        self._take(0, reply)

    def _take_right(self, reply: Reply) -> None:
        self._take(1, reply)

    def _take(self, side: int, reply: Reply) -> None:
        if not self.is_running or self._engines is None:
            return
        if isinstance(reply, Died):
            self._end()
        elif reply.number == self._numbers[side]:
            if isinstance(reply, Evaluated):
                self._take_row(side, self._engines[side].row(reply.row))
            elif isinstance(reply, Failed | Finished):
                self._end()

    def _take_row(self, side: int, row: Row | None) -> None:
        if row is None:
            # A newer row has taken its place: once more.
            self._ask_side(side)
            return
        self._rows[side] = row
        left, right = self._rows
        if right is None:
            self._ask_side(1)
        elif left is not None:
            position = self._wanted[0]
            self._background.start(
                partial(_divergence, left, right),
                partial(self._put, self._run, position),
                lambda _error: self._end(),
            )

    def _put(self, run: int, position: int, value: float) -> None:
        if run != self._run or not self.is_running:
            return
        self.values[position] = value
        del self._wanted[0]
        self._ask()
        self.changed.emit()

    def _end(self) -> None:
        self._run += 1
        self._wanted, self._total = [], 0
        self._rows = [None, None]
        self._numbers = [0, 0]
        self.changed.emit()


def _divergence(left: Row, right: Row) -> float:
    return kl(log_softmax(left), log_softmax(right))
