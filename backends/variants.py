"""A backend as the origin analysis sees it: numbers of variants, never their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor

import numpy as np
from numpy.typing import NDArray

from logitscope.backends.base import UNWATCHED, Backend, VariantRows, Watch
from logitscope.backends.plain_variants import Range
from logitscope.surprisal import TOP, TokenNumbers, token_numbers
from logitscope.vocabulary import Vocabulary

_BEFORE = "\n"
"""Ends a word for every tokenizer; stands in front of a text where one would add a space to it."""


class VariantModel:
    """``logitscope.origin_types.OriginModel`` over any backend.

    ``between`` is called whenever a chunk of rows has become numbers: it may use the backend for
    anything else, and what it raises ends the call. Cancelled comes from the watch. ``workers``:
    see ``token_numbers``.
    """

    def __init__(
        self,
        backend: Backend,
        watch: Watch = UNWATCHED,
        between: Callable[[], None] = lambda: None,
        workers: Executor | None = None,
    ) -> None:
        self._workers = workers
        self._backend = backend
        self._watch = watch
        self._between = between

    @property
    def vocabulary(self) -> Vocabulary:
        return self._backend.vocabulary

    def tokenize(self, text: str) -> list[int]:
        """See ``OriginModel``. The bytes of the ids are those of the text wherever the vocabulary
        can spell it so."""
        plain = self._backend.tokenize(text, add_special=False, parse_special=False)
        if not text or not self.vocabulary.adds_space:
            return plain
        front, ids = (
            self._backend.tokenize(part, add_special=False, parse_special=False)
            for part in (_BEFORE, _BEFORE + text)
        )
        return ids[len(front) :] if ids[: len(front)] == front else plain

    def next_numbers(
        self, ids: Sequence[int], top: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """See ``OriginModel``."""
        row = self._backend.next_logits(ids, self._watch)
        numbers = token_numbers(row[None], np.zeros(1, dtype=np.int32), top)
        self._between()
        return numbers.top_ids[0], numbers.top_log_probability[0]

    def score_variants(
        self, contexts: Sequence[Sequence[int]], continuation: Sequence[int]
    ) -> list[TokenNumbers]:
        """See ``OriginModel``."""
        chunks = self._backend.score_variants(contexts, continuation, self._watch)
        return self._numbers(chunks, len(contexts), continuation)

    def score_cuts(
        self,
        context: Sequence[int],
        cuts: Sequence[Sequence[Range]],
        continuation: Sequence[int],
    ) -> list[TokenNumbers]:
        """See ``OriginModel``."""
        chunks = self._backend.score_cuts(context, cuts, continuation, self._watch)
        return self._numbers(chunks, len(cuts), continuation)

    def _numbers(
        self, chunks: Iterator[VariantRows], variants: int, continuation: Sequence[int]
    ) -> list[TokenNumbers]:
        targets = np.array(continuation, dtype=np.int32)
        made = [_unknown(len(targets)) for _ in range(variants)]
        for chunk in chunks:
            place = slice(chunk.start, chunk.start + len(chunk.rows))
            numbers = token_numbers(chunk.rows, targets[place], workers=self._workers)
            _put(made[chunk.variant], place, numbers)
            self._between()
        return made


def _unknown(count: int) -> TokenNumbers:
    return TokenNumbers(
        log_probability=np.full(count, np.nan),
        rank=np.zeros(count, dtype=np.int32),
        entropy=np.full(count, np.nan),
        logit=np.full(count, np.nan, dtype=np.float32),
        top_ids=np.full((count, TOP), -1, dtype=np.int32),
        top_log_probability=np.full((count, TOP), -np.inf, dtype=np.float32),
    )


def _put(target: TokenNumbers, place: slice, found: TokenNumbers) -> None:
    target.log_probability[place] = found.log_probability
    target.rank[place] = found.rank
    target.entropy[place] = found.entropy
    target.logit[place] = found.logit
    target.top_ids[place] = found.top_ids
    target.top_log_probability[place] = found.top_log_probability
