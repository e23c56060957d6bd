"""Many texts that share their beginnings, laid out so that what is shared is evaluated once.

Sorted, each text shares most with the one before it. Groups of them fill an empty cache from its
first cell to its last.

A row depends, by rounding, on where in the cache its keys and values lie: sums over cells are taken
vector by vector, and llama.cpp rounds activations to 8 bits, which turns 1e-7 into up to 0.3 nat
(Gemma 3 270M, Q4_K_M). Where branches part at whole vectors only, and filler tokens fill up vectors
behind them, rows are equal to the last bit to those of a run alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]
Range = tuple[int, int]


LEAST_COMMON = 8
"""An eighth of a branch. With it the four variants of a label (Gemma 3 270M, 412 tokens of context,
two cores) take 4.3 s, and 4.6 s all in one cache; a third would read too much again (4.8 s)."""


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """One text on its way through the model."""

    variants: tuple[int, ...]
    """Whose rows these are: equal contexts are evaluated once."""
    ids: Ids
    """Context and continuation but for the last token, which is only predicted."""
    first: int
    """Index of the token whose row predicts the continuation's first one."""
    shared: int
    """Tokens in front that are taken over from another sequence; at most ``first``."""
    removed: tuple[Range, ...] = ()
    """Ranges of them that are cut out of the cache; positions stay as they are."""


@dataclass(frozen=True, slots=True)
class Piece:
    """The tokens ``begin <= i < end`` of a branch (by number), evaluated in one batch."""

    branch: int
    begin: int
    end: int
    filler: int = 0
    """Tokens in front that only take up cells."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a context can take."""

    cells: int
    tokens: int
    """In one batch."""
    rows: int
    """In one batch."""
    branches: int
    """At a time."""
    vector: int = 1
    """Floats that sums over cells take at once."""
    least: int = 1
    """Tokens in the last batch: few of them go through other code, which rounds otherwise."""


def exact_branches(
    contexts: Sequence[Sequence[int]], continuation: Sequence[int], vector: int = 1
) -> list[Branch]:
    """A branch for each different context, sorted; each takes over from the one before it.

    What is taken over is a multiple of ``vector`` tokens.
    """
    variants: dict[tuple[int, ...], list[int]] = {}
    for number, context in enumerate(contexts):
        variants.setdefault(tuple(context), []).append(number)
    tail = np.array(continuation[:-1], dtype=np.int32)
    branches: list[Branch] = []
    before = np.zeros(0, dtype=np.int32)
    for context in sorted(variants):
        own = np.array(context, dtype=np.int32)
        first = len(own) - 1
        # The last token's row is wanted, so that it is evaluated in any case.
        shared = min(common_prefix(before, own), first)
        shared -= shared % vector
        ids = np.concatenate([own, tail])
        branches.append(Branch(tuple(variants[context]), ids, first, shared))
        before = own
    return branches


def cut_branches(
    context: Sequence[int], cuts: Sequence[Sequence[Range]], continuation: Sequence[int]
) -> list[Branch]:
    """A branch for each cut; all take over from one sequence that holds the whole context.

    The last token that stays is evaluated again, for its row. Positions stay as they are, with
    gaps, since sequences that share cells share their positions; but the first token must follow
    what is in front of it, so that a gap there is closed.
    """
    whole = np.array(context, dtype=np.int32)
    tail = np.array(continuation[:-1], dtype=np.int32)
    branches = []
    for number, cut in enumerate(cuts):
        stays = np.ones(len(whole), dtype=bool)
        for start, stop in cut:
            stays[start:stop] = False
        kept = np.flatnonzero(stays)
        shared = int(kept[-2]) + 1 if len(kept) > 1 else 0
        removed = tuple((start, min(stop, shared)) for start, stop in cut if start < shared)
        ids = np.concatenate([whole[:shared], whole[kept[-1:]], tail])
        branches.append(Branch((number,), ids, shared, shared, removed))
    return branches


def common_prefix(left: Ids, right: Ids) -> int:
    """How many leading ids are equal."""
    n = min(len(left), len(right))
    differs = left[:n] != right[:n]
    return int(differs.argmax()) if differs.any() else n


def groups(branches: Sequence[Branch], limits: Limits, base: int | None) -> Iterator[list[Branch]]:
    """Runs of branches that are in the cache together, behind a base of so many tokens.

    Without a base, the first of a group takes over nothing; and a branch that would take over
    little begins a group, because attention goes over all cells in use, also those of others.
    """
    group: list[Branch] = []
    cell = base or 0
    for branch in branches:
        needed = filler(branch, cell, limits) + len(branch.ids) - branch.shared
        is_full = cell + needed > limits.cells or len(group) == limits.branches
        is_new = base is None and branch.shared * LEAST_COMMON <= len(branch.ids)
        if group and (is_full or is_new):
            yield group
            group, cell = [], base or 0
        own = branch if group or base is not None else replace(branch, shared=0)
        group.append(own)
        cell += filler(own, cell, limits) + len(own.ids) - own.shared
    yield group


def filler(branch: Branch, cell: int, limits: Limits) -> int:
    """Tokens to put in front of a branch that would begin in this cell."""
    return (branch.shared - cell) % limits.vector


def batches(group: Sequence[Branch], limits: Limits, cell: int) -> Iterator[list[Piece]]:
    """All tokens of a group in order, from this cell on, in batches."""
    batch: list[Piece] = []
    tokens, rows = limits.tokens, limits.rows
    for number, branch in enumerate(group):
        at, front = branch.shared, filler(branch, cell, limits)
        cell += front + len(branch.ids) - branch.shared
        while at < len(branch.ids):
            end = min(len(branch.ids), at + tokens - front, max(at, branch.first) + rows)
            if end > at:
                batch.append(Piece(number, at, end, front))
                tokens -= front + end - at
                rows -= rows_of(branch, batch[-1])
                at, front = end, 0
            if at < len(branch.ids):
                yield batch
                batch, tokens, rows = [], limits.tokens, limits.rows
    if (lacking := min(limits.least, limits.tokens) - limits.tokens + tokens) > 0:
        batch.append(Piece(batch[-1].branch, batch[-1].end, batch[-1].end, lacking))
    yield batch


def rows_of(branch: Branch, piece: Piece) -> int:
    """How many rows a piece gives."""
    return max(0, piece.end - max(piece.begin, branch.first))


def owner_counts(group: Sequence[Branch], batch: Sequence[Piece]) -> Iterator[Ids]:
    """For each piece: to how many branches, its own and the next ones, each token belongs."""
    for index, piece in enumerate(batch):
        counts = np.ones(piece.end - piece.begin, dtype=np.int32)
        reach = piece.end
        for later in batch[index + 1 :]:
            reach = min(reach, group[later.branch].shared)
            if reach <= piece.begin:
                break
            counts[: reach - piece.begin] += 1
        yield counts
