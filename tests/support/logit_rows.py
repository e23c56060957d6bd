"""Rows of logits for property tests: random, tied, with -inf, huge, and of one entry."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

ORDINARY = st.floats(-20, 20, width=32)
"""The range of a language model's logits."""
TIED = st.sampled_from([-3.0, -0.0, 0.0, 0.5, 4.0])


def rows(
    *, most: int = 60, largest: float = 2.0**127, impossible: bool = True
) -> st.SearchStrategy[np.ndarray]:
    """float32 rows of 1 to ``most`` entries up to ``largest``, at least one of them finite."""
    kinds = [ORDINARY, TIED, st.one_of(TIED, ORDINARY)]
    if largest > 20:
        huge = st.floats(-largest, largest, width=32)
        kinds += [huge, st.one_of(huge, ORDINARY, TIED)]
    if impossible:
        kinds += [st.one_of(kind, st.just(-np.inf)) for kind in kinds]
    sizes = st.integers(1, most)
    arrays = st.one_of([hnp.arrays(np.float32, sizes, elements=kind) for kind in kinds])
    return arrays.filter(lambda row: bool(np.isfinite(row).any()))
