"""Many variants of a text in a second llama.cpp context on the same weights.

The first context, with the text the person works on, is left alone, so that it can be asked at any
time between two batches. A context is made when it is needed, with cells for the longest variant
and some batches, and is kept only while it is small.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from logitscope.backends.base import BackendError, VariantRows, Watch
from logitscope.backends.branch_plan import (
    Branch,
    Ids,
    Limits,
    Piece,
    Range,
    batches,
    common_prefix,
    cut_branches,
    exact_branches,
    groups,
    owner_counts,
    rows_of,
)
from logitscope.backends.llamacpp_cache import Batch
from logitscope.backends.llamacpp_decode import DECODED, Decoder, refuse
from logitscope.backends.llamacpp_lib import library
from logitscope.backends.llamacpp_load import Native, open_context
from logitscope.backends.llamacpp_plan import CELLS, Plan

MOST_BRANCHES = 62
"""Variants that are in the cache together. Each of the context's sequences must be able to have its
row at once, so that more of them would take more memory: 1 MB each for 262,144 logits."""
ROWS_BYTES = 64 << 20
"""Most that the logits of one decode may take here."""
CACHE_BYTES = 64 << 20
"""A cache may take so much however short the variants are; a larger one is freed with its call."""
BATCHES = 4
"""Batches that a cache holds at least beside the longest variant."""
LEAST_BATCH = 16
"""Tokens; below 8, AVX2 code rounds otherwise."""


class Branches:
    """Makes, keeps and frees the contexts for variants of one loaded model."""

    def __init__(self, path: Path, plan: Plan, native: Native, n_vocab: int) -> None:
        self._path = path
        self._native = native
        self._n_vocab = n_vocab
        rows = max(1, min(plan.rows, ROWS_BYTES // (4 * n_vocab)))
        self._plan = replace(plan, rows=rows)
        self._vector = 1 if plan.gpu_layers else vector_length()
        self._idle: BranchContext | None = None
        self._open: list[BranchContext] = []
        self._is_closed = False

    def have_room(self, longest: int) -> bool:
        """Whether a context for so long a variant can be made: as far as is known for a GPU."""
        cells = self._cells(longest)
        if self._plan.gpu_layers or (self._idle is not None and self._idle.cells >= cells):
            return True
        needed = cells * self._plan.kv_bytes_per_token + 3 * self._plan.rows * 4 * self._n_vocab
        return bool(needed <= psutil.virtual_memory().available)

    def exact(
        self, contexts: Sequence[Sequence[int]], continuation: Sequence[int], watch: Watch
    ) -> Iterator[VariantRows]:
        """Rows of each variant; what is common to variants is evaluated once."""
        branches = exact_branches(contexts, continuation, self._vector)
        with self._lent(max(len(branch.ids) for branch in branches)) as context:
            yield from context.exact(branches, watch)

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
        with self._lent(len(context) + len(continuation)) as lent:
            yield from lent.cut(np.array(context[:length], dtype=np.int32), branches, watch)

    def close(self) -> None:
        """Free all contexts, also those of calls that were never finished."""
        self._is_closed = True
        for context in self._open:
            context.free()
        self._open, self._idle = [], None

    def _cells(self, longest: int) -> int:
        """For the longest variant and more, so that a prefix serves many variants."""
        kv = max(self._plan.kv_bytes_per_token, 1.0)
        more = max(BATCHES * self._plan.batch, int(CACHE_BYTES / kv) - longest)
        return -(-(longest + min(more, self._plan.context)) // CELLS) * CELLS

    @contextmanager
    def _lent(self, longest: int) -> Iterator[BranchContext]:
        """A context that nobody else uses, with cells for so long a variant."""
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
        if self._is_closed:
            raise BackendError(f"{self._path.name} is closed: load it again.")
        most = max(1, min(MOST_BRANCHES, self._plan.rows - 2))
        plan, native = replace(self._plan, context=cells), self._native
        context = open_context(self._path, native.model, plan, native.cache_type, most + 2)
        limits = Limits(cells, plan.batch, plan.rows, most, self._vector, LEAST_BATCH)
        decoder = Decoder(context, plan.timed_threads)
        made = BranchContext(context, decoder, limits, self._n_vocab, self._path.name)
        self._open.append(made)
        return made

    def _take_back(self, context: BranchContext) -> None:
        small = context.cells * self._plan.kv_bytes_per_token <= CACHE_BYTES
        if small and self._idle is None and not self._is_closed:
            self._idle = context
        else:
            self._free(context)

    def _free(self, context: BranchContext) -> None:
        if context in self._open:
            self._open.remove(context)
            context.free()


class BranchContext:
    """One context and its sequences: branches, the base that cuts are made from, and filler."""

    def __init__(
        self, context: Any, decoder: Decoder, limits: Limits, n_vocab: int, name: str
    ) -> None:
        self._lib = library()
        self._context = context
        self._memory = self._lib.llama_get_memory(context)
        self._decoder = decoder
        self._limits = limits
        self._batch = Batch(limits.tokens)
        self._rows = np.empty((limits.rows, n_vocab), dtype=np.float32)
        self._base_number, self._filler_number = limits.branches, limits.branches + 1
        self._numbers = np.arange(limits.branches + 2, dtype=np.int32)
        self._base: Ids = np.zeros(0, dtype=np.int32)
        self._fillers = 0
        """Filler tokens in the cache."""
        self._held: list[Ids] = []
        """What the sequences from 0 on hold behind an exact call."""
        self._name = name
        self.cells = limits.cells

    def free(self) -> None:
        """Free the native context; who still iterates over its rows is refused."""
        self._lib.llama_free(self._context)
        self._context = None

    def exact(self, branches: Sequence[Branch], watch: Watch) -> Iterator[VariantRows]:
        """Rows of branches of which each takes over from the one before it.

        The first variant's stays in the cache: often the words of a whole prompt are cut next.
        """
        parts = sorted(groups(branches, self._limits, None), key=_has_first_variant)
        total = sum(len(b.ids) - b.shared for part in parts for b in part)
        done = 0
        for part in parts:
            self._clear(keep_base=False)
            yield from self._run(part, self._limits, watch, done, total)
            done += sum(len(branch.ids) - branch.shared for branch in part)
            self._held = [branch.ids for branch in part]

    def cut(self, base: Ids, branches: Sequence[Branch], watch: Watch) -> Iterator[VariantRows]:
        """Rows of branches that all take over from the same tokens."""
        # An approximation gains nothing from equal rounding, and short pieces would be mostly
        # filler. Branches whose rows fill a batch stay in the cache no longer than that: attention
        # goes over all cells in use.
        rows = max(len(branch.ids) - branch.first for branch in branches)
        together = max(1, min(self._limits.branches, self._limits.rows // rows))
        limits = replace(self._limits, vector=1, branches=together)
        self._adopt_held(base)
        self._clear(keep_base=True)
        done = -common_prefix(self._base, base)
        total = done + len(base) + sum(len(b.ids) - b.shared for b in branches)
        self._read_base(base, watch, done, total)
        done += len(base)
        for part in groups(branches, limits, len(base)):
            self._clear(keep_base=True)
            yield from self._run(part, limits, watch, done, total)
            done += sum(len(branch.ids) - branch.shared for branch in part)

    def _adopt_held(self, ids: Ids) -> None:
        """Take the base from a sequence of the exact call before, where that holds more of it."""
        common = [common_prefix(held, ids) for held in self._held]
        best = max(common, default=0)
        if best > common_prefix(self._base, ids):
            self._lib.llama_memory_seq_rm(self._memory, self._base_number, -1, -1)
            self._take_over(common.index(best), self._base_number, best)
            self._base = ids[:best]

    def _read_base(self, ids: Ids, watch: Watch, before: int, total: int) -> None:
        """Make the base hold exactly ``ids``."""
        known = common_prefix(self._base, ids)
        self._lib.llama_memory_seq_rm(self._memory, self._base_number, known, -1)
        self._base = ids[:known]
        while (at := len(self._base)) < len(ids):
            end = min(at + self._limits.tokens, len(ids))
            self._put(0, ids[at:end], at, self._base_number)
            self._decode(end - at, watch)
            self._base = ids[:end]
            watch.report(before + end, total)

    def _run(
        self, group: Sequence[Branch], limits: Limits, watch: Watch, done: int, total: int
    ) -> Iterator[VariantRows]:
        """Evaluate branches that fit into the cache together, batch by batch."""
        held = 0
        for batch in batches(group, limits, len(self._base)):
            self._require_open()
            self._seat(group, batch, held)
            self._decode(self._fill(group, batch), watch)
            self._copy_rows(sum(rows_of(group[piece.branch], piece) for piece in batch))
            held = batch[-1].end
            done += sum(piece.end - piece.begin for piece in batch)
            watch.report(done, total)
            yield from self._handed_out(group, batch)

    def _seat(self, group: Sequence[Branch], batch: Sequence[Piece], held: int) -> None:
        """Give each branch that begins here the cells it takes over, as far as they are there.

        ``held``: tokens of the branch that the batch before ended with.
        """
        for piece in batch:
            branch = group[piece.branch]
            if piece.begin > branch.shared:
                held = piece.begin
            elif len(self._base):
                self._take_over(self._base_number, piece.branch, branch.shared)
                self._remove(piece.branch, branch.removed)
            else:
                held = min(held, branch.shared)
                self._take_over(piece.branch - 1, piece.branch, held)

    def _take_over(self, source: int, target: int, length: int) -> None:
        if length:
            self._lib.llama_memory_seq_cp(self._memory, source, target, 0, length)

    def _remove(self, sequence: int, ranges: Sequence[Range]) -> None:
        for start, stop in ranges:
            if not self._lib.llama_memory_seq_rm(self._memory, sequence, start, stop):
                raise BackendError(f"{self._name} keeps a memory that cannot be cut.")

    def _fill(self, group: Sequence[Branch], batch: Sequence[Piece]) -> int:
        """Put the pieces into the batch; returns how many tokens that makes."""
        at = 0
        counts = None if len(self._base) else owner_counts(group, batch)
        for piece in batch:
            branch = group[piece.branch]
            if piece.filler:
                ids = np.repeat(branch.ids[:1], piece.filler)
                self._put(at, ids, self._fillers, self._filler_number)
                self._fillers += piece.filler
                at += piece.filler
            n = piece.end - piece.begin
            self._put(at, branch.ids[piece.begin : piece.end], piece.begin, piece.branch)
            self._batch.output[at : at + n] = np.arange(piece.begin, piece.end) >= branch.first
            if counts is not None:
                self._batch.owners[at : at + n] = next(counts)
            at += n
        return at

    def _put(self, at: int, ids: Ids, position: int, sequence: int) -> None:
        """Tokens of one sequence, from index ``at`` of the batch on, without rows."""
        place = slice(at, at + len(ids))
        self._batch.token[place] = ids
        self._batch.position[place] = np.arange(position, position + len(ids))
        self._batch.output[place] = 0
        self._batch.owner[place] = self._numbers.ctypes.data + 4 * sequence
        self._batch.owners[place] = 1

    def _decode(self, tokens: int, watch: Watch) -> None:
        watch.check()
        self._batch.struct.n_tokens = tokens
        status = self._decoder.decode(self._batch.struct, watch)
        if status != DECODED:
            refuse(status, watch)

    def _copy_rows(self, count: int) -> None:
        if count:
            rows = self._rows[:count]
            logits = self._lib.llama_get_logits(self._context)
            ctypes.memmove(rows.ctypes.data, logits, rows.nbytes)

    def _handed_out(self, group: Sequence[Branch], batch: Sequence[Piece]) -> Iterator[VariantRows]:
        at = 0
        for piece in batch:
            branch = group[piece.branch]
            n = rows_of(branch, piece)
            start = max(piece.begin, branch.first) - branch.first
            for variant in branch.variants if n else ():
                yield VariantRows(variant, start, self._rows[at : at + n])
            at += n

    def _clear(self, *, keep_base: bool) -> None:
        """Free all cells, but those of the base where it is kept: the next token lies behind."""
        self._require_open()
        for number in self._numbers.tolist():
            length = len(self._base) if keep_base and number == self._base_number else 0
            self._lib.llama_memory_seq_rm(self._memory, number, length, -1)
        self._fillers, self._held = 0, []
        if not keep_base:
            self._base = self._base[:0]

    def _require_open(self) -> None:
        if self._context is None:
            raise BackendError(f"{self._name} is closed: load it again.")


def _has_first_variant(group: Sequence[Branch]) -> bool:
    return any(0 in branch.variants for branch in group)


@cache
def vector_length() -> int:
    """Floats in a vector register that llama.cpp's CPU code was built for, or more."""
    return 16 if b"AVX512 = 1" in library().llama_print_system_info() else 8
