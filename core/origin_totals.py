"""An analysed answer as a whole: totals by label, and words against spans."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from logitscope.origin_types import Condition, Label, OriginReport
from logitscope.units import bits


@dataclass(frozen=True, slots=True)
class OriginTotal:
    """Words of one label."""

    label: Label
    words: int
    bits: float
    """What the words still cost with the sources: the sum of -log2 p."""
    saved_bits: float
    """What the sources took off: the sum of the least gains above zero."""


def totals(report: OriginReport) -> tuple[OriginTotal, ...]:
    """One total for every label that occurs, in the order of ``Label``."""
    made = []
    for label in Label:
        words = [word for word in report.words if word.label is label]
        if not words:
            continue
        known = [word for word in words if Condition.WITH in word.log_probability]
        cost = sum(-word.log_probability[Condition.WITH] for word in known)
        saved = sum(max(0.0, word.deltas[0]) for word in known)
        made.append(OriginTotal(label, len(words), bits(cost), bits(saved)))
    return tuple(made)


def evidence_matrix(report: OriginReport) -> NDArray[np.float64]:
    """Evidence in nats, shape (words, spans); NaN where it is not worked out."""
    matrix = np.full((len(report.words), len(report.case.sources)), np.nan)
    for line, word in zip(matrix, report.words, strict=True):
        for each in word.sources or ():
            line[each.span] = each.evidence
    return matrix
