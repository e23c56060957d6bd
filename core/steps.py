"""Records of single generation steps, shared by the model process, the document and the views."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from logitscope.sampler_settings import SamplerSettings


class Origin(StrEnum):
    """How a token came into the text."""

    SAMPLED = "sampled"
    FORCED = "forced"
    """Chosen by the person instead of the sampler."""
    INSERTED = "inserted"
    """Part of a text the person inserted as tokens."""
    EXPLORED = "explored"
    """Added by expanding the tree; nobody chose it."""


@dataclass(frozen=True, slots=True)
class Draw:
    """The random choice of one step.

    The tokens that survived the sampler chain lie side by side on [0, 1) in descending order of
    shaped probability (ties: lower id first). ``u`` in [0, 1) hits the half-open interval
    [``low``, ``high``) of the chosen token.
    """

    u: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class StepRecord:
    """Numbers of one generated token.

    All but ``shaped_probability`` and ``draw`` belong to the raw distribution: softmax over the
    whole vocabulary at temperature 1, before any sampling stage.
    """

    token_id: int
    origin: Origin
    log_probability: float
    """Natural logarithm of the raw probability, nats."""
    rank: int
    """1 = likeliest in the raw distribution; ties: lower id first."""
    entropy: float
    """Entropy of the raw distribution, nats."""
    shaped_probability: float | None
    """Probability after the sampler chain; None where no sampler chose the token."""
    draw: Draw | None
    """None for greedy, forced and inserted tokens."""
    top_ids: tuple[int, ...]
    """The likeliest ids of the raw distribution, at most 10, likeliest first."""
    top_log_probabilities: tuple[float, ...]
    """Natural logarithms of the raw probabilities of ``top_ids``."""
    seconds: float
    """Wall time of the step in the model process: decode and choice."""
    settings: SamplerSettings | None = None
    """The sampler's settings of the run, one object for all its steps; None where no sampler chose
    the token, and for steps of sessions saved before it was kept."""
