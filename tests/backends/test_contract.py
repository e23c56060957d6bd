"""What every backend promises (``logitscope.backends.base.Backend``), tried on each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from logitscope.backends.base import Backend, Cancelled, ContextOverflow, Watch
from logitscope.vocabulary import TokenKind

if TYPE_CHECKING:
    Case = Any

TEXTS = {
    "empty": "",
    "one letter": "a",
    "english": "The sky is blue, isn't it? 3.14159 (one, two)",
    "leading space": "  two spaces in front",
    "trailing space": "two spaces behind  ",
    "code": "def f(x):\n\tif x == 10:\n\t\treturn '\\n'\r\n    # done\n\n\n",
    "chinese": "天空是蓝色的，草是绿色的。你好，世界！",
    "rare chinese": "龘靐齉爩 𠜎𠜱𡿺",
    "arabic": "السماء زرقاء والعشب أخضر. مَرْحَبًا",
    "mixed directions": "abc السماء 123 السماء xyz",
    "emoji": "👩🏽‍🚀👨‍👩‍👧‍👦🏳️‍🌈 ❤️‍🔥 👍🏿 🇪🇺",
    "combining": "e\u0301 a\u0308 ZA\u0337\u0321LGO",
    "controls": "\x00\x01\x02 tab\tbell\x07 escape\x1b[0m delete\x7f next\x85",
    "NUL inside": "before\x00after",
    "white space": " \t\n\r\x0b\x0c\u00a0\u2003\u3000\u200b\u2028\ufeff end",
    "private use": "\ue000\uf8ff\U0010fffd",
    "written marks": "a literal <s> and </s> and <|turn|> and <0x41> and <unk>",
    "alphabet of the pieces": "Ġ Ċ Ġthe ĉ <0x41>",
    "long word": "x" * 150,
}


def expected_bytes(backend: Backend, text: str) -> bytes:
    """The bytes of the text; some tokenizers put one space in front."""
    space = b" " if backend.vocabulary.adds_space and text else b""
    return space + text.encode()


def some_ids(backend: Backend, n: int, seed: int = 0) -> list[int]:
    """Random ids of ordinary tokens."""
    ordinary = np.flatnonzero(backend.vocabulary.kinds == TokenKind.NORMAL)
    return [int(i) for i in np.random.default_rng(seed).choice(ordinary, n)]


class CancelAfter:
    """A stop that comes at the n-th look."""

    def __init__(self, looks: int) -> None:
        self.left = looks

    def __call__(self) -> bool:
        self.left -= 1
        return self.left < 0


def assert_usable(case: Case, backend: Backend, ids: Sequence[int]) -> None:
    difference = np.abs(backend.next_logits(ids) - case.fresh(ids)).max()
    assert difference <= case.fresh_tolerance


# -- text and tokens ----------------------------------------------------------------------------


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_bytes_of_the_tokens_join_to_the_text(backend: Backend, text: str) -> None:
    ids = backend.tokenize(text, add_special=False, parse_special=False)
    pieces = [backend.vocabulary.bytes_of(i) for i in ids]
    assert b"".join(pieces) == expected_bytes(backend, text)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="▁"), max_size=60))
def test_any_text_comes_back(backend: Backend, text: str) -> None:
    ids = backend.tokenize(text, add_special=False, parse_special=False)
    assert b"".join(map(backend.vocabulary.bytes_of, ids)) == expected_bytes(backend, text)


def test_lone_surrogates_become_replacement_characters(backend: Backend) -> None:
    ids = backend.tokenize("a\ud83d!\udc00", add_special=False, parse_special=False)
    assert backend.vocabulary.text_bytes(ids) == expected_bytes(backend, "a\ufffd!\ufffd")


def test_ids_are_plain_ints_within_the_vocabulary(backend: Backend) -> None:
    ids = backend.tokenize("The sky 天空", add_special=True, parse_special=False)
    assert all(type(i) is int and 0 <= i < backend.info.n_vocab for i in ids)
    assert len(backend.vocabulary) == backend.info.n_vocab


def test_add_special_puts_bos_in_front_where_the_model_wants_it(backend: Backend) -> None:
    plain = backend.tokenize("The sky", add_special=False, parse_special=False)
    special = backend.tokenize("The sky", add_special=True, parse_special=False)
    front = [backend.vocabulary.bos] if backend.vocabulary.adds_bos else []
    assert special == front + plain


def test_written_marks_are_text_unless_asked_for(backend: Backend) -> None:
    vocabulary = backend.vocabulary
    assert vocabulary.bos is not None
    name = vocabulary.bytes_of(vocabulary.bos).decode()
    typed = backend.tokenize(name, add_special=False, parse_special=False)
    assert not any(vocabulary.is_special(i) for i in typed)
    assert b"".join(map(vocabulary.bytes_of, typed)) == expected_bytes(backend, name)
    parsed = backend.tokenize(name, add_special=False, parse_special=True)
    assert parsed == [vocabulary.bos]


def test_kinds_fit_the_special_ids(backend: Backend) -> None:
    vocabulary = backend.vocabulary
    for token_id in {vocabulary.bos, vocabulary.eos, *vocabulary.end_ids} - {None}:
        assert vocabulary.kind_of(token_id) == TokenKind.CONTROL
    assert vocabulary.eos in vocabulary.end_ids
    for token_id in np.flatnonzero(vocabulary.kinds == TokenKind.BYTE):
        assert len(vocabulary.bytes_of(int(token_id))) == 1


def test_every_byte_that_text_can_hold_has_a_token(backend: Backend) -> None:
    # UTF-8 never contains C0, C1 and F5 to FF.
    possible = set(range(256)) - {0xC0, 0xC1} - set(range(0xF5, 0x100))
    lacking = [byte for byte in possible if not backend.vocabulary.ids_of_bytes(bytes([byte]))]
    assert lacking == []


def test_chat_template_is_there_as_the_info_says(backend: Backend) -> None:
    from logitscope.backends.base import BackendError, ChatMessage

    messages = [ChatMessage("user", "What colour is the sky? {{ 7 * 7 }}")]
    if backend.info.has_chat_template:
        text = backend.render_chat(messages, add_generation_prompt=True)
        assert "What colour is the sky? {{ 7 * 7 }}" in text
    else:
        with pytest.raises(BackendError, match="template"):
            backend.render_chat(messages, add_generation_prompt=True)


# -- rows ---------------------------------------------------------------------------------------


def test_rows_are_whole_float32_and_the_callers_own(case: Case, backend: Backend) -> None:
    ids = some_ids(backend, 12)
    row = backend.next_logits(ids)
    assert row.shape == (backend.info.n_vocab,)
    assert row.dtype == np.float32
    kept = row.copy()
    row += 1
    assert np.abs(backend.next_logits(ids) - kept).max() <= case.noise
    backend.next_logits(some_ids(backend, 5, seed=1))
    assert np.array_equal(row, kept + 1)


def test_only_what_differs_is_evaluated(backend: Backend) -> None:
    if not backend.info.capabilities.prefix_reuse:
        pytest.skip("this model cannot be cut back")
    ids = some_ids(backend, 60, seed=2)
    backend.next_logits(ids)
    backend.next_logits([*ids, 7])
    assert (backend.last_pass.cached, backend.last_pass.evaluated) == (60, 1)
    backend.next_logits([*ids[:40], 7, 8])
    assert (backend.last_pass.cached, backend.last_pass.evaluated) == (40, 2)


Walk = list[tuple[str, int, int]]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["extend", "rewind", "branch", "again"]),
        st.integers(0, 10_000),
        st.integers(1, 40),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(walk=STEPS)
def test_any_walk_of_rewinds_and_branches_equals_fresh_evaluations(
    case: Case, backend: Backend, walk: Walk
) -> None:
    ids = some_ids(backend, 3)
    for action, seed, n in walk:
        place = 1 + seed % len(ids)
        if action == "extend":
            ids = (ids + some_ids(backend, n, seed))[:200]
        elif action == "rewind":
            ids = ids[:place]
        elif action == "branch":
            ids = ids[:place] + some_ids(backend, 1 + n % 4, seed)
        assert_usable(case, backend, ids)


@pytest.mark.parametrize("start", [1, 2, 30])
def test_score_rows_equal_the_rows_of_each_prefix(case: Case, backend: Backend, start: int) -> None:
    ids = some_ids(backend, 40, seed=4)
    rows = np.concatenate([chunk.copy() for chunk in backend.score(ids, start, 41)])
    assert rows.shape == (41 - start, backend.info.n_vocab)
    for position, row in enumerate(rows, start=start):
        assert np.abs(row - case.fresh(ids[:position])).max() <= case.fresh_tolerance
        assert np.abs(row - backend.next_logits(ids[:position])).max() <= case.noise


def test_nothing_to_score_gives_no_chunk(backend: Backend) -> None:
    assert list(backend.score(some_ids(backend, 5), 3, 3)) == []


@pytest.mark.parametrize("rows_a_chunk", [1, 7, 64])
def test_chunk_size_changes_neither_results_nor_budget(case: Case, rows_a_chunk: int) -> None:
    with_default = case.open()
    n_vocab = with_default.info.n_vocab
    ids = some_ids(with_default, 70, seed=5)
    expected = np.concatenate([c.copy() for c in with_default.score(ids, 1, 71)])
    with_default.close()
    small = case.open(score_budget_bytes=rows_a_chunk * n_vocab * 4)
    chunks = [chunk.copy() for chunk in small.score(ids, 1, 71)]
    small.close()
    assert max(len(chunk) for chunk in chunks) <= rows_a_chunk
    assert np.abs(np.concatenate(chunks) - expected).max() <= case.noise


def test_a_budget_below_one_row_still_gives_rows(case: Case) -> None:
    backend = case.open(score_budget_bytes=1)
    ids = some_ids(backend, 6)
    chunks = [chunk.copy() for chunk in backend.score(ids, 1, 7)]
    assert [len(chunk) for chunk in chunks] == [1] * 6
    assert np.abs(chunks[-1][0] - case.fresh(ids)).max() <= case.fresh_tolerance
    backend.close()


def test_other_calls_may_come_between_two_chunks(case: Case) -> None:
    backend = case.open(score_budget_bytes=1)
    ids, other = some_ids(backend, 8, seed=6), some_ids(backend, 9, seed=7)
    for position, chunk in enumerate(backend.score(ids, 1, 9), start=1):
        assert np.abs(chunk[0] - case.fresh(ids[:position])).max() <= case.fresh_tolerance
        assert_usable(case, backend, other[: 1 + position])
    backend.close()


def test_after_forgetting_rows_are_those_of_a_backend_just_loaded(case: Case) -> None:
    backend = case.open()
    ids, other = some_ids(backend, 70, seed=5), some_ids(backend, 50, seed=6)
    first = np.concatenate([chunk.copy() for chunk in backend.score(ids, 30, 71)])
    backend.next_logits([*ids[:20], *other])
    backend.next_logits(ids[:65])
    backend.forget()
    again = np.concatenate([chunk.copy() for chunk in backend.score(ids, 30, 71)])
    np.testing.assert_array_equal(again, first)
    backend.forget()
    backend.next_logits(ids)
    assert backend.last_pass.cached == 0
    backend.close()


def test_without_branches_a_rewind_and_another_text_give_the_same_rows(case: Case) -> None:
    backend = case.open(branches=False)
    ids, other = some_ids(backend, 70, seed=5), some_ids(backend, 50, seed=6)
    for text in (ids, ids[:40], [*ids[:30], *other], other, ids):
        assert np.abs(backend.next_logits(text) - case.fresh(text)).max() <= case.fresh_tolerance
    with_branches = case.open()
    assert backend.info.capabilities == with_branches.info.capabilities
    for opened in (backend, with_branches):
        opened.close()


# -- stopping and errors ------------------------------------------------------------------------


@pytest.mark.parametrize("looks", range(5))
def test_cancel_in_prefill_leaves_the_backend_usable(
    case: Case, backend: Backend, looks: int
) -> None:
    ids = some_ids(backend, 220, seed=10 + looks)
    backend.next_logits(ids[:20])
    watch = Watch(is_cancelled=CancelAfter(looks))
    try:
        row = backend.next_logits(ids, watch)
    except Cancelled:
        row = None
    # A stop that was asked for before the first token is never overlooked.
    assert row is None or looks > 0
    assert_usable(case, backend, ids[:25])
    assert_usable(case, backend, ids)


@pytest.mark.parametrize("looks", [0, 2, 3, 7])
def test_cancel_in_score_leaves_the_backend_usable(case: Case, looks: int) -> None:
    backend = case.open(score_budget_bytes=5 * 4 * 1008)
    ids = some_ids(backend, 80, seed=20 + looks)
    with pytest.raises(Cancelled):
        for _ in backend.score(ids, 1, 81, Watch(is_cancelled=CancelAfter(looks))):
            pass
    assert_usable(case, backend, ids[:50])
    assert_usable(case, backend, ids)
    backend.close()


def test_a_score_can_be_dropped_half_way(case: Case) -> None:
    backend = case.open(score_budget_bytes=1)
    ids = some_ids(backend, 30, seed=8)
    next(iter(backend.score(ids, 10, 31)))
    assert_usable(case, backend, ids)
    backend.close()


def test_progress_ends_at_all_tokens(backend: Backend) -> None:
    ids = some_ids(backend, 200, seed=9)
    seen: list[tuple[int, int]] = []
    backend.next_logits(ids, Watch(report=lambda done, total: seen.append((done, total))))
    assert seen[-1][0] == seen[-1][1]
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    rows: list[tuple[int, int]] = []
    watch = Watch(report=lambda done, total: rows.append((done, total)))
    for _ in backend.score(ids, 1, 201, watch):
        pass
    assert rows[-1] == (200, 200)


@pytest.mark.parametrize("ids", [[], [-1], [1, 2, 10**6], [2**40], [-(2**70)]])
def test_ids_that_cannot_be_evaluated_are_refused(
    case: Case, backend: Backend, ids: list[int]
) -> None:
    with pytest.raises(ValueError, match=r"\bids?\b"):
        backend.next_logits(ids)
    if ids:
        with pytest.raises(ValueError, match=r"\bids?\b"):
            list(backend.score(ids, 1, len(ids) + 1))
    assert_usable(case, backend, some_ids(backend, 4))


@pytest.mark.parametrize(("start", "stop"), [(0, 2), (3, 2), (1, 7), (-1, 1)])
def test_positions_without_a_row_are_refused(backend: Backend, start: int, stop: int) -> None:
    with pytest.raises(ValueError, match=rf"{start}.*{stop}"):
        list(backend.score(some_ids(backend, 5), start, stop))


def test_more_ids_than_the_context_holds(case: Case, backend: Backend) -> None:
    limit = backend.info.context_length
    ids = some_ids(backend, limit + 1)
    with pytest.raises(ContextOverflow, match=f"{limit + 1}.*{limit}"):
        backend.next_logits(ids)
    with pytest.raises(ContextOverflow):
        list(backend.score(ids, 1, len(ids) + 1))
    assert_usable(case, backend, ids[:limit])


def test_the_last_id_may_lie_beyond_the_context_if_only_scored(backend: Backend) -> None:
    limit = backend.info.context_length
    ids = some_ids(backend, limit + 1, seed=11)
    last = [chunk.copy() for chunk in backend.score(ids, limit, limit + 1)]
    assert sum(len(chunk) for chunk in last) == 1


# -- several models -----------------------------------------------------------------------------


def test_two_models_live_side_by_side(case: Case) -> None:
    first, second = case.open(), case.open(case.other_path)
    ids = some_ids(first, 20, seed=12)
    before = first.next_logits(ids)
    other = second.next_logits([i % second.info.n_vocab for i in ids])
    assert second.info.n_vocab != first.info.n_vocab
    assert len(other) == second.info.n_vocab
    second.close()
    second.close()
    assert np.abs(first.next_logits(ids[:19]) - case.fresh(ids[:19])).max() <= case.fresh_tolerance
    assert np.abs(first.next_logits(ids) - before).max() <= case.noise
    first.close()


def test_info_is_filled(case: Case, backend: Backend) -> None:
    info = backend.info
    assert info.path == str(case.path)
    assert info.context_length > 0
    # What keeps nothing of a text cannot be cut back either.
    assert info.kv_bytes_per_token > 0 or not info.capabilities.prefix_reuse
    assert info.weight_bytes > 0
    assert info.device
    assert len(info.header_hash) == 64
    other = case.open(case.other_path)
    assert other.info.header_hash != info.header_hash
    other.close()
