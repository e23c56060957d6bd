"""Training a bigram table from a text, to be watched while it runs in another thread."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from logitscope.bigram import Pairs, Trainer
from logitscope.bigram_file import BigramFile, Training, Unit
from logitscope.bigram_text import characters, tokens

LONGEST_NAME = 32
"""Characters of the text that a model is named after."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a text before the first step; losses in nats a symbol."""

    symbols: int
    """Length of the text."""
    distinct: int
    """Rows of the table."""
    pairs: int
    """Distinct pairs that occur."""
    best_loss: float
    chance_loss: float
    rate: float
    """The learning rate in force."""


class BigramRun:
    """One training. ``work`` may run in any thread; the rest may be read and set meanwhile."""

    def __init__(
        self, text: str, pieces: tuple[bytes, ...] | None, steps: int, rate: float | None
    ) -> None:
        """``pieces``: of a tokenizer; None for characters. ``rate``: None for the safe one."""
        self._text = text
        self._pieces = pieces
        self._rate = rate
        self.steps = steps
        self.losses: list[float] = []
        """Loss before the first step, and behind each step taken so far."""
        self.facts: Facts | None = None
        """None until the text has been counted."""
        self.is_stopped = False
        """Set it to end the training with the step that is being taken."""

    def work(self) -> BigramFile:
        """Train, and return the table as far as it came.

        Raises BigramError, and ValueError for a rate that is not positive.
        """
        is_plain = self._pieces is None
        symbols = characters(self._text) if is_plain else tokens(self._text, self._pieces or ())
        pairs = Pairs.of(symbols.ids, len(symbols.pieces))
        rate = pairs.safe_rate if self._rate is None else self._rate
        trainer = Trainer(pairs, rate)
        self.facts = Facts(
            symbols=len(symbols.ids),
            distinct=pairs.n_symbols,
            pairs=len(pairs.count),
            best_loss=pairs.best_loss,
            chance_loss=pairs.chance_loss,
            rate=rate,
        )
        while len(self.losses) < self.steps and not self.is_stopped:
            self.losses.append(trainer.step())
        taken = len(self.losses)
        self.losses.append(trainer.loss())
        return BigramFile(
            name=name_of(self._text),
            unit=Unit.CHARACTERS if is_plain else Unit.TOKENS,
            symbols=symbols.pieces,
            logits=trainer.table.astype(np.float32),
            training=Training(
                len(symbols.ids), taken, rate, self.losses[-1], max(0.0, pairs.best_loss)
            ),
        )


def name_of(text: str) -> str:
    """What a model of this text is called: its first words."""
    words = " ".join(text[: 8 * LONGEST_NAME].split())
    short = words if len(words) <= LONGEST_NAME else words[: LONGEST_NAME - 1].rstrip() + "…"
    return f"Bigram: {short}" if short else "Bigram"


def file_stem(model: BigramFile) -> str:
    """A file name of letters, figures and hyphens only; any script's letters stay."""
    return re.sub(r"[\W_]+", "-", model.name.casefold()).strip("-")
