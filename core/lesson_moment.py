"""What a lesson sees of the window: the document, the row on show, and what is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from logitscope.distribution import Distribution
from logitscope.document import State
from logitscope.origin_types import Label
from logitscope.passes import Pass, Totals
from logitscope.sampling import SamplerSettings, Shaped
from logitscope.steps import StepRecord
from logitscope.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """The loaded model, as far as lessons speak of it."""

    backend: str
    weight_bytes: int
    kv_bytes_per_token: float
    context_length: int


@dataclass(frozen=True, slots=True)
class PassFacts:
    """What went through the model since it was loaded."""

    prefill: Totals = field(default_factory=Totals)
    decode: Totals = field(default_factory=Totals)
    last: Pass | None = None


@dataclass(frozen=True, slots=True)
class OriginFacts:
    """Words of the answer by their label, as the origin panel counts them."""

    words: Mapping[str, int]

    @property
    def labelled(self) -> int:
        """Words that are worked out."""
        return sum(count for label, count in self.words.items() if label != Label.UNKNOWN)


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """One frozen moment. Losses are a copy; everything else is shared and does not change."""

    state: State = field(default_factory=State)
    path: tuple[StepRecord, ...] = ()
    vocabulary: Vocabulary | None = None
    model: ModelFacts | None = None
    distribution: Distribution | None = None
    """The row of the selected position; None while it is on its way."""
    shaped: Shaped | None = None
    position: int = 0
    follows_end: bool = True
    is_running: bool = False
    runs: int = 0
    """Runs that have ended since the lesson began to look."""
    losses: NDArray[np.float64] | None = None
    """(n,), nats, of the text on screen; NaN where not known. None: nobody scores it."""
    passes: PassFacts = field(default_factory=PassFacts)
    panels: frozenset[str] = frozenset()
    """Ids of the panels that are seen."""
    views: frozenset[str] = frozenset()
    """What the panels show, such as ``tab:how`` or ``scale:log``."""
    attempts: int = 0
    """How often "Draw again" was used at this row."""
    origin: OriginFacts | None = None

    @property
    def is_settled(self) -> bool:
        """Nothing is being generated, and the row of the selected position is there."""
        return self.distribution is not None and not self.is_running

    @property
    def settings(self) -> SamplerSettings:
        return self.state.settings

    @property
    def ids(self) -> tuple[int, ...]:
        """Prompt and path."""
        return self.state.prompt_ids + tuple(step.token_id for step in self.path)

    @property
    def generated(self) -> str:
        """Text of the path; bytes that are no character yet become U+FFFD."""
        if self.vocabulary is None:
            return ""
        ids = [step.token_id for step in self.path]
        return self.vocabulary.text_bytes(ids).decode("utf-8", errors="replace")
