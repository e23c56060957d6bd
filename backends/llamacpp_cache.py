"""The KV cache of one llama.cpp context: which ids lie in it, and how more get in.

The cache holds up to three sequences that share their common cells. Looking at an earlier position
or trying another branch forks: the common cells get a second owner, which copies nothing, and what
lies behind them stays for going back.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from logitscope.backends.base import Watch
from logitscope.backends.llamacpp_decode import DECODED, NO_SLOT, Decoder, refuse
from logitscope.backends.llamacpp_lib import library

Ids = NDArray[np.int32]

SEQUENCES = 3
"""The text, a branch of it, and a look at an earlier position of either."""
WORTH_KEEPING = 16
"""Tokens: less is evaluated again as quickly as a fork is made."""
FORGOTTEN_AFTER = 256
"""Passes: what nobody went back to for so long only costs attention over its cells."""


@dataclass(slots=True, eq=False)
class Sequence:
    """One llama.cpp sequence; ``ids[:length]`` are the tokens whose keys and values it holds."""

    number: int
    ids: Ids
    length: int = 0
    used: int = 0
    """The pass that used it last."""

    def shared(self, ids: Ids, limit: int) -> int:
        """Length of the common prefix with ``ids``, at most ``limit``."""
        n = min(self.length, limit)
        if n == 0:
            return 0
        differs = self.ids[:n] != ids[:n]
        first = int(differs.argmax())
        return first if differs[first] else n


@dataclass(slots=True, eq=False)
class Batch:
    """A ``llama_batch`` over numpy arrays: made once, refilled by slices."""

    size: int
    token: Ids = field(init=False)
    position: Ids = field(init=False)
    sequence: Ids = field(init=False)
    output: NDArray[np.int8] = field(init=False)
    owners: Ids = field(init=False)
    """How many sequences each token belongs to."""
    owner: NDArray[np.uintp] = field(init=False)
    """Address of the first of them; without a change, that of the token's entry in ``sequence``."""
    struct: Any = field(init=False)

    def __post_init__(self) -> None:
        self.token, self.position, self.sequence = (
            np.zeros(self.size, dtype=np.int32) for _ in range(3)
        )
        self.output = np.zeros(self.size, dtype=np.int8)
        self.owners = np.ones(self.size, dtype=np.int32)
        first = self.sequence.ctypes.data
        self.owner = np.arange(first, first + 4 * self.size, 4, dtype=np.uintp)
        self.struct = library().llama_batch()
        for name, array in (
            ("token", self.token),
            ("pos", self.position),
            ("n_seq_id", self.owners),
            ("logits", self.output),
        ):
            kind = ctypes.POINTER(ctypes.c_int8 if name == "logits" else ctypes.c_int32)
            setattr(self.struct, name, array.ctypes.data_as(kind))
        lists = ctypes.POINTER(ctypes.POINTER(ctypes.c_int32))
        self.struct.seq_id = self.owner.ctypes.data_as(lists)

    def fill(self, ids: Ids, first_position: int, sequence: int, outputs: int) -> None:
        """Put tokens in; the last ``outputs`` of them give rows of logits."""
        n = self.struct.n_tokens = len(ids)
        if n == 1:
            self.token[0], self.position[0] = ids[0], first_position
            self.sequence[0], self.output[0] = sequence, outputs
            return
        self.token[:n] = ids
        self.position[:n] = np.arange(first_position, first_position + n, dtype=np.int32)
        self.sequence[:n] = sequence
        self.output[:n] = 0
        self.output[n - outputs : n] = 1


class KvCache:
    """Decides what is kept, and decodes. One per context; not thread-safe."""

    def __init__(
        self, context: Any, *, capacity: int, batch: int, sequences: int, threads: int
    ) -> None:
        """``capacity`` tokens at most in one sequence; ``batch`` tokens at most a decode."""
        self._lib = library()
        self._decoder = Decoder(context, threads)
        self._memory = self._lib.llama_get_memory(context)
        self._sequences = [
            Sequence(number, np.zeros(capacity, dtype=np.int32)) for number in range(sequences)
        ]
        self._batch = Batch(batch)
        self._passes = 0

    def seat(self, ids: Ids, limit: int) -> Sequence:
        """A sequence that holds the longest cached prefix of ``ids[:limit]`` and nothing else."""
        self._passes += 1
        best, shared = self._closest(ids, limit)
        best.used = self._passes
        if best.length > shared:
            lost = best.length - max(shared, self._held_elsewhere(best))
            if lost >= WORTH_KEEPING and (shared >= WORTH_KEEPING or shared == limit):
                best = self._fork(best, shared) or best
                best.used = self._passes
            if best.length > shared:
                self._cut(best, shared)
        self._forget(best)
        return best

    def extend(self, sequence: Sequence, ids: Ids, outputs: int, watch: Watch) -> None:
        """Decode one batch of ``ids`` behind the sequence; the last ``outputs`` give rows.

        Raises Cancelled or BackendError, after either of which the cache is as before.
        """
        watch.check()
        self._batch.fill(ids, sequence.length, sequence.number, outputs)
        status = self._decoder.decode(self._batch.struct, watch)
        while status == NO_SLOT and self._make_room(sequence):
            status = self._decoder.decode(self._batch.struct, watch)
        if status != DECODED:
            self._undo(sequence, status, watch)
        end = sequence.length + len(ids)
        sequence.ids[sequence.length : end] = ids
        sequence.length = end

    def prefill(self, sequence: Sequence, ids: Ids, outputs: int, watch: Watch) -> None:
        """Decode ``ids`` from where the sequence ends, reporting after each batch.

        The batches have a fixed size: rows of a quantized model depend on it by up to a logit, so
        that a size which follows the machine's speed gave other numbers on a busy machine.
        """
        first, total = sequence.length, len(ids) - sequence.length
        while sequence.length < len(ids):
            end = min(sequence.length + self._batch.size, len(ids))
            self.extend(
                sequence, ids[sequence.length : end], outputs if end == len(ids) else 0, watch
            )
            if total > 1:
                watch.report(sequence.length - first, total)

    def settle(self, active: Sequence) -> None:
        """Drop every sequence that ``active`` contains."""
        for other in self._sequences:
            n = other.length
            if other is not active and 0 < n <= active.length and other.shared(active.ids, n) == n:
                self._cut(other, 0)

    def clear(self) -> None:
        """Hold nothing, and begin at the first cell again: rows depend a little on where their keys
        lie."""
        self._lib.llama_memory_clear(self._memory, False)
        for sequence in self._sequences:
            sequence.length = 0

    def _closest(self, ids: Ids, limit: int) -> tuple[Sequence, int]:
        """The sequence with the longest common prefix; of equals, the one that loses least."""
        found = [(sequence.shared(ids, limit), sequence) for sequence in self._sequences]
        shared, best = max(found, key=lambda pair: (pair[0], pair[0] - pair[1].length))
        return best, shared

    def _held_elsewhere(self, sequence: Sequence) -> int:
        """How many of its first tokens another sequence holds, too."""
        others = (s for s in self._sequences if s is not sequence)
        return max((s.shared(sequence.ids, sequence.length) for s in others), default=0)

    def _fork(self, source: Sequence, shared: int) -> Sequence | None:
        """A second sequence over the first cells of ``source``; None where there can be only one.

        It takes the place of one that holds little by itself, or was not used for longest.
        """
        others = [s for s in self._sequences if s is not source]
        if not others:
            return None
        own = {s.number: s.length - self._held_elsewhere(s) for s in others}
        target = min(others, key=lambda s: (own[s.number] >= WORTH_KEEPING, s.used))
        self._cut(target, 0)
        if shared:
            self._lib.llama_memory_seq_cp(self._memory, source.number, target.number, 0, shared)
        target.ids[:shared] = source.ids[:shared]
        target.length = shared
        return target

    def _cut(self, sequence: Sequence, length: int) -> None:
        """Shorten; to nothing where the model's memory cannot be cut in the middle."""
        remove = self._lib.llama_memory_seq_rm
        if length == 0 or not remove(self._memory, sequence.number, length, -1):
            remove(self._memory, sequence.number, -1, -1)
            length = 0
        sequence.length = length

    def _forget(self, active: Sequence) -> None:
        for other in self._sequences:
            if other.length and other.used < self._passes - FORGOTTEN_AFTER and other is not active:
                self._cut(other, 0)

    def _make_room(self, active: Sequence) -> bool:
        """Drop the sequence that was not used for longest; False if there is none to drop."""
        others = [s for s in self._sequences if s is not active and s.length]
        if not others:
            return False
        self._cut(min(others, key=lambda s: s.used), 0)
        return True

    def _undo(self, sequence: Sequence, status: int, watch: Watch) -> None:
        """Take out what a failed decode may have written, and raise."""
        self._cut(sequence, sequence.length)
        refuse(status, watch)
