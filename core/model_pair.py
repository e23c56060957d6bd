"""What two models can be asked together, and how often they agree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from logitscope.vocabulary import Vocabulary


def same_vocabulary(first: Vocabulary, second: Vocabulary) -> bool:
    """Every id has the same bytes in both: rows of one can be set against rows of the other."""
    return (
        len(first) == len(second)
        and np.array_equal(first.offsets, second.offsets)
        and first.blob == second.blob
    )


def top_agreement(first: NDArray[np.integer], second: NDArray[np.integer]) -> tuple[int, int]:
    """Positions at which both have the same likeliest id, and positions known in both.

    The arguments are likeliest ids by position, both (n,); below 0 = unknown.
    """
    known = (first >= 0) & (second >= 0)
    return int((known & (first == second)).sum()), int(known.sum())
