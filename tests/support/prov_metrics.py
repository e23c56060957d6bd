"""Figures of merit: F1, area under the curve, and the bounds that chance leaves."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

CLASSES = ("copied", "derived", "weights")


def f1(gold: Sequence[str], said: Sequence[str], label: str) -> float:
    """2 tp / (2 tp + fp + fn); 0 where the label occurs nowhere."""
    pairs = list(zip(gold, said, strict=True))
    both = sum(g == s == label for g, s in pairs)
    either = sum((g == label) + (s == label) for g, s in pairs)
    return 2 * both / either if either else 0.0


def macro_f1(gold: Sequence[str], said: Sequence[str], classes: Sequence[str] = CLASSES) -> float:
    """Mean of F1 over the classes that the gold labels hold."""
    there = [label for label in classes if label in gold]
    return float(np.mean([f1(gold, said, label) for label in there])) if there else 0.0


def area(positive: Sequence[float], negative: Sequence[float]) -> float:
    """Probability that a positive scores above a negative, ties counting half (AUROC)."""
    if not positive or not negative:
        return float("nan")
    wins = [(p > n) + 0.5 * (p == n) for p in positive for n in negative]
    return float(np.mean(wins))


def interval(
    count: int, figure: Callable[[list[int]], float], rounds: int = 1000
) -> tuple[float, float]:
    """The middle 95 % of a figure over samples of the cases with replacement (bootstrap)."""
    rng = random.Random(0)
    values = [figure(rng.choices(range(count), k=count)) for _ in range(rounds)]
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)


def best_threshold(scores: Sequence[float], figure: Callable[[float], float]) -> float:
    """The threshold with the best figure on these very scores."""
    ordered = sorted(set(scores))
    between = [0.5 * (a + b) for a, b in pairwise(ordered)]
    return max([ordered[0] - 1.0, *between, ordered[-1] + 1.0], key=figure)
