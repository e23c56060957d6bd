"""Many variants of a text in a second llama.cpp context on the same weights.

The first context, with the text the person works on, is left alone, so that it can be asked at any
time between two batches. A context is made when it is needed, with cells for the longest variant
and one batch, and is kept only while it is small.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from logitscope.backends.base import BackendError, VariantRows, Watch
from logitscope.backends.branch_plan import (
    Branch,
    Ids,
    Piece,
    Range,
    batches,
    common_prefix,
    cut_branches,
    exact_branches,
    owner_counts,
)
from logitscope.backends.llamacpp_cache import Batch
from logitscope.backends.llamacpp_decode import DECODED, Decoder, refuse
from logitscope.backends.llamacpp_lib import library
from logitscope.backends.llamacpp_load import Native, open_context
from logitscope.backends.llamacpp_plan import CELLS, Plan

MOST_BRANCHES = 62
"""Branches in one batch. Each of the context's sequences must be able to have its row at once, so
that more of them would take more memory: 1 MB each for 262,144 logits."""
ROWS_BYTES = 32 << 20
"""Most that the logits of one decode may take here; they exist three times, as in the plan."""
KEPT_BYTES = 64 << 20
"""A context whose cache is larger is freed when its call ends."""


class Branches:
    """Makes, keeps and frees the contexts for variants of one loaded model."""

    def __init__(self, path: Path, plan: Plan, native: Native, n_vocab: int) -> None:
        self._path = path
        self._native = native
        self._n_vocab = n_vocab
        rows = max(1, min(plan.rows, ROWS_BYTES // (4 * n_vocab)))
        self._plan = replace(plan, rows=rows)
        self._idle: BranchContext | None = None
        self._open: list[BranchContext] = []
        self.is_closed = False

    def have_room(self, longest: int) -> bool:
        """Whether a context for so long a variant can be made: as far as is known for a GPU."""
        if self._idle is not None and self._idle.cells >= self._cells(longest):
            return True
        if self._plan.gpu_layers:
            return True
        needed = self._cells(longest) * self._plan.kv_bytes_per_token
        needed += 3 * self._plan.rows * 4 * self._n_vocab
        return bool(needed <= psutil.virtual_memory().available)

    def exact(
        self, contexts: Sequence[Sequence[int]], continuation: Sequence[int], watch: Watch
    ) -> Iterator[VariantRows]:
        """Rows of each variant; what is common to variants is evaluated once."""
        branches = exact_branches(contexts, continuation)
        total = sum(len(branch.ids) - branch.shared for branch in branches)
        with self._lent(max(len(branch.ids) for branch in branches)) as context:
            context.forget_base()
            yield from context.run(branches, watch, 0, total)

    def cut(
        self,
        context: Sequence[int],
        cuts: Sequence[Sequence[Range]],
        continuation: Sequence[int],
        watch: Watch,
    ) -> Iterator[VariantRows]:
        """Rows behind the context less each cut, out of one reading of the whole context."""
        branches = cut_branches(context, cuts, continuation)
        length = max(1, *(branch.shared for branch in branches))
        whole = np.array(context[:length], dtype=np.int32)
        with self._lent(len(context) + len(continuation)) as lent:
            known = lent.common_base(whole)
            total = len(whole) - known + sum(len(b.ids) - b.shared for b in branches)
            lent.read_base(whole, watch, total)
            yield from lent.run(branches, watch, len(whole) - known, total)

    def close(self) -> None:
        """Free all contexts, also those of calls that were never finished."""
        self.is_closed = True
        for context in self._open:
            context.free()
        self._open, self._idle = [], None

    def _cells(self, longest: int) -> int:
        return -(-(longest + self._plan.batch) // CELLS) * CELLS

    @contextmanager
    def _lent(self, longest: int) -> Iterator[BranchContext]:
        """A context that nobody else uses, with cells for so long a variant and a batch."""
        context, self._idle = self._idle, None
        if context is not None and context.cells < self._cells(longest):
            self._free(context)
            context = None
        if context is None:
            context = self._made(self._cells(longest))
        try:
            yield context
        finally:
            self._take_back(context)

    def _made(self, cells: int) -> BranchContext:
        if self.is_closed:
            raise BackendError(f"{self._path.name} is closed: load it again.")
        most = max(1, min(MOST_BRANCHES, self._plan.rows - 2))
        plan = replace(self._plan, context=cells)
        native = self._native
        context = open_context(self._path, native.model, plan, native.cache_type, most + 2)
        made = BranchContext(context, plan, most, self._n_vocab, self._path.name)
        self._open.append(made)
        return made

    def _take_back(self, context: BranchContext) -> None:
        small = context.cells * self._plan.kv_bytes_per_token <= KEPT_BYTES
        if small and self._idle is None and not self.is_closed:
            self._idle = context
        else:
            self._free(context)

    def _free(self, context: BranchContext) -> None:
        if context in self._open:
            self._open.remove(context)
            context.free()


class BranchContext:
    """One context and its sequences: a ring of branches, and the base that cuts are made from."""

    def __init__(self, context: Any, plan: Plan, most: int, n_vocab: int, name: str) -> None:
        self._lib = library()
        self._context = context
        self._memory = self._lib.llama_get_memory(context)
        self._decoder = Decoder(context)
        self._batch = Batch(plan.batch)
        self._most = most
        self._ring = most + 1
        """Length of the ring: a batch's branches and the one before it. Number of the base."""
        # Twice round, so that neighbours in the ring are neighbours here; then the base.
        ring = np.arange(2 * self._ring, dtype=np.int32) % self._ring
        self._numbers = np.append(ring, np.int32(self._ring))
        self._rows = np.empty((plan.rows, n_vocab), dtype=np.float32)
        self._base: Ids = np.zeros(0, dtype=np.int32)
        self._name = name
        self.cells = plan.context

    def free(self) -> None:
        """Free the native context; who still iterates over its rows is refused."""
        self._lib.llama_free(self._context)
        self._context = None

    def forget_base(self) -> None:
        """Give the base's cells back."""
        self._cut(self._ring, 0)
        self._base = self._base[:0]

    def common_base(self, ids: Ids) -> int:
        """How many of ``ids`` the base holds already."""
        return common_prefix(self._base, ids)

    def read_base(self, ids: Ids, watch: Watch, total: int) -> None:
        """Make the base hold exactly ``ids``."""
        known = self.common_base(ids)
        self._clear_ring()
        self._cut(self._ring, known)
        self._base = ids[:known]
        while (at := len(self._base)) < len(ids):
            end = min(at + self._batch.size, len(ids))
            self._batch.fill(ids[at:end], at, self._ring, 0)
            self._own(slice(0, end - at), len(self._numbers) - 1, 1)
            self._decode(watch)
            self._base = ids[:end]
            watch.report(end - known, total)

    def run(
        self, branches: Sequence[Branch], watch: Watch, done: int, total: int
    ) -> Iterator[VariantRows]:
        """Evaluate the branches batch by batch and hand out their rows.

        Without a base each takes over from the one before it. ``done`` of ``total`` tokens are
        evaluated already.
        """
        self._clear_ring()
        before: Piece | None = None
        for batch in batches(branches, self._batch.size, len(self._rows), self._most):
            self._require_open()
            self._seat(branches, batch, before)
            self._fill(branches, batch)
            self._decode(watch)
            self._copy_rows(sum(rows_of(branches[piece.branch], piece) for piece in batch))
            for piece in batch[:-1]:
                self._cut(piece.branch % self._ring, 0)
            before = batch[-1]
            done += sum(piece.end - piece.begin for piece in batch)
            watch.report(done, total)
            yield from self._handed_out(branches, batch)

    def _seat(
        self, branches: Sequence[Branch], batch: Sequence[Piece], before: Piece | None
    ) -> None:
        """Give each branch that begins here the cells it takes over, as far as they are there."""
        held = 0 if before is None else before.end
        for piece in batch:
            branch = branches[piece.branch]
            if piece.begin > branch.shared:
                held = piece.begin
            elif len(self._base):
                self._take_over(self._ring, piece.branch, branch.shared)
                self._remove(piece.branch, branch.removed)
            else:
                held = min(held, branch.shared)
                self._take_over((piece.branch - 1) % self._ring, piece.branch, held)
        if before is not None and before.branch != batch[0].branch:
            self._cut(before.branch % self._ring, 0)

    def _take_over(self, source: int, branch: int, length: int) -> None:
        if length:
            target = branch % self._ring
            self._lib.llama_memory_seq_cp(self._memory, source, target, 0, length)

    def _remove(self, branch: int, ranges: Sequence[Range]) -> None:
        for start, stop in ranges:
            target = branch % self._ring
            if not self._lib.llama_memory_seq_rm(self._memory, target, start, stop):
                raise BackendError(f"The cache of {self._name} cannot be cut: use exact variants.")

    def _fill(self, branches: Sequence[Branch], batch: Sequence[Piece]) -> None:
        at = 0
        counts = None if len(self._base) else owner_counts(branches, batch)
        for piece in batch:
            branch, n = branches[piece.branch], piece.end - piece.begin
            place = slice(at, at + n)
            self._batch.token[place] = branch.ids[piece.begin : piece.end]
            self._batch.position[place] = np.arange(piece.begin, piece.end)
            self._batch.output[place] = np.arange(piece.begin, piece.end) >= branch.first
            self._own(place, piece.branch % self._ring, 1 if counts is None else next(counts))
            at += n
        self._batch.struct.n_tokens = at

    def _own(self, place: slice, number: int, counts: Ids | int) -> None:
        """Say which sequences tokens belong to: as many as ``counts`` from ``number`` on."""
        self._batch.owner[place] = self._numbers.ctypes.data + 4 * number
        self._batch.owners[place] = counts

    def _decode(self, watch: Watch) -> None:
        watch.check()
        status = self._decoder.decode(self._batch.struct, watch)
        if status != DECODED:
            refuse(status, watch)

    def _copy_rows(self, count: int) -> None:
        if count:
            rows = self._rows[:count]
            logits = self._lib.llama_get_logits(self._context)
            ctypes.memmove(rows.ctypes.data, logits, rows.nbytes)

    def _handed_out(
        self, branches: Sequence[Branch], batch: Sequence[Piece]
    ) -> Iterator[VariantRows]:
        at = 0
        for piece in batch:
            branch = branches[piece.branch]
            n = rows_of(branch, piece)
            start = max(piece.begin, branch.first) - branch.first
            for variant in branch.variants if n else ():
                yield VariantRows(variant, start, self._rows[at : at + n])
            at += n

    def _clear_ring(self) -> None:
        self._require_open()
        for sequence in range(self._ring):
            self._cut(sequence, 0)

    def _cut(self, sequence: int, length: int) -> None:
        self._lib.llama_memory_seq_rm(self._memory, sequence, length, -1)

    def _require_open(self) -> None:
        if self._context is None:
            raise BackendError(f"{self._name} is closed: load it again.")


def rows_of(branch: Branch, piece: Piece) -> int:
    """How many rows a piece gives."""
    return max(0, piece.end - max(piece.begin, branch.first))
