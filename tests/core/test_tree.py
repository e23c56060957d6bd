"""The tree of continuations by itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logitscope.steps import Origin, StepRecord
from logitscope.tree import ROOT, Tree


def step(token_id: int) -> StepRecord:
    return StepRecord(token_id, Origin.SAMPLED, -1.0, 1, 0.5, 0.4, None, (), (), 0.0)


def grown(choices: list[tuple[int, int]]) -> tuple[Tree, list[tuple[int, ...]]]:
    """A tree, and the ids from the prompt to each of its nodes, kept by hand."""
    tree, paths = Tree(), []
    for where, token_id in choices:
        parent = where % (len(paths) + 1) - 1
        before = paths[parent] if parent != ROOT else ()
        tree.add(parent, step(token_id))
        paths.append((*before, token_id))
    return tree, paths


CHOICES = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 3)), max_size=40)


@given(CHOICES)
def test_every_node_spells_the_tokens_that_lead_to_it(choices: list[tuple[int, int]]) -> None:
    tree, paths = grown(choices)
    assert len(tree) == len(paths)
    for index, path in enumerate(paths):
        assert tuple(tree[i].step.token_id for i in tree.path(index)) == path
        assert tree[index].depth == len(path) - 1


@given(CHOICES, st.integers(0, 40))
def test_truncating_is_as_if_the_later_nodes_had_never_been(
    choices: list[tuple[int, int]], count: int
) -> None:
    tree, _ = grown(choices)
    tree.truncate(count)
    fresh, _ = grown(choices[:count])
    assert len(tree) == len(fresh)
    for parent in range(ROOT, len(fresh)):
        assert tree.children(parent) == fresh.children(parent)
        assert tree.child_with(parent, 2) == fresh.child_with(parent, 2)


def test_the_first_of_two_equal_continuations_is_found() -> None:
    tree = Tree()
    first = tree.add(ROOT, step(7))
    tree.add(ROOT, step(7))
    assert tree.child_with(ROOT, 7) == first
    assert tree.child_with(ROOT, 8) is None
    assert tree.child_with(first, 7) is None


def test_the_end_of_the_prompt_has_no_token() -> None:
    tree = Tree()
    assert tree.path(ROOT) == ()
    with pytest.raises(IndexError):
        tree[ROOT]
