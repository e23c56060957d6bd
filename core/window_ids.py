"""Which window of a long text scores a position, and what the model reads in it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from logitscope.surprisal import Window


def window_of(position: int, n: int, size: int, stride: int) -> Window:
    """The window of ``surprisal.windows(n, size, stride)`` that scores a position."""
    if position < size:
        return Window(0, min(size, n), 0)
    begin = (1 + (position - size) // stride) * stride
    return Window(begin, min(begin + size, n), begin - stride + size)


def window_ids(
    ids: Sequence[int] | NDArray[np.integer], begin: int, end: int, bos: int | None
) -> tuple[int, ...]:
    """``ids[begin:end]``, with BOS in place of the first where the whole text begins with BOS.

    A model that was trained with BOS in front gives much worse numbers without it; llama.cpp's
    ``llama-perplexity`` replaces the first token of each window in the same way. That token is
    never one that the window scores.
    """
    part = tuple(int(token_id) for token_id in ids[begin:end])
    if begin > 0 and part and bos is not None and ids[0] == bos:
        return (bos, *part[1:])
    return part
