"""Numbers of scored tokens of a transformers model on the CPU, without whole rows of logits.

Whole rows of 262,144 entries are bound by memory: 63 of them fill what a pass may take, matrix
products are a third slower for so few, and the numbers wait for rows that have left the cache. So
the body of the model is run for more tokens, and each thread multiplies slices of the head with
their states and takes the numbers of a slice while it is in its cache.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from logitscope.backends.base import Watch
from logitscope.backends.hf_unembedding import OutputHead
from logitscope.backends.pinning import PINNING
from logitscope.slice_numbers import SliceReader, Targets, combined
from logitscope.surprisal import TokenNumbers

LEAST_VOCABULARY = 1 << 15
"""With fewer entries, some hundred whole rows fit the cache as they are."""

SLICE = 1024
"""Entries of the vocabulary at a time: 2 MB of logits for the most tokens."""

LEAST_TOKENS, MOST_TOKENS = 64, 512
"""Of a pass. A matrix product first rearranges the head's entries, which pays the more the more
tokens they are multiplied with: 512 take a tenth less time each than 128."""

PASS_SECONDS = 1.0
"""As long as a pass takes, nothing new is to be seen."""


class HeadNumbers:
    """The output head's slices and the threads that share them."""

    def __init__(self, torch: Any, head: OutputHead, n_vocab: int) -> None:
        self._torch = torch
        self._head = head
        self._n_vocab = n_vocab
        self.tokens = LEAST_TOKENS
        """How many a pass should have, by the time that the last one took."""
        self._threads: int = torch.get_num_threads()
        self._workers = ThreadPoolExecutor(self._threads, "slices", initializer=self._begin)

    @property
    def is_possible(self) -> bool:
        """Whether the numbers can be had so, and sooner."""
        return self._head.is_exact and self._n_vocab >= LEAST_VOCABULARY

    def took(self, tokens: int, seconds: float) -> None:
        """A pass over so many tokens took so long."""
        fitting = int(tokens * PASS_SECONDS / max(seconds, 1e-9))
        self.tokens = min(MOST_TOKENS, max(LEAST_TOKENS, fitting))

    def of(self, states: Any, ids: Sequence[int], watch: Watch) -> TokenNumbers:
        """Numbers of ``ids[i]`` behind ``states[i]``, tensor (n, K), up to the first that has none.

        Raises Cancelled, ``slice_numbers.TooManyTies``."""
        array = np.array(ids, dtype=np.int64)
        with self._torch.inference_mode():
            targets = Targets(array, *self._head.bounds(states, array))
        pending = deque(range(0, self._n_vocab, SLICE))

        def read(_worker: int) -> SliceReader:
            reader = SliceReader(targets, exponential=self._exponential)
            with self._torch.inference_mode():
                buffer = self._torch.empty(SLICE, len(array))
                while (first := _taken(pending)) is not None:
                    watch.check()
                    part = buffer[: self._n_vocab - first]
                    reader.read(first, self._head.logits(states, first, part).numpy())
            return reader

        try:
            readers = list(self._workers.map(read, range(self._threads)))
        finally:
            # Where one has failed, the others need not go on.
            pending.clear()
            # A thread that sets its own number of threads sets that of threads to come, too.
            self._torch.set_num_threads(self._threads)
        return combined([reader for reader in readers if reader.slices])

    def _begin(self) -> None:
        """Of each worker: it is by itself, on any core."""
        PINNING.unpin()
        self._torch.set_num_threads(1)

    def _exponential(self, values: NDArray[np.float32], result: NDArray[np.float32]) -> None:
        """PyTorch's takes two thirds of the time of NumPy's where there is no AVX-512."""
        source, target = (self._torch.from_numpy(array) for array in (values, result))
        self._torch.exp(source, out=target)

    def close(self) -> None:
        """End the threads; twice is harmless."""
        self._workers.shutdown()


def _taken(pending: deque[int]) -> int | None:
    """The next entry, or None: another thread may take the last one at any time."""
    try:
        return pending.popleft()
    except IndexError:
        return None
