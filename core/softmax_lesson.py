"""Softmax as three moves, with the numbers of one token, to show what changes it and what not."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from logitscope.distribution import Distribution
from logitscope.exponentials import pieces
from logitscope.sampling import Shaped


@dataclass(frozen=True, slots=True)
class Moves:
    """The numbers of one token when ``added`` was added to every logit."""

    added: float
    logit: float
    largest: float
    exponential: float
    """exp(logit - largest)."""
    total: float
    """Sum of the exponentials of the whole vocabulary."""
    probability: float


def moves(distribution: Distribution, token_id: int, added: float = 0.0) -> Moves:
    """Softmax of ``logits + added``, computed anew in float64.

    Raises IndexError for an id outside the vocabulary.
    """
    plain = distribution.softmax_of(token_id)
    largest = float(distribution.logits[distribution.likeliest]) + added
    total = 0.0
    for part in pieces(len(distribution)):
        moved = distribution.logits[part].astype(np.float64) + added
        total += float(np.exp(moved - largest).sum())
    own = math.exp(plain.logit + added - largest)
    return Moves(added, plain.logit + added, largest, own, total, own / total)


@dataclass(frozen=True, slots=True)
class Lead:
    """How far a token lies behind the likeliest one."""

    logits: float
    """Logit of the likeliest minus the token's: 0 or more."""
    factor: float
    """exp of it: how many times as likely the likeliest is."""


def lead(distribution: Distribution, token_id: int) -> Lead:
    """The likeliest token's lead over this one."""
    distance = float(distribution.logits[distribution.likeliest]) - float(
        distribution.logits[token_id]
    )
    return Lead(distance, float(distribution.odds_to_top([token_id])[0]))


@dataclass(frozen=True, slots=True)
class Tempered:
    """One token at one temperature."""

    temperature: float
    probability: float
    rank: int


def at_temperature(distribution: Distribution, token_id: int, temperature: float) -> Tempered:
    """The token at a temperature above 0; the ranking is counted anew.

    It is counted on the scaled float64 logits before they are shifted: in float32, or relative
    to the largest, two neighbouring logits could become equal.
    """
    logits = distribution.logits
    own = float(logits[token_id]) / temperature
    before = total = 0.0
    largest = float(logits[distribution.likeliest])
    for part in pieces(len(logits)):
        scaled = logits[part].astype(np.float64) / temperature
        before += np.count_nonzero(scaled > own)
        before += np.count_nonzero(scaled[: max(0, token_id - part.start)] == own)
        total += float(np.exp(scaled - largest / temperature).sum())
    probability = math.exp(own - largest / temperature) / total
    return Tempered(temperature, probability, int(before) + 1)


def shaped_rank(shaped: Shaped, token_id: int) -> int | None:
    """Rank among the tokens that can be drawn, 1 = likeliest; None if it was removed."""
    interval = shaped.interval_of(token_id)
    if interval is None:
        return None
    by_id = shaped.by_id
    own = by_id[token_id]
    ties = by_id[:token_id] == own
    if own == 0.0:
        # Removed ids are 0 too; only those that were kept have a rank.
        ties &= shaped.removed_by[:token_id] == 0
    return int(np.count_nonzero(by_id > own) + np.count_nonzero(ties)) + 1
