"""Need and hold of source spans, one by one or, where there are many, by halving groups.

need = log-probability of a word with all sources, less that without the span; hold = that with the
span alone, less that without any source. Two contexts a span; up to 30 spans are taken one by one.
Above that, neighbouring spans are first taken in at most 16 groups, and only the groups that
matter to a chosen word are divided, again and again, until single spans are left. A span of a group
that was not divided gets its even part of what the group does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from logitscope.origin_contexts import WordScores, with_only, without, without_sources
from logitscope.origin_types import OriginCase, SourceEvidence

MOST_SINGLE = 30
_GROUPS = 16
_LISTED_GROUPS = 3
"""Groups that an estimate takes to matter at every level."""
LEAST_EVIDENCE = 0.5
"""Nats: 95 % of the leave-one-out values of irrelevant sentences lie below 0.47."""
LEAST_PART = 0.25

Group = tuple[int, int]
"""Spans ``start <= i < stop``."""
Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """What an analysis costs at most with up to 30 spans; above that, for three groups that matter
    at every level."""

    passes: int
    """Prompts that are read with the answer behind them."""
    tokens: int
    """Their tokens if nothing were shared between them."""


def listed(evidence: Sequence[float]) -> tuple[int, ...]:
    """Places with at least 0.5 nat and a quarter of the top one, most evidence first."""
    least = max(LEAST_EVIDENCE, LEAST_PART * max(evidence, default=0.0))
    order = sorted(range(len(evidence)), key=lambda i: -evidence[i])
    return tuple(i for i in order if evidence[i] >= least)


def evidence_of(need: Matrix, hold: Matrix, word: int) -> tuple[SourceEvidence, ...]:
    """All spans for one word, from (n, W) matrices."""
    pairs = zip(need[:, word].tolist(), hold[:, word].tolist(), strict=True)
    return tuple(SourceEvidence(i, a, b) for i, (a, b) in enumerate(pairs))


def span_scores(
    scores: WordScores, case: OriginCase, words: int, chosen: Sequence[int]
) -> Iterator[tuple[Matrix, Matrix]]:
    """(need, hold) of shape (n, W), finer and finer; ``chosen`` words decide what is divided."""
    known: dict[Group, tuple[Matrix, Matrix]] = {}
    need, hold = np.zeros((2, len(case.sources), words))
    groups = first_groups(len(case.sources))
    while groups:
        for group, found in zip(groups, _group_scores(scores, case, groups), strict=True):
            known[group] = found
            size = group[1] - group[0]
            need[group[0] : group[1]] = found[0] / size
            hold[group[0] : group[1]] = found[1] / size
        yield need.copy(), hold.copy()
        divided = _divided(known, chosen)
        groups = [half for group in divided for half in _halves(group)]
        for group in divided:
            del known[group]


def first_groups(count: int) -> list[Group]:
    """Single spans, or at most 16 groups of neighbours."""
    size = 1 if count <= MOST_SINGLE else math.ceil(count / _GROUPS)
    return [(i, min(i + size, count)) for i in range(0, count, size)]


def estimate(case: OriginCase) -> Estimate:
    """What ``labels`` and the spans of ``sources`` cost together."""
    count = len(case.sources)
    whole, answer = len(case.prompt_ids), len(case.answer_ids)
    inside = sum(stop - start for start, stop in case.sources)
    frame = whole - inside
    groups = first_groups(count)
    levels = math.ceil(math.log2(max(b - a for a, b in groups))) if groups else 0
    halves = 2 * min(_LISTED_GROUPS, len(groups)) * levels
    tested = len(groups) + halves
    # Leaving one out and keeping one add up to the frame twice and the sources once.
    tokens = tested * (2 * frame + inside + 2 * answer)
    tokens += (2 + levels) * (whole + frame + 2 * answer) + 2 * (whole + answer)
    return Estimate(2 * tested + 2 * (2 + levels) + 2, tokens)


def _group_scores(
    scores: WordScores, case: OriginCase, groups: Sequence[Group]
) -> Iterator[tuple[Matrix, Matrix]]:
    spans = [range(*group) for group in groups]
    found = scores.of(
        [
            case.prompt_ids,
            without_sources(case),
            *(without(case, part) for part in spans),
            *(with_only(case, part) for part in spans),
        ]
    )
    everything, nothing, rest = found[0], found[1], found[2:]
    for left_out, alone in zip(rest[: len(groups)], rest[len(groups) :], strict=True):
        yield everything - left_out, alone - nothing


def _divided(known: dict[Group, tuple[Matrix, Matrix]], chosen: Sequence[int]) -> list[Group]:
    """Groups of several spans that matter to any of the chosen words."""
    groups = list(known)
    evidence = [0.5 * (need + hold) for need, hold in known.values()]
    found = {i for word in chosen for i in listed([float(each[word]) for each in evidence])}
    return [groups[i] for i in sorted(found) if groups[i][1] - groups[i][0] > 1]


def _halves(group: Group) -> tuple[Group, Group]:
    start, stop = group
    middle = (start + stop + 1) // 2
    return (start, middle), (middle, stop)
