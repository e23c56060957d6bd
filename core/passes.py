"""What went through the model so far: a bounded log of passes, and their totals."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import StrEnum

KEPT_PASSES = 512
"""More than a wide screen has room for; the totals go on counting."""


class PassKind(StrEnum):
    """The two phases of inference."""

    PREFILL = "prefill"
    """Several tokens at once, or the first one: their keys and values fill the cache."""
    DECODE = "decode"
    """One token behind cached ones."""


@dataclass(frozen=True, slots=True)
class Pass:
    """One evaluation of the model."""

    number: int
    """From 1 on, since the model was loaded."""
    cached: int
    """Tokens whose keys and values were read from the KV cache."""
    evaluated: int
    """Tokens that went through the model; at least 1."""
    seconds: float

    @property
    def kind(self) -> PassKind:
        one = self.evaluated == 1 and self.cached > 0
        return PassKind.DECODE if one else PassKind.PREFILL


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over all passes of one kind, kept ones and forgotten ones."""

    passes: int = 0
    evaluated: int = 0
    cached: int = 0
    seconds: float = 0.0

    @property
    def seconds_per_token(self) -> float | None:
        """None before the first pass."""
        return self.seconds / self.evaluated if self.evaluated else None

    def plus(self, of: Pass) -> Totals:
        return Totals(
            self.passes + 1,
            self.evaluated + of.evaluated,
            self.cached + of.cached,
            self.seconds + of.seconds,
        )


class PassLog:
    """The last ``KEPT_PASSES`` passes, oldest first, and the totals of all."""

    def __init__(self, kept: int = KEPT_PASSES) -> None:
        self._passes: deque[Pass] = deque(maxlen=kept)
        self._totals = {kind: Totals() for kind in PassKind}

    @property
    def passes(self) -> tuple[Pass, ...]:
        return tuple(self._passes)

    @property
    def last(self) -> Pass | None:
        return self._passes[-1] if self._passes else None

    def last_of(self, kind: PassKind) -> Pass | None:
        """The newest pass of a kind among the kept ones."""
        return next((one for one in reversed(self._passes) if one.kind is kind), None)

    def totals(self, kind: PassKind) -> Totals:
        return self._totals[kind]

    def add(self, cached: int, evaluated: int, seconds: float) -> bool:
        """Enter a pass; False where nothing went through the model, which is no pass."""
        if evaluated < 1:
            return False
        number = sum(total.passes for total in self._totals.values()) + 1
        made = Pass(number, cached, evaluated, seconds)
        self._passes.append(made)
        self._totals[made.kind] = self._totals[made.kind].plus(made)
        return True

    def clear(self) -> None:
        self._passes.clear()
        self._totals = {kind: Totals() for kind in PassKind}
