"""What the origin panel asks for and shows: prompt or weights, with the evidence.

The definitions, thresholds and limits are in docs/origin.md. All log-probabilities are natural, of
the raw distribution at temperature 1, so that no sampler setting changes any of this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from logitscope.surprisal import TokenNumbers
from logitscope.vocabulary import Vocabulary

Range = tuple[int, int]
"""``(start, stop)``: token indices."""
Logs = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class OriginCase:
    """A prompt, its sources and the answer, on token ids.

    ``sources`` are disjoint, ascending ranges of ``prompt_ids``, one for each span (a sentence, as
    a rule) that may be taken away; what lies outside is the frame and always stays.
    """

    prompt_ids: tuple[int, ...]
    sources: tuple[Range, ...]
    answer_ids: tuple[int, ...]


class Label(StrEnum):
    """Where a word of the answer came from."""

    PROMPT = "prompt"
    """Depends on the prompt; whether copied or derived is not worked out yet."""
    COPIED = "copied"
    DERIVED = "derived"
    BOTH = "both"
    WEIGHTS = "weights"
    UNCERTAIN = "uncertain"
    UNKNOWN = "unknown"
    """Not worked out."""


class Flag(StrEnum):
    """A small sign beside a label."""

    LOWERED = "lowered"
    """The sources make the word less likely."""
    REDUNDANT = "redundant"
    """Several spans say the same: none is needed, each would do."""
    WEAK = "weak"
    """Probability with the sources below 0.1."""


class Condition(StrEnum):
    """How the sources were treated."""

    WITH = "with"
    DROP = "drop"
    FILL_A = "fill_a"
    FILL_B = "fill_b"


@dataclass(frozen=True, slots=True)
class Expected:
    """The likeliest tokens at one position under one condition."""

    condition: Condition
    ids: tuple[int, ...]
    log_probabilities: tuple[float, ...]
    token: int | None = None
    """The token of the answer that stands there; None where that is not told."""


@dataclass(frozen=True, slots=True)
class SourceEvidence:
    """What a source span (by its number in ``OriginCase.sources``) does for a word, in nats."""

    span: int
    need: float
    hold: float
    word: Range | None = None
    """Tokens of the prompt that matter most within the span, where worked out."""
    word_need: float | None = None

    @property
    def evidence(self) -> float:
        """Half of need and hold: the Shapley value where there are two spans."""
        return 0.5 * (self.need + self.hold)


@dataclass(frozen=True, slots=True)
class Swap:
    """One word of the prompt replaced by another of the same shape."""

    place: Range
    """Tokens of the prompt."""
    original: str
    replacement: str
    says: str
    """What the model says instead, greedily."""
    follows: bool
    """Whether the answer became the replacement (copied) or at least changed (derived)."""


@dataclass(frozen=True, slots=True)
class Leaning:
    """Need of an earlier word of the answer (by number), in nats."""

    word: int
    need: float


@dataclass(frozen=True, slots=True)
class WordOrigin:
    """All that is known of a word of the answer; sums are over its tokens."""

    tokens: Range
    """Indices into ``OriginCase.answer_ids``."""
    text: str
    log_probability: dict[Condition, float]
    """Of the whole word, nats, by condition."""
    label: Label = Label.UNKNOWN
    flags: frozenset[Flag] = frozenset()
    expected: tuple[Expected, ...] = ()
    """At the token of the word that gains most by the sources: of a number, the figure that
    differs and not the space in front of it."""
    sources: tuple[SourceEvidence, ...] | None = None
    """All spans in their order; None: not worked out."""
    copied_from: Range | None = None
    """Tokens of the prompt where a copied word stands."""
    swaps: tuple[Swap, ...] = ()
    leans: tuple[Leaning, ...] | None = None

    @property
    def deltas(self) -> tuple[float, float]:
        """(least, greatest) gain by the sources over the conditions without them, nats.

        Raises ValueError where no condition without sources is known.
        """
        base = self.log_probability[Condition.WITH]
        gains = [base - v for k, v in self.log_probability.items() if k is not Condition.WITH]
        return min(gains), max(gains)

    @property
    def share(self) -> float:
        """The part of the word's probability that disappears without the sources, 0 to 1."""
        return max(0.0, -float(np.expm1(-self.deltas[0])))


@dataclass(frozen=True, slots=True)
class OriginReport:
    """The words of an answer, as far as they are worked out."""

    case: OriginCase
    words: tuple[WordOrigin, ...]
    threshold: float
    """Least gain (nats) that makes a word depend on the prompt."""


class OriginModel(Protocol):
    """The model as the origin analysis sees it; calls may raise what their backend raises."""

    @property
    def vocabulary(self) -> Vocabulary: ...

    def tokenize(self, text: str) -> list[int]:
        """Ids of a text that stands inside another: no BOS, nothing parsed."""

    def next_numbers(self, ids: Sequence[int], top: int) -> tuple[NDArray[np.int32], Logs]:
        """Ids (top,) and log-probabilities (top,) of the likeliest tokens behind ``ids``."""

    def score_variants(
        self, contexts: Sequence[Sequence[int]], continuation: Sequence[int]
    ) -> list[TokenNumbers]:
        """Numbers of the continuation behind each context, exactly."""

    def score_cuts(
        self,
        context: Sequence[int],
        cuts: Sequence[Sequence[Range]],
        continuation: Sequence[int],
    ) -> list[TokenNumbers]:
        """The same behind ``context`` less the ranges of each cut, from one reading of it.

        The keys and values of what stays were computed with everything present, so this is an
        approximation; a backend that cannot cut its cache gives the exact numbers."""
