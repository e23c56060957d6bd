"""Records of tokens that a person put into the text, past the sampler."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from logitscope.steps import Origin, StepRecord
from logitscope.surprisal import TokenNumbers, token_numbers


def placed_step(logits: NDArray[np.float32], token_id: int, origin: Origin) -> StepRecord:
    """The record of one token put where ``logits``, shape (V,), predicted.

    Raises IndexError for an id outside the row.
    """
    if not 0 <= token_id < len(logits):
        raise IndexError(f"id {token_id} is outside the vocabulary of {len(logits)} tokens")
    numbers = token_numbers(logits[None, :], np.array([token_id]))
    return placed_steps((token_id,), numbers, origin)[0]


def placed_steps(
    ids: tuple[int, ...], numbers: TokenNumbers, origin: Origin
) -> tuple[StepRecord, ...]:
    """The records of n tokens from the numbers of their positions, shapes (n, …)."""
    return tuple(_record(i, token_id, numbers, origin) for i, token_id in enumerate(ids))


def _record(i: int, token_id: int, numbers: TokenNumbers, origin: Origin) -> StepRecord:
    real = numbers.top_ids[i] >= 0
    return StepRecord(
        token_id=token_id,
        origin=origin,
        log_probability=float(numbers.log_probability[i]),
        rank=int(numbers.rank[i]),
        entropy=float(numbers.entropy[i]),
        shaped_probability=None,
        draw=None,
        top_ids=tuple(numbers.top_ids[i][real].tolist()),
        top_log_probabilities=tuple(numbers.top_log_probability[i][real].tolist()),
        seconds=0.0,
    )
