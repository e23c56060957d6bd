"""What a person can set on the sampler chain. Import it from ``logitscope.sampling``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum


class Stage(StrEnum):
    """One stage of the sampler chain."""

    PENALTIES = "penalties"
    """Repetition, frequency and presence penalty, in this order."""
    TEMPERATURE = "temperature"
    TOP_K = "top_k"
    TYPICAL = "typical"
    TOP_P = "top_p"
    MIN_P = "min_p"


class TieRule(StrEnum):
    """What top-k and typical do with tokens that tie with the last one they keep.

    Top-p keeps as few as needed under either rule: there the two libraries agree.
    """

    LOWEST_ID = "lowest_id"
    """Exactly as many as asked for, lower ids first: the size that llama.cpp keeps."""
    ALL = "all"
    """All that tie, which may be more than asked for: as in transformers."""


TRANSFORMERS_ORDER = (
    Stage.PENALTIES,
    Stage.TEMPERATURE,
    Stage.TOP_K,
    Stage.TOP_P,
    Stage.MIN_P,
    Stage.TYPICAL,
)
"""As ``GenerationMixin._get_logits_processor`` of transformers 5.24 builds its list."""

LLAMACPP_ORDER = (
    Stage.PENALTIES,
    Stage.TOP_K,
    Stage.TYPICAL,
    Stage.TOP_P,
    Stage.MIN_P,
    Stage.TEMPERATURE,
)
"""As ``common_params_sampling.samplers`` of llama.cpp lists them (those Logitscope has)."""


@dataclass(frozen=True, slots=True)
class SamplerSettings:
    """Everything that shapes a row of logits into the distribution a token is drawn from.

    The defaults leave the distribution as the model made it. A stage at its neutral value
    (temperature 1, top-k 0, top-p 1, min-p 0, typical 1, penalties 1/0/0) changes nothing.
    Raises ValueError, with a sentence, for values that have no meaning.
    """

    temperature: float = 1.0
    """0 means greedy: the likeliest token after the penalties, no draw, whatever else is set."""
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
    """Stages from first to last; one that is missing is off."""
    seed: int = 0
    tie_rule: TieRule | None = None
    """None means the rule of the library whose order is set: ALL for TRANSFORMERS_ORDER,
    LOWEST_ID for any other."""

    def __post_init__(self) -> None:
        for name in ("top_p", "min_p", "typical_p"):
            value = getattr(self, name)
            if not 0.0 <= value <= 1.0:
                raise ValueError(f"{name} must be between 0 and 1, but is {value}.")
        for name in ("temperature", "repetition_penalty", "frequency_penalty", "presence_penalty"):
            if not math.isfinite(getattr(self, name)):
                raise ValueError(f"{name} must be a finite number, not {getattr(self, name)}.")
        if self.temperature < 0.0:
            raise ValueError(f"temperature must not be negative, but is {self.temperature}.")
        if self.repetition_penalty <= 0.0:
            raise ValueError(
                f"repetition_penalty must be above 0, but is {self.repetition_penalty}."
            )
        if self.top_k < 0:
            raise ValueError(f"top_k must be 0 (all) or more, but is {self.top_k}.")
        if self.penalty_last_n < -1:
            raise ValueError(
                f"penalty_last_n must be -1 (all) or more, but is {self.penalty_last_n}."
            )
        if len(set(self.order)) != len(self.order):
            raise ValueError("The order of the sampler chain names a stage twice.")

    @property
    def keeps_ties(self) -> bool:
        """Whether the rule for ties is ALL."""
        if self.tie_rule is None:
            return self.order == TRANSFORMERS_ORDER
        return self.tie_rule is TieRule.ALL

    @property
    def greedy(self) -> bool:
        """Whether the likeliest token is taken without a draw."""
        return self.temperature == 0.0

    def is_active(self, stage: Stage) -> bool:
        """Whether a stage is in the order and not at its neutral value.

        Greedy switches off every stage but the penalties and the temperature.
        """
        if stage not in self.order:
            return False
        if stage is Stage.PENALTIES:
            neutral = (self.repetition_penalty, self.frequency_penalty, self.presence_penalty)
            return neutral != (1.0, 0.0, 0.0) and self.penalty_last_n != 0
        if stage is Stage.TEMPERATURE:
            return self.temperature != 1.0
        truncates = {
            Stage.TOP_K: self.top_k > 0,
            Stage.TOP_P: self.top_p < 1.0,
            Stage.MIN_P: self.min_p > 0.0,
            Stage.TYPICAL: self.typical_p < 1.0,
        }
        return truncates[stage] and not self.greedy
