"""Many texts that share their beginnings, laid out so that what is shared is evaluated once.

Sorted, each text shares most with the one before it. Hence a depth-first walk over their prefix
tree needs no more cells than one text and one batch, whatever their number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]
Range = tuple[int, int]


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


def exact_branches(contexts: Sequence[Sequence[int]], continuation: Sequence[int]) -> list[Branch]:
    """A branch for each different context, sorted; each takes over from the one before it."""
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


def batches(branches: Sequence[Branch], tokens: int, rows: int, most: int) -> Iterator[list[Piece]]:
    """All tokens in order, in batches of at most so many tokens, rows and branches."""
    batch: list[Piece] = []
    tokens_left, rows_left = tokens, rows
    for number, branch in enumerate(branches):
        at = branch.shared
        while at < len(branch.ids):
            end = min(len(branch.ids), at + tokens_left, max(at, branch.first) + rows_left)
            if end > at and len(batch) < most:
                batch.append(Piece(number, at, end))
                tokens_left -= end - at
                rows_left -= max(0, end - max(at, branch.first))
                at = end
            if at < len(branch.ids):
                yield batch
                batch, tokens_left, rows_left = [], tokens, rows
    if batch:
        yield batch


def owner_counts(branches: Sequence[Branch], batch: Sequence[Piece]) -> Iterator[Ids]:
    """For each piece: to how many branches, its own and the next ones, each token belongs."""
    for index, piece in enumerate(batch):
        counts = np.ones(piece.end - piece.begin, dtype=np.int32)
        reach = piece.end
        for later in batch[index + 1 :]:
            reach = min(reach, branches[later.branch].shared)
            if reach <= piece.begin:
                break
            counts[: reach - piece.begin] += 1
        yield counts
