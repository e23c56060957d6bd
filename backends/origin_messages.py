"""What the analysis of an answer's origin is asked for, and what it replies."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from logitscope.attribution_units import GradientMethod
from logitscope.origin_types import OriginReport


class Task(StrEnum):
    """What an Attribute is to work out."""

    LABELS = "labels"
    """Prompt or weights, for every word."""
    SOURCES = "sources"
    """Which spans and which of their words, for the words asked for."""
    SWAP = "swap"
    """What the model says with other words in the sources, for one word."""
    LEANS = "leans"
    """On which earlier words of the answer a word leans."""
    FREE = "free"
    """The answer that the model gives without the sources."""
    GRADIENTS = "gradients"
    """A second opinion on one word by gradients, where the model has the capability."""
    THRESHOLD = "threshold"
    """From which gain on a word depends on the prompt, for this model."""


@dataclass(frozen=True, slots=True)
class Attributed:
    """What is known of an answer's origin so far."""

    number: int
    report: OriginReport


@dataclass(frozen=True, slots=True)
class FreeRun:
    """The answer without the sources, as far as it is generated."""

    number: int
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SecondOpinion:
    """What the tokens before a word add to its log-probability, by gradients."""

    number: int
    word: int
    method: GradientMethod
    values: NDArray[np.float64]
    """(n,), nats, for each token of the prompt and of the answer before the word."""


@dataclass(frozen=True, slots=True)
class Calibrated:
    """Least gain (nats) that makes a word of this model depend on the prompt."""

    number: int
    threshold: float
