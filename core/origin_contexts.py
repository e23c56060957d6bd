"""Prompts with parts taken away, on ids, and what their scores are for words."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from logitscope.origin_types import OriginCase, OriginModel, Range
from logitscope.surprisal import TokenNumbers

Sums = NDArray[np.float64]
"""(W,): log-probability of each word, nats."""


def less(ids: Sequence[int], ranges: Collection[Range]) -> tuple[int, ...]:
    """The ids without those in the ranges."""
    gone = {i for start, stop in ranges for i in range(start, stop)}
    return tuple(token_id for i, token_id in enumerate(ids) if i not in gone)


def with_only(case: OriginCase, spans: Collection[int]) -> tuple[int, ...]:
    """The prompt with no sources but these."""
    return less(case.prompt_ids, [r for i, r in enumerate(case.sources) if i not in spans])


def without(case: OriginCase, spans: Collection[int]) -> tuple[int, ...]:
    """The prompt with all sources but these."""
    return less(case.prompt_ids, [case.sources[i] for i in spans])


def without_sources(case: OriginCase) -> tuple[int, ...]:
    """The prompt of the answer that the model gives without the sources."""
    return less(case.prompt_ids, case.sources)


def word_sums(numbers: TokenNumbers, words: Sequence[Range]) -> Sums:
    """Log-probability of every word: the sum over its tokens."""
    values = numbers.log_probability
    return np.array([values[start:stop].sum(dtype=np.float64) for start, stop in words])


class WordScores:
    """Words of one continuation behind many contexts, each context scored once.

    All contexts of one call go to the model together, so that what is compared was computed the
    same way: llama.cpp's numbers differ by up to 0.17 nat between ways (docs/origin.md).
    """

    def __init__(
        self, model: OriginModel, continuation: Sequence[int], words: Sequence[Range]
    ) -> None:
        self._model = model
        self._continuation = continuation
        self._words = words

    def of(self, contexts: Sequence[tuple[int, ...]]) -> list[Sums]:
        """One (W,) for every context."""
        unique = list(dict.fromkeys(contexts))
        scored = self._model.score_variants(unique, self._continuation)
        sums = dict(zip(unique, (word_sums(n, self._words) for n in scored), strict=True))
        return [sums[context] for context in contexts]

    def of_cuts(self, context: Sequence[int], cuts: Sequence[Range]) -> list[Sums]:
        """One (W,) for each range cut out of the context, approximately."""
        scored = self._model.score_cuts(context, [[cut] for cut in cuts], self._continuation)
        return [word_sums(numbers, self._words) for numbers in scored]
