"""What a backend without anything to share between calls does with what it is asked.

The fake and the bigram model: they check ids, and score many contexts one after the other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from logitscope.backends.base import (
    UNWATCHED,
    Backend,
    ContextOverflow,
    ModelInfo,
    VariantRows,
    Watch,
)
from logitscope.backends.plain_variants import Range, score_each, score_each_cut


class PlainBackend(Backend, ABC):
    """Needs ``info`` and rows; see ``base.Backend`` for what each method promises."""

    @property
    @abstractmethod
    def info(self) -> ModelInfo: ...

    @abstractmethod
    def _score(
        self, ids: Sequence[int], start: int, stop: int, watch: Watch
    ) -> Iterator[NDArray[np.float32]]:
        """The rows of ``score``, whose arguments are checked."""

    def forget(self) -> None:
        """There is no cache."""

    def score(
        self, ids: Sequence[int], start: int, stop: int, watch: Watch = UNWATCHED
    ) -> Iterator[NDArray[np.float32]]:
        """See ``base.Backend``."""
        if not 1 <= start <= stop <= len(ids) + 1:
            raise ValueError(f"cannot score {start} to {stop} of {len(ids)} ids")
        self._check_ids(ids, max(1, stop - 1))
        return self._score(ids, start, stop, watch)

    def score_variants(
        self,
        contexts: Sequence[Sequence[int]],
        continuation: Sequence[int],
        watch: Watch = UNWATCHED,
    ) -> Iterator[VariantRows]:
        """See ``base.Backend``."""
        return score_each(self, contexts, continuation, watch)

    def score_cuts(
        self,
        context: Sequence[int],
        cuts: Sequence[Sequence[Range]],
        continuation: Sequence[int],
        watch: Watch = UNWATCHED,
    ) -> Iterator[VariantRows]:
        """See ``base.Backend``."""
        return score_each_cut(self, context, cuts, continuation, watch)

    def _check_ids(self, ids: Sequence[int], needed: int) -> None:
        """Raise what ``next_logits`` raises for ids of which ``needed`` are to be read."""
        info = self.info
        if not ids:
            raise ValueError("no ids")
        if needed > info.context_length:
            raise ContextOverflow(
                f"The text has {needed} tokens and the context holds {info.context_length}; "
                "shorten the text or load with a larger context."
            )
        if not (min(ids) >= 0 and max(ids) < info.n_vocab):
            raise ValueError(f"an id is outside the vocabulary of {info.n_vocab} tokens")
