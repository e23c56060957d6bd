"""The beam against an exhaustive search, and the tree in segments."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from logitscope.beam import Beam
from logitscope.branches import branches, common_length
from logitscope.document import Document, State
from logitscope.steps import Origin, StepRecord
from logitscope.tree import ROOT

VOCABULARY = 6


def row(ids: tuple[int, ...]) -> np.ndarray:
    """Logits that depend on all ids: a fixed random table by a hash of the sequence."""
    seed = sum((i + 1) * 31**k for k, i in enumerate(ids)) % 2**31
    return np.random.default_rng(seed).normal(size=VOCABULARY).astype(np.float32) * 3


def reference_beam(width: int, depth: int) -> set[tuple[int, ...]]:
    """Every sequence a beam keeps, computed the slow way with float64 log-softmax."""
    front: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    kept: set[tuple[int, ...]] = set()
    for _ in range(depth):
        every = []
        for score, ids in front:
            logits = row(ids).astype(np.float64)
            log_p = logits - np.log(np.exp(logits).sum())
            every += [(score + log_p[i], (*ids, i)) for i in range(VOCABULARY)]
        front = sorted(every, reverse=True)[:width]
        kept |= {ids for _, ids in front}
    return kept


def run_beam(document: Document, width: int, depth: int, end: frozenset[int]) -> Beam:
    def put(parent: int, step: StepRecord) -> int:
        return document.attach(parent, step)

    beam = Beam(width, depth, document.state.leaf, end, put)
    while (ids := beam.wanted) is not None:
        beam.take(row(ids))
    return beam


def sequences(document: Document) -> set[tuple[int, ...]]:
    tree = document.state.tree
    return {
        tuple(tree[n].step.token_id for n in tree.path(node))
        for node in range(document.state.count)
    }


@pytest.mark.parametrize(("width", "depth"), [(1, 4), (2, 3), (3, 4), (6, 2)])
def test_beam_keeps_what_an_exhaustive_search_keeps(width: int, depth: int) -> None:
    document = Document(State(prompt_ids=(1,)))
    beam = run_beam(document, width, depth, frozenset())
    assert sequences(document) == reference_beam(width, depth)
    assert beam.done <= beam.total
    assert document.state.leaf == ROOT


def test_a_beam_as_wide_as_the_vocabulary_finds_the_likeliest_pair() -> None:
    document = Document(State(prompt_ids=(1,)))
    run_beam(document, VOCABULARY, 2, frozenset())

    def log_p(ids: tuple[int, ...]) -> float:
        total = 0.0
        for k, i in enumerate(ids):
            logits = row(ids[:k]).astype(np.float64)
            total += logits[i] - np.log(np.exp(logits).sum())
        return float(total)

    best = max(itertools.product(range(VOCABULARY), repeat=2), key=log_p)
    pairs = [segment for segment in branches(document).segments if segment.path_length == 2]
    top = max(pairs, key=lambda segment: segment.path_log_probability)
    assert top.path_log_probability == pytest.approx(log_p(best), abs=1e-5)


def test_an_ended_sequence_is_not_continued() -> None:
    likeliest = int(row(()).argmax())
    document = Document(State(prompt_ids=(1,)))
    beam = run_beam(document, 1, 5, frozenset({likeliest}))
    assert sequences(document) == {(likeliest,)}
    assert beam.wanted is None


def test_a_tree_beyond_the_budget_is_refused() -> None:
    with pytest.raises(ValueError, match="4,096"):
        Beam(100, 100, ROOT, frozenset(), lambda _parent, _step: 0)


def step(token_id: int, log_probability: float = -1.0) -> StepRecord:
    return StepRecord(token_id, Origin.SAMPLED, log_probability, 1, 0.0, None, None, (), (), 0.0)


def test_segments_merge_what_has_no_fork() -> None:
    document = Document(State(prompt_ids=(1, 2)))
    a, b, c = (document.append(step(i)) for i in (10, 11, 12))
    document.go_to(b)
    d, e = (document.append(step(i, -2.0)) for i in (20, 21))
    found = branches(document).segments
    assert [segment.nodes for segment in found] == [(a, b), (c,), (d, e)]
    assert [segment.parent for segment in found] == [-1, 0, 0]
    assert [segment.path_log_probability for segment in found] == [-2.0, -3.0, -6.0]
    assert [segment.is_on_path for segment in found] == [True, False, True]
    assert common_length(document, c, e) == 2


def test_a_name_ends_its_segment_and_a_deleted_branch_is_gone() -> None:
    document = Document(State(prompt_ids=(1,)))
    a, b = document.append(step(10)), document.append(step(11))
    document.name(a, "start")
    document.go_to(a)
    document.append(step(12))
    document.delete(b)
    found = branches(document).segments
    assert [segment.name for segment in found] == ["start", ""]
    assert all(b not in segment.nodes for segment in found)


def test_a_long_chain_is_one_segment() -> None:
    document = Document(State(prompt_ids=(1,)))
    for i in range(3000):
        document.append(step(i))
    found = branches(document)
    assert [len(segment.nodes) for segment in found.segments] == [3000]
    assert found.left_out == 0
