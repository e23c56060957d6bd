"""How variants are laid out: what is shared is read once, what does not fit waits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from logitscope.backends.branch_plan import (
    Branch,
    Limits,
    batches,
    cut_branches,
    exact_branches,
    filler,
    groups,
    owner_counts,
    rows_of,
)

Contexts = list[list[int]]
contexts_of = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=20), min_size=1, max_size=9)


def tree_size(contexts: Sequence[Sequence[int]], tail: Sequence[int]) -> int:
    """Tokens of a prefix tree: prefixes that are no whole context, and last tokens and tails."""
    different = {tuple(context) for context in contexts}
    prefixes = {context[:n] for context in different for n in range(1, len(context))}
    return len(prefixes - different) + len(different) * len(tail)


@settings(deadline=None)
@given(contexts=contexts_of, tail=st.lists(st.integers(0, 2), min_size=1, max_size=5))
def test_a_shared_prefix_is_evaluated_once(contexts: Contexts, tail: list[int]) -> None:
    branches = exact_branches(contexts, tail)
    assert sum(len(b.ids) - b.shared for b in branches) == tree_size(contexts, tail)
    assert sorted(v for b in branches for v in b.variants) == list(range(len(contexts)))
    for branch in branches:
        assert branch.ids.tolist() == [*contexts[branch.variants[0]], *tail[:-1]]
    for before, branch in pairwise(branches):
        assert branch.ids[: branch.shared].tolist() == before.ids[: branch.shared].tolist()


@settings(deadline=None)
@given(
    contexts=contexts_of,
    tail=st.lists(st.integers(0, 2), min_size=1, max_size=5),
    limits=st.builds(
        Limits,
        st.just(64),
        st.integers(9, 30),
        st.integers(1, 9),
        st.integers(1, 4),
        st.sampled_from([1, 4]),
    ),
)
def test_batches_stay_within_their_limits(
    contexts: Contexts, tail: list[int], limits: Limits
) -> None:
    vector = limits.vector
    laid_out = exact_branches(contexts, tail, vector)
    seen: list[Branch] = []
    for group in groups(laid_out, limits, None):
        assert len(group) <= limits.branches
        cell, at = 0, 0
        for batch in batches(group, limits, 0):
            assert sum(p.filler + p.end - p.begin for p in batch) <= limits.tokens
            assert sum(rows_of(group[p.branch], p) for p in batch) <= limits.rows
            for piece in batch:
                branch = group[piece.branch]
                at = branch.shared if piece.begin == branch.shared else at
                assert piece.begin == at
                at = piece.end
                cell += piece.filler
                # A token lies in the same lane of a vector as in a run alone.
                assert (cell - piece.begin) % vector == 0
                cell += piece.end - piece.begin
        assert cell <= limits.cells
        assert group[0].shared == 0
        seen += group
    assert [b.variants for b in seen] == [b.variants for b in laid_out]


def test_a_token_belongs_to_all_that_take_it_over() -> None:
    group = exact_branches([[1, 2, 3, 4], [1, 2, 3, 5], [1, 2, 9], [7]], [6])
    assert [b.shared for b in group] == [0, 3, 2, 0]
    (batch,) = batches(group, Limits(64, 64, 64, 8), 0)
    assert [c.tolist() for c in owner_counts(group, batch)] == [[3, 3, 2, 1], [1], [1], [1]]


def test_a_cut_keeps_positions_but_for_a_gap_at_the_end() -> None:
    ids = list(range(10, 20))
    whole, inner, last, most = cut_branches(ids, [[], [(2, 4)], [(7, 10)], [(0, 9)]], [5, 6])
    assert (whole.shared, whole.removed, whole.ids.tolist()) == (9, (), [*ids, 5])
    assert (inner.shared, inner.removed, inner.ids.tolist()) == (9, ((2, 4),), [*ids, 5])
    assert (last.shared, last.removed, last.ids.tolist()) == (6, (), [*ids[:7], 5])
    assert (most.shared, most.removed, most.ids.tolist()) == (0, (), [19, 5])


def test_filler_brings_a_branch_to_its_lane() -> None:
    (branch,) = exact_branches([[1, 2, 3]], [4])
    assert [filler(branch, cell, Limits(64, 64, 64, 8, 8)) for cell in (0, 1, 7, 8)] == [0, 7, 1, 0]


def test_a_branch_with_little_in_common_does_not_lie_beside_the_others() -> None:
    """Attention goes over all cells in use; behind a base, all branches share it."""
    close, far = [1] * 40, [1, *[2] * 40]
    laid_out = exact_branches([close, [*close, 3], far], [5])
    limits = Limits(cells=4096, tokens=64, rows=8, branches=8)
    assert [len(group) for group in groups(laid_out, limits, None)] == [2, 1]
    cut = cut_branches(close, [[(5, 35)], [(1, 39)]], [5])
    assert [len(group) for group in groups(cut, limits, len(close))] == [2]
