"""Listens to the model process and writes down what its answers cost."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from logitscope.backends.messages import Evaluated, Finished, Loaded, Reply, Stepped
from logitscope.gui.engine import Engine
from logitscope.passes import PassLog


class PassMeter(QObject):
    """Passes of evaluations and runs since the model was loaded; scoring is not among them."""

    changed = Signal()

    def __init__(self, engine: Engine, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.log = PassLog()
        engine.replied.connect(self._take)
        engine.stepped.connect(self._take)

    def _take(self, reply: Reply) -> None:
        match reply:
            case Loaded():
                self.log.clear()
                self.changed.emit()
            case Evaluated():
                self._add(reply.cached, reply.evaluated, reply.seconds)
            case Stepped() | Finished():
                cost = reply.cost
                self._add(cost.cached, cost.evaluated, cost.seconds)

    def _add(self, cached: int, evaluated: int, seconds: float) -> None:
        if self.log.add(cached, evaluated, seconds):
            self.changed.emit()
