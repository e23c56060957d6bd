"""What llama.cpp's cache keeps: counted in tokens, compared with a model that saw nothing else."""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from logitscope.backends.base import Cancelled, LoadOptions, Watch

if TYPE_CHECKING:
    LlamaCppBackend = Any

pytestmark = pytest.mark.llama
pytest.importorskip("llama_cpp", reason="the extra `llama` is not installed")

OPTIONS = LoadOptions(threads=1, cache_type="f32")
NOISE = 1e-3


def ids_of(n: int, seed: int = 0) -> list[int]:
    return [int(i) for i in np.random.default_rng(seed).integers(3, 250, n)]


@pytest.fixture
def backend(tiny_gguf: Path) -> Iterator[LlamaCppBackend]:
    opened = importlib.import_module("logitscope.backends.llamacpp").load(tiny_gguf, OPTIONS)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def mamba_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("gguf")
    pytest.importorskip("transformers", reason="the extra `torch` is not installed")
    target = tmp_path_factory.mktemp("mamba") / "mamba.gguf"
    path: Path = importlib.import_module("tiny_recurrent").write_mamba(target)
    return path


@pytest.fixture
def mamba(mamba_path: Path) -> Iterator[LlamaCppBackend]:
    opened = importlib.import_module("logitscope.backends.llamacpp").load(mamba_path, OPTIONS)
    yield opened
    opened.close()


def cost(backend: LlamaCppBackend, ids: Sequence[int]) -> tuple[int, int]:
    """(cached, evaluated) of one pass."""
    backend.next_logits(ids)
    return backend.last_pass.cached, backend.last_pass.evaluated


def assert_fresh(backend: LlamaCppBackend, path: Path, ids: Sequence[int]) -> None:
    fresh = importlib.import_module("logitscope.backends.llamacpp").load(path, OPTIONS)
    difference = np.abs(backend.next_logits(ids) - fresh.next_logits(ids)).max()
    fresh.close()
    assert difference <= NOISE


def test_an_edit_at_the_end_costs_what_changed(backend: LlamaCppBackend) -> None:
    ids = ids_of(120)
    assert cost(backend, ids) == (0, 120)
    assert cost(backend, [*ids[:118], 7]) == (118, 1)
    assert cost(backend, [*ids[:118], 7, 8, 9]) == (119, 2)
    assert cost(backend, [*ids[:118], 7, 8, 9]) == (120, 1)


def test_looking_back_keeps_what_lies_behind(backend: LlamaCppBackend) -> None:
    ids = ids_of(120)
    cost(backend, ids)
    for position in (90, 60, 100, 20, 61):
        assert cost(backend, ids[:position]) == (position - 1, 1)
    assert cost(backend, ids) == (119, 1)
    assert cost(backend, [*ids, 5]) == (120, 1)


def test_two_branches_and_a_look_back_all_stay(backend: LlamaCppBackend, tiny_gguf: Path) -> None:
    first = ids_of(100)
    second = first[:40] + ids_of(50, seed=1)
    cost(backend, first)
    assert cost(backend, second) == (40, 50)
    assert cost(backend, first) == (99, 1)
    assert cost(backend, second[:60]) == (59, 1)
    assert cost(backend, [*second, 9]) == (90, 1)
    assert cost(backend, [*first, 9]) == (100, 1)
    assert_fresh(backend, tiny_gguf, [*second, 9, 10])
    assert_fresh(backend, tiny_gguf, [*first, 9, 10])


def test_scoring_keeps_the_live_text(backend: LlamaCppBackend) -> None:
    ids = ids_of(100)
    cost(backend, ids)
    chunks = backend.score(ids, 1, 101)
    next(chunks)
    # The score is dropped half way, as when a key is pressed.
    assert cost(backend, [*ids, 5]) == (100, 1)
    assert sum(len(chunk) for chunk in backend.score(ids, 1, 101)) == 100
    assert cost(backend, [*ids, 5]) == (100, 1)


def test_scoring_reads_the_cached_prefix(backend: LlamaCppBackend) -> None:
    ids = ids_of(200)
    backend.next_logits(ids[:150])
    seen: list[tuple[int, int]] = []
    watch = Watch(report=lambda done, total: seen.append((done, total)))
    assert sum(len(chunk) for chunk in backend.score(ids, 150, 160, watch)) == 10
    # No prefill was reported: the rows themselves were all there was to do.
    assert seen == [(10, 10)]


def test_a_full_cache_makes_room_for_what_is_asked(
    backend: LlamaCppBackend, tiny_gguf: Path
) -> None:
    # Together they need 200 + 120 + 130 of 256 cells.
    texts = [ids_of(200)]
    texts += [texts[0][:80] + ids_of(120, seed=1), texts[0][:70] + ids_of(130, seed=2)]
    for ids in [*texts, *texts]:
        assert_fresh(backend, tiny_gguf, ids)


def test_a_forgotten_branch_is_dropped(backend: LlamaCppBackend) -> None:
    first = ids_of(60)
    second = first[:20] + ids_of(30, seed=1)
    cost(backend, first)
    cost(backend, second)
    for _ in range(300):
        cost(backend, second)
    assert cost(backend, first) == (20, 40)


def test_the_whole_context_can_be_filled(backend: LlamaCppBackend, tiny_gguf: Path) -> None:
    ids = ids_of(256)
    assert backend.info.context_length == 256
    assert_fresh(backend, tiny_gguf, ids)
    assert cost(backend, ids[:200]) == (199, 1)
    assert_fresh(backend, tiny_gguf, ids)


# -- stopping -----------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [1, 2, 127, 128, 255])
def test_the_native_test_sees_any_flag(value: int) -> None:
    test = importlib.import_module("logitscope.backends.llamacpp_lib").native_flag_test()
    assert test is not None
    flag = (ctypes.c_ubyte * 2)(0, 0)
    assert not test(ctypes.addressof(flag))
    flag[0] = value
    assert test(ctypes.addressof(flag))


def test_the_flag_stops_inside_a_batch(backend: LlamaCppBackend, tiny_gguf: Path) -> None:
    ids = ids_of(200)
    backend.next_logits(ids[:30])
    flag = (ctypes.c_ubyte * 2)(1, 0)
    # Python is never told, so only llama.cpp itself can have looked.
    watch = Watch(is_cancelled=lambda: False, flag_address=ctypes.addressof(flag))
    with pytest.raises(Cancelled):
        backend.next_logits(ids, watch)
    assert cost(backend, ids[:30]) == (29, 1)
    flag[0] = 0
    backend.next_logits(ids, watch)
    assert backend.last_pass.evaluated == 170
    assert_fresh(backend, tiny_gguf, ids)


def test_the_flag_stops_a_single_token(backend: LlamaCppBackend) -> None:
    ids = ids_of(30)
    backend.next_logits(ids)
    flag = (ctypes.c_ubyte * 2)(1, 0)
    watch = Watch(flag_address=ctypes.addressof(flag))
    with pytest.raises(Cancelled):
        backend.next_logits([*ids, 5], watch)
    assert cost(backend, [*ids, 5]) == (30, 1)


def test_an_old_flag_is_not_looked_at_again(backend: LlamaCppBackend) -> None:
    ids = ids_of(40)
    flag = (ctypes.c_ubyte * 2)(0, 0)
    backend.next_logits(ids, Watch(flag_address=ctypes.addressof(flag)))
    flag[0] = 1
    assert cost(backend, [*ids, 5]) == (40, 1)


def test_without_a_flag_python_is_asked_inside_a_batch(backend: LlamaCppBackend) -> None:
    looks = 0

    def is_cancelled() -> bool:
        nonlocal looks
        looks += 1
        return looks > 20

    with pytest.raises(Cancelled):
        backend.next_logits(ids_of(64), Watch(is_cancelled=is_cancelled))
    assert looks > 20
    assert cost(backend, ids_of(64)) == (0, 64)


def test_progress_counts_the_tokens_to_evaluate(backend: LlamaCppBackend) -> None:
    ids = ids_of(200)
    backend.next_logits(ids[:50])
    seen: list[tuple[int, int]] = []
    backend.next_logits(ids, Watch(report=lambda done, total: seen.append((done, total))))
    assert seen[-1] == (150, 150)
    assert {total for _, total in seen} == {150}


# -- a memory that cannot be cut ----------------------------------------------------------------


def test_a_recurrent_model_starts_anew_where_it_cannot_go_back(
    mamba: LlamaCppBackend, mamba_path: Path
) -> None:
    ids = ids_of(50)
    assert not mamba.info.capabilities.prefix_reuse
    assert cost(mamba, ids) == (0, 50)
    assert cost(mamba, [*ids, 5]) == (50, 1)
    assert cost(mamba, [*ids, 5]) == (51, 0)
    assert cost(mamba, ids[:30]) == (0, 30)
    for text in (ids, ids[:10], [*ids[:10], 4], ids[:20]):
        assert_fresh(mamba, mamba_path, text)


def test_a_recurrent_model_survives_a_stop(mamba: LlamaCppBackend, mamba_path: Path) -> None:
    ids = ids_of(60)
    mamba.next_logits(ids[:20])
    flag = (ctypes.c_ubyte * 2)(1, 0)
    with pytest.raises(Cancelled):
        mamba.next_logits(ids, Watch(flag_address=ctypes.addressof(flag)))
    assert_fresh(mamba, mamba_path, ids)


def test_a_recurrent_model_scores(mamba: LlamaCppBackend) -> None:
    ids = ids_of(30)
    rows = np.concatenate([chunk.copy() for chunk in mamba.score(ids, 5, 31)])
    assert len(rows) == 26
    for position, row in enumerate(rows, start=5):
        assert np.abs(row - mamba.next_logits(ids[:position])).max() <= NOISE


def test_a_kept_row_belongs_to_the_caller(mamba: LlamaCppBackend) -> None:
    ids = ids_of(10)
    row = mamba.next_logits(ids)
    kept = row.copy()
    row[:] = 0
    again = mamba.next_logits(ids)
    assert np.array_equal(again, kept)
    again[:] = 0
    assert np.array_equal(mamba.next_logits(ids), kept)
