"""Numbers of scored tokens, from rows or, where the backend can do without, straight from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from typing import cast

import numpy as np
from numpy.typing import NDArray

from logitscope.backends.base import Backend, Watch, WithNumbers
from logitscope.ranking import NoDistribution
from logitscope.surprisal import TokenNumbers, token_numbers

Rows = NDArray[np.float32]


def scored_numbers(
    backend: Backend,
    ids: Sequence[int],
    start: int,
    stop: int,
    watch: Watch,
    *,
    workers: Executor | None = None,
) -> Iterator[TokenNumbers]:
    """Numbers of ``ids[start:stop]`` in order, in chunks; they end before the first token whose row
    is no distribution. ``workers``: see ``token_numbers``. Raises what ``Backend.score`` raises."""
    if backend.info.capabilities.numbers:
        return cast(WithNumbers, backend).score_numbers(ids, start, stop, watch)
    return numbers_of(backend.score(ids, start, stop, watch), ids[start:stop], workers)


def numbers_of(
    chunks: Iterable[Rows], targets: Sequence[int], workers: Executor | None = None
) -> Iterator[TokenNumbers]:
    """Numbers of all targets, in the chunks in which their rows come, (n, V) each; they end before
    the first row that is no distribution."""
    done = 0
    for rows in chunks:
        here = np.array(targets[done : done + len(rows)])
        try:
            numbers = token_numbers(rows, here, workers=workers)
        except NoDistribution:
            if sound := _sound_rows(rows):
                yield token_numbers(rows[:sound], here[:sound], workers=workers)
            return
        yield numbers
        done += len(rows)


def _sound_rows(rows: Rows) -> int:
    """How many rows from the first on are logits, where one is not: their largest entry is a
    number."""
    return int(np.isfinite(rows.max(axis=1)).argmin())
