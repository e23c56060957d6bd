"""Many variants of a text on PyTorch, in a cached sequence beside the live one.

Exact variants go one after the other in sorted order, so that each costs only what it does not
share with the one before. Cuts go together: the cache of the whole context stands in every row of
a batch, and a mask hides what is cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np

from logitscope.backends.base import (
    UNWATCHED,
    BackendError,
    NotEnoughMemory,
    VariantRows,
    Watch,
)
from logitscope.backends.branch_plan import Branch, Range, cut_branches, exact_branches
from logitscope.backends.hf_load import is_out_of_memory
from logitscope.backends.hf_sequence import CachedSequence

CACHE_BYTES = 128 << 20
"""Most that the copies of a cache take that the cuts of one batch need (but at least one)."""


class Variants:
    """Runs variants; each call has a sequence of its own, freed behind it."""

    def __init__(
        self,
        torch: Any,
        model: Any,
        n_vocab: int,
        rows_bytes: int,
        passed: Callable[[], None],
    ) -> None:
        """``passed`` is called when something has gone through the model."""
        self._torch = torch
        self._model = model
        self._most_rows = max(1, rows_bytes // (4 * n_vocab))
        self._passed = passed
        self._open: list[CachedSequence] = []

    def close(self) -> None:
        """Free the sequences of unfinished calls, which are then refused."""
        self._model = None
        for sequence in self._open:
            sequence.close()
        self._open = []

    def exact(
        self, contexts: Sequence[Sequence[int]], continuation: Sequence[int], watch: Watch
    ) -> Iterator[VariantRows]:
        """Rows of each variant."""
        branches = exact_branches(contexts, continuation)
        total = sum(len(branch.ids) - branch.shared for branch in branches)
        done, quiet = 0, replace(watch, report=UNWATCHED.report)
        with self._sequence() as sequence:
            for branch in branches:
                for start in range(0, len(continuation), self._most_rows):
                    stop = min(start + self._most_rows, len(continuation))
                    ids = branch.ids[: branch.first + stop].tolist()
                    with memory_checked(self._torch, len(ids)):
                        rows = sequence.rows(ids, stop - start, quiet)
                    self._passed()
                    watch.report(done + len(ids) - branch.shared, total)
                    for variant in branch.variants:
                        yield VariantRows(variant, start, rows)
                        self._require_open()
                done += len(branch.ids) - branch.shared

    def cut(
        self,
        context: Sequence[int],
        cuts: Sequence[Sequence[Range]],
        continuation: Sequence[int],
        watch: Watch,
    ) -> Iterator[VariantRows]:
        """Rows behind the context less each cut."""
        branches = cut_branches(context, cuts, continuation)
        length = max(1, *(branch.shared for branch in branches))
        total = length + len(branches) * len(continuation)
        done = length
        with self._sequence() as sequence:
            with memory_checked(self._torch, length):
                quiet = replace(watch, report=UNWATCHED.report)
                sequence.rows(context[:length], 1, quiet)
            self._passed()
            watch.report(done, total)
            for batch in self._batches(branches, sequence.bytes_per_token * len(context)):
                for rows in self._together(sequence, batch, watch):
                    yield rows
                    self._require_open()
                done += len(batch) * len(continuation)
                watch.report(done, total)

    def _batches(self, branches: Sequence[Branch], cache_bytes: float) -> Iterator[list[Branch]]:
        """Branches that take over as many tokens each, as many as a batch may hold."""
        tokens = len(branches[0].ids) - branches[0].shared
        by_cache = int(CACHE_BYTES / max(cache_bytes, 1.0))
        count = max(1, min(self._most_rows // tokens, by_cache))
        in_order = sorted(branches, key=lambda branch: branch.shared)
        for _, group in groupby(in_order, key=lambda branch: branch.shared):
            alike = list(group)
            yield from (alike[at : at + count] for at in range(0, len(alike), count))

    def _together(
        self, sequence: CachedSequence, batch: Sequence[Branch], watch: Watch
    ) -> Iterator[VariantRows]:
        shared = batch[0].shared
        cache = sequence.expanded(shared, len(batch))
        ids = np.stack([branch.ids for branch in batch]).astype(np.int64)
        mask = np.ones(ids.shape, dtype=np.int64)
        for line, branch in zip(mask, batch, strict=True):
            for start, stop in branch.removed:
                line[start:stop] = 0
        step = max(1, self._most_rows // len(batch))
        for begin in range(shared, ids.shape[1], step):
            end = min(begin + step, ids.shape[1])
            with memory_checked(self._torch, len(batch) * end):
                found = sequence.feed_beside(cache, ids[:, begin:end], mask[:, :end], watch)
            self._passed()
            for branch, rows in zip(batch, found, strict=True):
                yield VariantRows(branch.variants[0], begin - shared, rows)

    @contextmanager
    def _sequence(self) -> Iterator[CachedSequence]:
        self._require_open()
        sequence = CachedSequence(self._torch, self._model)
        self._open.append(sequence)
        try:
            yield sequence
        finally:
            sequence.close()
            if sequence in self._open:
                self._open.remove(sequence)

    def _require_open(self) -> None:
        if self._model is None:
            raise BackendError("The model is closed: load it again.")


@contextmanager
def memory_checked(torch: Any, tokens: int) -> Iterator[None]:
    """Raise NotEnoughMemory for what PyTorch says where a pass over ``tokens`` does not fit."""
    try:
        yield
    except Exception as error:
        if not is_out_of_memory(torch, error):
            raise
        raise NotEnoughMemory(
            f"The memory did not suffice for {tokens} tokens: shorten the text or close other "
            "programs.",
            str(error),
        ) from error
