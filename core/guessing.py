"""Guessing the next token against a model: what a guess with a confidence costs, in bits.

A guess is a set of tokens and a confidence c, the person's probability for the set. It becomes a
distribution by Jeffrey's rule (R. Jeffrey, *The Logic of Decision*, 1965, chapter 11): the set gets
c and the rest 1 - c, each shared out as the model shares it. The cost is -log2 of what the true
token gets. The logarithmic score is strictly proper (I. J. Good, "Rational Decisions", 1952;
Gneiting and Raftery, doi:10.1198/016214506000001437): on the average it is least for who states
the confidence that he has. Against the model it is ``log2(c / P(set))`` bits better if the token is
in the set and ``log2((1 - c) / (1 - P(set)))`` if it is not.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from logitscope.distribution import Distribution
from logitscope.piece_match import utf8
from logitscope.units import bits
from logitscope.vocabulary import Vocabulary

CANDIDATES = 5
"""Tokens to pick from; one of them is the true one."""
PLAUSIBLE = 12
"""The wrong ones are drawn from so many of the likeliest, that the list itself tells little."""
CONFIDENCES = (0.25, 0.5, 0.75, 0.9)
LONGEST_ANSWER = 256
"""Bytes of a typed answer that are looked at; no token is longer but runs of one sign."""

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Verdict:
    """One guess in numbers."""

    is_right: bool
    person: float
    """Bits: -log2 of what the guess gave the true token."""
    model: float
    chance: float
    """log2 of how many tokens there were to choose from."""


@dataclass(frozen=True, slots=True)
class Totals:
    """All guesses so far; bits add up."""

    guesses: int = 0
    right: int = 0
    streak: int = 0
    """Right ones in a row, up to now."""
    longest: int = 0
    person: float = 0.0
    model: float = 0.0
    chance: float = 0.0

    def plus(self, verdict: Verdict) -> Totals:
        """With one guess more."""
        streak = self.streak + 1 if verdict.is_right else 0
        return replace(
            self,
            guesses=self.guesses + 1,
            right=self.right + verdict.is_right,
            streak=streak,
            longest=max(self.longest, streak),
            person=self.person + verdict.person,
            model=self.model + verdict.model,
            chance=self.chance + verdict.chance,
        )


def judge(
    distribution: Distribution,
    truth: int,
    guess: Sequence[int],
    confidence: float,
    pool: Sequence[int] | None = None,
) -> Verdict:
    """Score a guess where ``truth`` came. All three are measured over the same tokens: those of
    ``pool``, among which the model's probabilities are made to add up to 1, or the vocabulary.

    Raises ValueError for a confidence outside (0, 1), and for a guess or a truth that is not in
    the pool.
    """
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"The confidence must lie between 0 and 1, but is {confidence}.")
    if pool is None:
        among, places = distribution.log_probabilities, list(guess)
        place = truth
    else:
        among = distribution.log_probability(pool)
        where = {token_id: index for index, token_id in enumerate(pool)}
        if truth not in where or not where.keys() >= set(guess):
            raise ValueError("the guess and the true token must be in the pool")
        places, place = [where[token_id] for token_id in guess], where[truth]
    if not places:
        raise ValueError("no token is guessed")
    chosen = np.zeros(len(among), dtype=bool)
    chosen[places] = True
    is_right = bool(chosen[place])
    part = chosen if is_right else ~chosen
    share = math.log(confidence if is_right else 1.0 - confidence)
    return Verdict(
        is_right=is_right,
        person=-bits(share + _log_share(among, part, place)),
        model=-bits(_log_share(among, np.ones_like(chosen), place)),
        chance=math.log2(len(among)),
    )


def _log_share(log_p: Vector, part: NDArray[np.bool_], place: int) -> float:
    """ln of one token's part of the probability of those in ``part``; equal parts of nothing."""
    inside = log_p[part]
    peak = float(inside.max())
    if peak == -math.inf:
        return -math.log(len(inside))
    return float(log_p[place]) - peak - math.log(float(np.exp(inside - peak).sum()))


def candidates(
    distribution: Distribution, vocabulary: Vocabulary, truth: int, source: random.Random
) -> tuple[int, ...]:
    """The true token among others that the model holds likely, in random order.

    Ids whose bytes are those of another one in the list, and special tokens, are left out.
    """
    seen = {vocabulary.bytes_of(truth)}
    others: list[int] = []
    # Some of the likeliest may be marks, or the true token itself.
    for token_id in distribution.top(min(len(distribution), 4 * PLAUSIBLE)).tolist():
        piece = vocabulary.bytes_of(token_id)
        if piece and piece not in seen and not vocabulary.is_special(token_id):
            seen.add(piece)
            others.append(token_id)
    others = others[:PLAUSIBLE]
    chosen = [truth, *source.sample(others, min(CANDIDATES - 1, len(others)))]
    source.shuffle(chosen)
    return tuple(chosen)


def answer_ids(vocabulary: Vocabulary, typed: str, before: bytes) -> tuple[int, ...]:
    """Every token whose bytes begin what was typed, ascending.

    Tokens of words mostly bring their space with them, which nobody types: unless the text before
    ends in white space, the answer also counts with a space in front. A token of nothing but white
    space is meant only where white space was typed.
    """
    answer = utf8(typed)[:LONGEST_ANSWER]
    ways = [answer]
    if answer and not answer[:1].isspace() and not before[-1:].isspace():
        ways.append(b" " + answer)
    found: set[int] = set()
    for way in ways:
        for end in range(1, len(way) + 1):
            piece = way[:end]
            if not piece.isspace() or answer[:1].isspace():
                found.update(vocabulary.ids_of_bytes(piece))
    return tuple(sorted(i for i in found if not vocabulary.is_special(i)))
