"""The sampler chain: settings."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Stage(StrEnum):
    """One stage of the sampler chain."""

    PENALTIES = "penalties"
    """Repetition, frequency and presence penalty, in this order, on the raw logits."""
    TEMPERATURE = "temperature"
    TOP_K = "top_k"
    TYPICAL = "typical"
    TOP_P = "top_p"
    MIN_P = "min_p"


TRANSFORMERS_ORDER = (
    Stage.PENALTIES,
    Stage.TEMPERATURE,
    Stage.TOP_K,
    Stage.TOP_P,
    Stage.MIN_P,
    Stage.TYPICAL,
)
LLAMACPP_ORDER = (
    Stage.PENALTIES,
    Stage.TOP_K,
    Stage.TYPICAL,
    Stage.TOP_P,
    Stage.MIN_P,
    Stage.TEMPERATURE,
)


@dataclass(frozen=True, slots=True)
class SamplerSettings:
    """Everything that shapes a row of logits into the distribution a token is drawn from.

    The defaults leave the distribution as the model made it. A stage at its neutral value
    (temperature 1, top-k 0, top-p 1, min-p 0, typical 1, penalties 1/0/0) changes nothing.
    """

    temperature: float = 1.0
    """0 means greedy: the likeliest token, no draw."""
    top_k: int = 0
    """0 means all."""
    top_p: float = 1.0
    min_p: float = 0.0
    typical_p: float = 1.0
    repetition_penalty: float = 1.0
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    penalty_last_n: int = 64
    """How many of the last tokens count for the penalties; -1 means all."""
    order: tuple[Stage, ...] = LLAMACPP_ORDER
    seed: int = 0
