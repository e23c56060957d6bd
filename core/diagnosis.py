"""Why this token: one sentence in plain words, with the step's numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from logitscope.sampler_settings import SamplerSettings
from logitscope.steps import Origin, StepRecord

LONG_SHOT = 0.05
"""A token below this raw probability was a long shot: at most one draw in twenty, the usual
border of "unlikely by chance"."""

FLAT_CHOICES = 20.0
"""From exp(H) = 20 equally likely tokens on (H = 3.0 nats) even the average token has a
probability below ``LONG_SHOT``: then the distribution, not the draw, is what was unusual."""


class Kind(StrEnum):
    """The reason that explains a token best."""

    FORCED = "forced"
    INSERTED = "inserted"
    EXPLORED = "explored"
    GREEDY = "greedy"
    LIKELIEST = "likeliest"
    FLAT = "flat"
    LONG_SHOT = "long_shot"
    ORDINARY = "ordinary"
    """Not the likeliest, but a likely one."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The kind of choice and a sentence for a person."""

    kind: Kind
    sentence: str


def diagnose(step: StepRecord, settings: SamplerSettings) -> Diagnosis:
    """Explain one token of the text. ``settings``: those the step was made with."""
    kind = _kind(step)
    sentence = _SENTENCES[kind](step)
    raw, shaped = math.exp(step.log_probability), step.shaped_probability or 0.0
    if kind is Kind.LONG_SHOT and settings.temperature > 1.0 and shaped > raw:
        sentence = f"{sentence[:-1]}; temperature {settings.temperature:g} made it likelier."
    return Diagnosis(kind, sentence)


def _kind(step: StepRecord) -> Kind:
    if step.origin in _UNSAMPLED:
        return _UNSAMPLED[step.origin]
    if step.draw is None:
        return Kind.GREEDY
    if step.rank == 1:
        return Kind.LIKELIEST
    if math.exp(step.log_probability) >= LONG_SHOT:
        return Kind.ORDINARY
    return Kind.FLAT if math.exp(step.entropy) >= FLAT_CHOICES else Kind.LONG_SHOT


_UNSAMPLED = {
    Origin.FORCED: Kind.FORCED,
    Origin.INSERTED: Kind.INSERTED,
    Origin.EXPLORED: Kind.EXPLORED,
}


def percent(probability: float) -> str:
    """A probability for reading: ``93.5 %``, ``0.012 %``, ``3.1e-12``, ``0 %``."""
    if probability == 0.0:
        return "0 %"
    if probability >= 0.0995:
        return f"{probability * 100:.1f} %"
    if probability >= 1e-5:
        return f"{probability * 100:.2g} %"
    return f"{probability:.1e}"


def _raw(step: StepRecord) -> str:
    return f"rank {step.rank:,}, {percent(math.exp(step.log_probability))} raw"


def _drawn(step: StepRecord) -> str:
    shaped, draw = step.shaped_probability, step.draw
    if shaped is None or draw is None:
        return ""
    # One digit more than tells the ends apart.
    digits = min(max(4, 2 - math.floor(math.log10(max(draw.high - draw.low, 1e-15)))), 16)
    low, u, high = (f"{x:.{digits}f}" for x in (draw.low, draw.u, draw.high))
    return f"{percent(shaped)} after the sampler chain; u = {u} fell into [{low}, {high})"


_SENTENCES = {
    Kind.FORCED: lambda s: f"You forced this token; the model had it at {_raw(s)}.",
    Kind.INSERTED: lambda s: f"Part of a text you inserted; the model had it at {_raw(s)}.",
    Kind.EXPLORED: lambda s: f"Added by expanding the tree; the model had it at {_raw(s)}.",
    Kind.GREEDY: lambda s: (
        f"Greedy (temperature 0) took the likeliest token without a draw: {_raw(s)}."
        if s.rank == 1
        else f"Greedy (temperature 0) took what was likeliest after the penalties: {_raw(s)}."
    ),
    Kind.LIKELIEST: lambda s: f"The model's likeliest token: {_raw(s)}, {_drawn(s)}.",
    Kind.ORDINARY: lambda s: f"One of the likely tokens: {_raw(s)}, {_drawn(s)}.",
    Kind.LONG_SHOT: lambda s: f"The sampler took a long shot: {_raw(s)}, {_drawn(s)}.",
    Kind.FLAT: lambda s: (
        f"The model was undecided, as between {math.exp(s.entropy):,.0f} equally likely tokens "
        f"(entropy {s.entropy:.2f} nats): {_raw(s)}, {_drawn(s)}."
    ),
}
