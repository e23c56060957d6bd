"""One continuation behind many contexts, on every backend: the rows of one run each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from logitscope.backends.base import (
    Backend,
    BackendError,
    Cancelled,
    ContextOverflow,
    VariantRows,
    Watch,
)
from logitscope.backends.variants import VariantModel
from logitscope.vocabulary import TokenKind

if TYPE_CHECKING:
    Case = Any

Rows = NDArray[np.float32]


def some_ids(backend: Backend, n: int, seed: int = 0) -> list[int]:
    """Random ids of ordinary tokens."""
    ordinary = np.flatnonzero(backend.vocabulary.kinds == TokenKind.NORMAL)
    return [int(i) for i in np.random.default_rng(seed).choice(ordinary, n)]


def removals(ids: Sequence[int], size: int) -> list[list[int]]:
    """The ids, and the ids without each of their stretches of ``size``."""
    stretches = range(0, len(ids), size)
    return [list(ids), *([*ids[:i], *ids[i + size :]] for i in stretches)]


def collect(chunks: Iterable[VariantRows], variants: int, tokens: int) -> list[Rows]:
    """All rows by variant; every row must have come once, and a variant's rows in order."""
    found: list[list[Rows]] = [[] for _ in range(variants)]
    for chunk in chunks:
        assert chunk.start == sum(map(len, found[chunk.variant]))
        assert len(chunk.rows) > 0
        found[chunk.variant].append(chunk.rows.copy())
    rows = [np.concatenate(pieces) for pieces in found]
    assert [len(each) for each in rows] == [tokens] * variants
    return rows


def assert_as_alone(
    case: Case, rows: Sequence[Rows], contexts: Sequence[Sequence[int]], tail: Sequence[int]
) -> None:
    """Against passes of a model that never saw another text."""
    for found, context in zip(rows, contexts, strict=True):
        for i, row in enumerate(found):
            expected = case.fresh([*context, *tail[:i]])
            assert np.abs(row - expected).max() <= case.fresh_tolerance


class CancelAfter:
    """A stop that comes at the n-th look."""

    def __init__(self, looks: int) -> None:
        self.left = looks

    def __call__(self) -> bool:
        self.left -= 1
        return self.left < 0


# -- exact variants -----------------------------------------------------------------------------


def test_rows_of_variants_are_those_of_single_runs(case: Case, backend: Backend) -> None:
    contexts, tail = removals(some_ids(backend, 40), 8), some_ids(backend, 6, seed=1)
    rows = collect(backend.score_variants(contexts, tail), len(contexts), len(tail))
    assert_as_alone(case, rows, contexts, tail)


def test_a_single_token_behind_contexts_that_contain_each_other(
    case: Case, backend: Backend
) -> None:
    ids = some_ids(backend, 9, seed=2)
    contexts = [ids[:3], ids, ids[:1], ids, ids[:8], ids[:1]]
    rows = collect(backend.score_variants(contexts, ids[5:6]), len(contexts), 1)
    assert_as_alone(case, rows, contexts, ids[5:6])


def test_the_continuation_may_repeat_the_context(case: Case, backend: Backend) -> None:
    one = some_ids(backend, 1, seed=3)
    contexts = [one * 2, one, one * 4, one * 3]
    rows = collect(backend.score_variants(contexts, one * 5), 4, 5)
    assert_as_alone(case, rows, contexts, one * 5)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    picks=st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=12), max_size=7),
    tail=st.lists(st.integers(0, 2), min_size=1, max_size=5),
)
def test_any_contexts(
    case: Case, backend: Backend, picks: list[list[int]], tail: list[int]
) -> None:
    """Three ids only, so that they share prefixes in every way."""
    letters = some_ids(backend, 3, seed=4)
    contexts = [[letters[i] for i in pick] for pick in picks]
    behind = [letters[i] for i in tail]
    rows = collect(backend.score_variants(contexts, behind), len(contexts), len(behind))
    assert_as_alone(case, rows, contexts, behind)


def test_two_hundred_variants(case: Case, backend: Backend) -> None:
    ids, tail = some_ids(backend, 100, seed=5), some_ids(backend, 2, seed=6)
    contexts = [[*ids[:i], *ids[i + 1 :]] for i in range(100)] * 2
    rows = collect(backend.score_variants(contexts, tail), 200, 2)
    some = (0, 50, 99, 100, 199)
    assert_as_alone(case, [rows[i] for i in some], [contexts[i] for i in some], tail)


@pytest.mark.parametrize("rows_a_chunk", [1, 3])
def test_the_budget_bounds_a_chunk(case: Case, rows_a_chunk: int) -> None:
    plain = case.open()
    budget = rows_a_chunk * plain.info.n_vocab * 4
    contexts, tail = removals(some_ids(plain, 20, seed=7), 10), some_ids(plain, 5, seed=8)
    plain.close()
    small = case.open(score_budget_bytes=budget)
    chunks = [
        VariantRows(c.variant, c.start, c.rows.copy()) for c in small.score_variants(contexts, tail)
    ]
    small.close()
    assert max(chunk.rows.nbytes for chunk in chunks) <= budget
    assert_as_alone(case, collect(chunks, len(contexts), len(tail)), contexts, tail)


def test_nothing_to_predict_gives_no_chunk(backend: Backend) -> None:
    ids = some_ids(backend, 5)
    assert list(backend.score_variants([ids, ids[:2]], [])) == []
    assert list(backend.score_variants([], ids)) == []
    assert list(backend.score_cuts(ids, [[(1, 2)]], [])) == []
    assert list(backend.score_cuts(ids, [], ids)) == []


# -- what is between ----------------------------------------------------------------------------


def test_other_calls_between_chunks_change_no_row(case: Case) -> None:
    backend = case.open(score_budget_bytes=2 * 4 * 1008)
    contexts, tail = removals(some_ids(backend, 24, seed=9), 8), some_ids(backend, 5, seed=10)
    other = some_ids(backend, 60, seed=11)
    kept = []
    for i, chunk in enumerate(backend.score_variants(contexts, tail)):
        kept.append(VariantRows(chunk.variant, chunk.start, chunk.rows.copy()))
        looked = other[: 1 + i % 50]
        assert np.abs(backend.next_logits(looked) - case.fresh(looked)).max() <= 1e-3
        if i % 4 == 0:
            assert len(list(backend.score(other, 3, 9))) > 0
        if i == 2:
            inner = collect(backend.score_variants([other, other[:9]], tail), 2, len(tail))
            assert_as_alone(case, inner, [other, other[:9]], tail)
    backend.close()
    assert_as_alone(case, collect(kept, len(contexts), len(tail)), contexts, tail)


def test_the_model_of_the_analysis_serves_between_chunks(case: Case) -> None:
    backend = case.open(score_budget_bytes=1)
    contexts, tail = removals(some_ids(backend, 12, seed=12), 6), some_ids(backend, 3, seed=13)
    quiet = VariantModel(backend).score_variants(contexts, tail)
    served: list[float] = []

    def between() -> None:
        served.append(float(backend.next_logits(tail)[0]))

    busy = VariantModel(backend, between=between).score_variants(contexts, tail)
    backend.close()
    assert len(served) == len(contexts) * len(tail)
    for ours, theirs in zip(quiet, busy, strict=True):
        np.testing.assert_allclose(
            ours.log_probability, theirs.log_probability, atol=2 * case.noise + 1e-12
        )


def test_numbers_are_log_softmax_of_the_rows(case: Case, backend: Backend) -> None:
    contexts, tail = removals(some_ids(backend, 10, seed=14), 5), some_ids(backend, 4, seed=15)
    numbers = VariantModel(backend).score_variants(contexts, tail)
    for context, found in zip(contexts, numbers, strict=True):
        for i, token in enumerate(tail):
            row = case.fresh([*context, *tail[:i]]).astype(np.float64)
            expected = row[token] - np.logaddexp.reduce(row)
            assert found.log_probability[i] == pytest.approx(expected, abs=2e-3)
            assert found.top_ids[i, 0] == row.argmax()


def test_next_numbers_are_the_likeliest(case: Case, backend: Backend) -> None:
    ids = some_ids(backend, 10, seed=16)
    top_ids, logs = VariantModel(backend).next_numbers(ids, 5)
    row = case.fresh(ids).astype(np.float64)
    expected = np.sort(row)[::-1][:5] - np.logaddexp.reduce(row)
    np.testing.assert_allclose(logs, expected, atol=2e-3)
    assert top_ids[0] == row.argmax()


@pytest.mark.parametrize("text", ["Spain", " Spain", "", "18", "x y", "\n"])
def test_a_text_inside_another_brings_its_own_bytes(backend: Backend, text: str) -> None:
    ids = VariantModel(backend).tokenize(text)
    assert backend.vocabulary.text_bytes(ids) == text.encode()


# -- cuts ---------------------------------------------------------------------------------------


def test_an_empty_cut_is_the_text_itself(case: Case, backend: Backend) -> None:
    ids, tail = some_ids(backend, 40, seed=17), some_ids(backend, 5, seed=18)
    rows = collect(backend.score_cuts(ids, [[], [(3, 3)], [(5, 9), (20, 22)]], tail), 3, 5)
    assert_as_alone(case, rows[:2], [ids, ids], tail)


def test_a_cut_at_the_end_is_exact(case: Case, backend: Backend) -> None:
    """What stays never saw what is gone, so that nothing is approximated."""
    ids, tail = some_ids(backend, 30, seed=19), some_ids(backend, 4, seed=20)
    rows = collect(backend.score_cuts(ids, [[(20, 30)], [(29, 30)]], tail), 2, 4)
    assert_as_alone(case, rows, [ids[:20], ids[:29]], tail)


def test_a_backend_that_cannot_cut_is_exact(case: Case, backend: Backend) -> None:
    if backend.info.capabilities.cut_cache:
        pytest.skip("cuts are read from one cache here")
    ids, tail = some_ids(backend, 30, seed=21), some_ids(backend, 3, seed=22)
    rows = collect(backend.score_cuts(ids, [[(2, 9)], [(0, 4), (10, 20)]], tail), 2, 3)
    assert_as_alone(case, rows, [ids[:2] + ids[9:], ids[4:10] + ids[20:]], tail)


def test_two_hundred_cuts(case: Case, backend: Backend) -> None:
    ids, tail = some_ids(backend, 200, seed=23), some_ids(backend, 3, seed=24)
    rows = collect(backend.score_cuts(ids, [[(i, i + 1)] for i in range(200)], tail), 200, 3)
    assert_as_alone(case, rows[-1:], [ids[:-1]], tail)


# -- stopping and errors ------------------------------------------------------------------------


@pytest.mark.parametrize("looks", [0, 1, 2, 3, 5, 9, 14])
@pytest.mark.parametrize("cut", [False, True])
def test_cancel_leaves_the_backend_usable(
    case: Case, backend: Backend, looks: int, cut: bool
) -> None:
    ids, tail = some_ids(backend, 90, seed=25), some_ids(backend, 30, seed=26)
    watch = Watch(is_cancelled=CancelAfter(looks))
    try:
        if cut:
            stretches = [[(i, i + 9)] for i in range(0, 90, 9)]
            list(backend.score_cuts(ids, stretches, tail, watch))
        else:
            list(backend.score_variants(removals(ids, 9), tail, watch))
        stopped = False
    except Cancelled:
        stopped = True
    assert stopped or looks > 3
    assert np.abs(backend.next_logits(ids) - case.fresh(ids)).max() <= case.fresh_tolerance
    rows = collect(backend.score_variants([ids[:50], ids[:40]], tail[:2]), 2, 2)
    assert_as_alone(case, rows, [ids[:50], ids[:40]], tail[:2])


def test_variants_can_be_dropped_half_way(case: Case) -> None:
    backend = case.open(score_budget_bytes=1)
    ids, tail = some_ids(backend, 30, seed=27), some_ids(backend, 3, seed=28)
    next(iter(backend.score_variants([ids, ids[:9]], tail)))
    next(iter(backend.score_cuts(ids, [[(1, 3)]], tail)))
    left = backend.score_variants([ids, ids[:9]], tail)
    next(left)
    assert_as_alone(case, collect(backend.score_variants([ids], tail), 1, 3), [ids], tail)
    backend.close()
    # The rest of what was begun is refused and touches nothing that was freed.
    if case.name != "fake":
        with pytest.raises(BackendError, match="closed"):
            list(left)


def test_progress_rises_to_all(backend: Backend) -> None:
    ids, tail = some_ids(backend, 60, seed=29), some_ids(backend, 10, seed=30)
    for cut in (False, True):
        seen: list[tuple[int, int]] = []
        watch = Watch(report=lambda done, total: seen.append((done, total)))  # noqa: B023
        chunks = (
            backend.score_cuts(ids, [[(0, 9)], [(9, 20)]], tail, watch)
            if cut
            else backend.score_variants(removals(ids, 20), tail, watch)
        )
        assert sum(len(chunk.rows) for chunk in chunks) > 0
        assert seen[-1][0] == seen[-1][1]
        assert [done for done, _ in seen] == sorted(done for done, _ in seen)
        assert len({total for _, total in seen}) == 1


def test_what_cannot_be_scored_is_refused(backend: Backend) -> None:
    ids = some_ids(backend, 5)
    with pytest.raises(ValueError, match="without ids"):
        backend.score_variants([ids, []], ids)
    with pytest.raises(ValueError, match="vocabulary"):
        backend.score_variants([ids, [-1]], ids)
    with pytest.raises(ValueError, match="vocabulary"):
        backend.score_variants([ids], [10**6])
    with pytest.raises(ValueError, match="without ids"):
        backend.score_cuts(ids, [[(0, 3), (2, 5)]], ids)
    with pytest.raises(ValueError, match="no range"):
        backend.score_cuts(ids, [[(4, 6)]], ids)
    with pytest.raises(ValueError, match="vocabulary"):
        backend.score_cuts([*ids, 10**6], [[(5, 6)]], ids)


def test_more_than_the_context_holds(case: Case, backend: Backend) -> None:
    limit = backend.info.context_length
    ids = some_ids(backend, limit, seed=31)
    with pytest.raises(ContextOverflow, match="tokens"):
        backend.score_variants([ids[:4], ids[: limit - 3]], ids[:5])
    with pytest.raises(ContextOverflow, match="tokens"):
        backend.score_cuts(ids, [[]], ids[:2])
    rows = collect(backend.score_variants([ids[: limit - 3], ids[:4]], ids[:4]), 2, 4)
    assert_as_alone(case, rows, [ids[: limit - 3], ids[:4]], ids[:4])
    full = collect(backend.score_cuts(ids[: limit - 3], [[], [(3, 9)]], ids[:4]), 2, 4)
    assert_as_alone(case, full[:1], [ids[: limit - 3]], ids[:4])
