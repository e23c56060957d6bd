"""Live numbers of the row on show, for lessons: see ``lesson_numbers``."""

from __future__ import annotations

import math

import numpy as np

from logitscope import softmax_lesson
from logitscope.display import token_label
from logitscope.distribution import Distribution
from logitscope.lesson_moment import Moment
from logitscope.step_table import tokens_holding
from logitscope.units import bits

Value = float | str | None


# -- the row ----------------------------------------------------------------------------


def vocabulary(now: Moment) -> Value:
    """Tokens of the vocabulary."""
    return None if now.distribution is None else len(now.distribution)


def total(now: Moment) -> Value:
    """All probabilities added up."""
    return None if now.distribution is None else float(now.distribution.probabilities.sum())


def token(now: Moment, *, rank: int = 1) -> Value:
    """What is written for the token of a rank."""
    found = _of_rank(now, rank)
    if found is None or now.vocabulary is None:
        return None
    return token_label(now.vocabulary, found[1])


def probability(now: Moment, *, rank: int = 1) -> Value:
    """Raw probability of the token of a rank."""
    found = _of_rank(now, rank)
    return None if found is None else found[0].probability(found[1])


def logit(now: Moment, *, rank: int = 1) -> Value:
    """Logit of the token of a rank."""
    found = _of_rank(now, rank)
    return None if found is None else float(found[0].logits[found[1]])


def lowest_logit(now: Moment) -> Value:
    """The smallest finite logit of the row."""
    if now.distribution is None:
        return None
    logits = now.distribution.logits
    return float(logits[np.isfinite(logits)].min())


def lead(now: Moment, *, rank: int = 2) -> Value:
    """Logits by which the likeliest token leads that of a rank."""
    found = _of_rank(now, rank)
    return None if found is None else softmax_lesson.lead(*found).logits


def odds(now: Moment, *, rank: int = 2) -> Value:
    """How many times as likely as the token of a rank the likeliest is."""
    found = _of_rank(now, rank)
    return None if found is None else softmax_lesson.lead(*found).factor


def shifted(now: Moment, *, added: float, rank: int = 1) -> Value:
    """Probability of the token of a rank, were a constant added to every logit."""
    found = _of_rank(now, rank)
    return None if found is None else softmax_lesson.moves(*found, added).probability


def softmax_total(now: Moment) -> Value:
    """Sum of exp(logit - largest logit): what softmax divides by."""
    found = _of_rank(now, 1)
    return None if found is None else softmax_lesson.moves(*found).total


def head(now: Moment, *, k: int) -> Value:
    """Probability that the k likeliest hold together."""
    row = now.distribution
    return None if row is None else float(row.head(k).probabilities.sum())


def tail(now: Moment, *, k: int) -> Value:
    """Probability of all but the k likeliest."""
    return None if now.distribution is None else now.distribution.tail_mass(k)


def holding(now: Moment, *, mass: float) -> Value:
    """The fewest tokens that together hold a probability."""
    return None if now.distribution is None else tokens_holding(now.distribution, mass)


def entropy_bits(now: Moment) -> Value:
    return None if now.distribution is None else bits(now.distribution.entropy)


def choices(now: Moment) -> Value:
    """exp(entropy): equally likely tokens that would be as uncertain."""
    return None if now.distribution is None else math.exp(now.distribution.entropy)


def at_temperature(now: Moment, *, temperature: float, rank: int = 1) -> Value:
    """Probability of the token of a rank at a temperature above 0, nothing else set."""
    found = _of_rank(now, rank)
    if found is None:
        return None
    return softmax_lesson.at_temperature(*found, temperature).probability


# -- the sampler --------------------------------------------------------------------------------


def temperature(now: Moment) -> Value:
    return now.settings.temperature


def shaped_probability(now: Moment, *, rank: int = 1) -> Value:
    """Probability after the sampler chain of the token of a raw rank."""
    found = _of_rank(now, rank)
    if found is None or now.shaped is None:
        return None
    return now.shaped.probability_of(found[1])


def kept(now: Moment) -> Value:
    """Tokens that can be drawn."""
    return None if now.shaped is None else now.shaped.kept


# -- parts --------------------------------------------------------------------------------------


def _of_rank(now: Moment, rank: int) -> tuple[Distribution, int] | None:
    row = now.distribution
    if row is None or rank > len(row):
        return None
    return row, int(row.top(rank)[rank - 1])
