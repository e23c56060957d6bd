"""Every token is explained by the right reason, with the numbers of its step."""

from __future__ import annotations

import math

import numpy as np
import pytest

from logitscope.diagnosis import Kind, diagnose, percent
from logitscope.sampling import SamplerSettings
from logitscope.steps import Draw, Origin, StepRecord

PLAIN = SamplerSettings()


def step(
    probability: float,
    rank: int,
    *,
    entropy: float = 1.0,
    origin: Origin = Origin.SAMPLED,
    shaped: float | None = None,
    draw: Draw | None = None,
) -> StepRecord:
    return StepRecord(
        token_id=3,
        origin=origin,
        log_probability=math.log(probability),
        rank=rank,
        entropy=entropy,
        shaped_probability=shaped,
        draw=draw,
        top_ids=(3,),
        top_log_probabilities=(math.log(probability),),
        seconds=0.01,
    )


def test_likeliest() -> None:
    found = diagnose(step(0.62, 1, shaped=0.7, draw=Draw(0.41236, 0.0, 0.7)), PLAIN)
    assert found.kind is Kind.LIKELIEST
    assert found.sentence == (
        "The model's likeliest token: rank 1, 62.0 % raw, 70.0 % after the sampler chain; "
        "u = 0.4124 fell into [0.0000, 0.7000)."
    )


def test_long_shot_tells_all_four_numbers() -> None:
    chosen = step(0.0007, 1_204, shaped=0.0031, draw=Draw(0.9712, 0.96905, 0.97215))
    found = diagnose(chosen, SamplerSettings(temperature=1.4))
    assert found.kind is Kind.LONG_SHOT
    assert found.sentence == (
        "The sampler took a long shot: rank 1,204, 0.07 % raw, 0.31 % after the sampler chain; "
        "u = 0.97120 fell into [0.96905, 0.97215); temperature 1.4 made it likelier."
    )
    assert "temperature" not in diagnose(chosen, PLAIN).sentence


def test_flat_distribution() -> None:
    entropy = math.log(64.0)
    found = diagnose(
        step(0.01, 20, entropy=entropy, shaped=0.01, draw=Draw(0.5, 0.495, 0.505)), PLAIN
    )
    assert found.kind is Kind.FLAT
    assert "64 equally likely tokens (entropy 4.16 nats)" in found.sentence


def test_likely_but_not_the_likeliest() -> None:
    found = diagnose(step(0.3, 2, shaped=0.3, draw=Draw(0.7, 0.6, 0.9)), PLAIN)
    assert found.kind is Kind.ORDINARY


@pytest.mark.parametrize(
    ("origin", "kind", "word"),
    [
        (Origin.FORCED, Kind.FORCED, "You forced"),
        (Origin.INSERTED, Kind.INSERTED, "you inserted"),
    ],
)
def test_not_the_samplers_choice(origin: Origin, kind: Kind, word: str) -> None:
    found = diagnose(step(1e-12, 200_000, origin=origin), PLAIN)
    assert found.kind is kind
    assert word in found.sentence
    assert "rank 200,000, 1.0e-12 raw" in found.sentence


def test_greedy() -> None:
    greedy = SamplerSettings(temperature=0.0)
    likeliest = diagnose(step(0.4, 1, shaped=1.0), greedy)
    assert likeliest.kind is Kind.GREEDY
    assert "likeliest token without a draw: rank 1, 40.0 % raw" in likeliest.sentence
    penalised = diagnose(step(0.2, 2, shaped=1.0), greedy)
    assert "likeliest after the penalties: rank 2" in penalised.sentence


@pytest.mark.parametrize("width", np.logspace(-14, 0, 15).tolist())
def test_the_ends_of_a_narrow_interval_can_be_told_apart(width: float) -> None:
    low = 0.3
    found = diagnose(step(width / 2, 9, shaped=width, draw=Draw(low, low, low + width)), PLAIN)
    ends = found.sentence.split("[")[1].split(")")[0].split(", ")
    assert float(ends[1]) - float(ends[0]) == pytest.approx(width, rel=0.11)


@pytest.mark.parametrize(
    ("probability", "text"),
    [
        (1.0, "100.0 %"),
        (0.935, "93.5 %"),
        (0.047, "4.7 %"),
        (0.00012, "0.012 %"),
        (3.14e-12, "3.1e-12"),
        (0.0, "0 %"),
    ],
)
def test_percent(probability: float, text: str) -> None:
    assert percent(probability) == text
