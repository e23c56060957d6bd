"""The sizes that are decided before llama.cpp loads a GGUF file."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from llamacpp_loading import load

from logitscope.backends.base import LoadOptions, NotEnoughMemory
from logitscope.backends.gguf_header import GgufHeader, read_header
from logitscope.backends.llamacpp_plan import Plan, kv_bytes_per_token, make_plan

pytestmark = pytest.mark.llama
pytest.importorskip("llama_cpp", reason="the extra `llama` is not installed")

GIB = 1 << 30


@pytest.fixture
def header(tiny_gguf: Path) -> GgufHeader:
    return read_header(tiny_gguf)


def plan(
    header: GgufHeader, *, free: int = 64 * GIB, offload: bool = False, **options: Any
) -> Plan:
    return make_plan(header, LoadOptions(**options), can_offload=offload, free_bytes=free)


def larger(header: GgufHeader, **hyperparameters: int) -> GgufHeader:
    """The header with other hyperparameters of its architecture."""
    from dataclasses import replace

    changed = {f"llama.{key}": value for key, value in hyperparameters.items()}
    values = {**header.metadata.values, **changed}
    return replace(header, metadata=type(header.metadata)(values))


@pytest.mark.parametrize(("cache_type", "width"), [("f16", 2), ("f32", 4)])
def test_bytes_per_token_are_what_llama_cpp_allocates(
    tiny_gguf: Path, cache_type: str, width: int
) -> None:
    backend = load(tiny_gguf, LoadOptions(threads=1, cache_type=cache_type))
    # Keys and values of 2 layers with 4 heads of 16.
    assert backend.info.kv_bytes_per_token == 2 * 2 * 4 * 16 * width
    assert kv_bytes_per_token(read_header(tiny_gguf), cache_type) == 2 * 2 * 4 * 16 * width
    backend.close()


def test_heads_may_differ_from_block_to_block() -> None:
    uneven = SimpleNamespace(
        block_count=2,
        kv_head_counts=(4, 1),
        head_counts=(4,),
        embedding_length=64,
        number=lambda _key: None,
    )
    assert kv_bytes_per_token(uneven, "f16") == 5 * (16 + 16) * 2  # type: ignore[arg-type]


def test_the_models_own_context_is_taken(header: GgufHeader) -> None:
    assert plan(header).context == 256
    assert plan(header).notes == ()
    assert plan(header, context_length=100).context == 100


def test_long_contexts_are_cut_unless_asked_for(header: GgufHeader) -> None:
    long = larger(header, context_length=32768)
    assert plan(long).context == 8192
    assert "8,192 of the 32,768" in plan(long).notes[0]
    assert plan(long, context_length=20000).context == 20000
    assert plan(long, context_length=20000).notes == ()


def test_no_more_than_was_trained(header: GgufHeader) -> None:
    asked = plan(header, context_length=4096)
    assert asked.context == 256
    assert "256 tokens" in asked.notes[0]


def test_the_context_shrinks_to_the_free_memory(header: GgufHeader) -> None:
    # Keys and values of 40 layers, 32 heads of 128: 640 KiB a token in f16, 5 GiB at 8,192.
    big = larger(
        header,
        context_length=8192,
        block_count=40,
        embedding_length=4096,
        **{"attention.head_count": 32, "attention.head_count_kv": 32},
    )
    assert kv_bytes_per_token(big, "f16") == 40 * 2 * 4096 * 2
    assert plan(big, free=8 * GIB).context == 8192
    small = plan(big, free=3 * GIB)
    assert 512 <= small.context < 8192
    assert small.context % 256 == 0
    assert small.context * 655360 < 3 * GIB
    assert f"from 8,192 to {small.context:,} tokens" in small.notes[0]
    with pytest.raises(NotEnoughMemory, match=r"8,192 tokens of context.*3\.2 GB are free"):
        plan(big, free=3 * GIB, context_length=8192)


def test_too_little_memory_is_said_with_numbers(header: GgufHeader) -> None:
    with pytest.raises(NotEnoughMemory, match=r"tiny.*needs about 0\.\d GB.*0\.1 GB are free"):
        plan(header, free=100_000_000)


def test_memory_is_checked_before_llama_cpp_sees_the_file(
    tiny_gguf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    llamacpp = importlib.import_module("logitscope.backends.llamacpp")
    psutil = importlib.import_module("psutil")
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=50_000_000))
    monkeypatch.setattr(llamacpp, "open_native", lambda *_: pytest.fail("the file was opened"))
    with pytest.raises(NotEnoughMemory, match="needs about"):
        load(tiny_gguf)


@pytest.mark.parametrize("n_vocab", [1000, 32_000, 152_000, 262_144, 1_000_000])
@pytest.mark.parametrize("heads", [1, 32, 128])
def test_what_comes_on_top_of_weights_and_cache_is_bounded(
    header: GgufHeader, n_vocab: int, heads: int
) -> None:
    from dataclasses import replace

    big = larger(header, context_length=8192, **{"attention.head_count": heads})
    values = {**big.metadata.values, "tokenizer.ggml.tokens": ("x",) * n_vocab}
    big = replace(big, metadata=type(big.metadata)(values))
    assert big.n_vocab == n_vocab
    chosen = plan(big, score_budget_bytes=GIB)
    # Logits in the graph, in the output buffer and in the chunk; scores of all heads.
    rows = 3 * chosen.rows * n_vocab * 4
    scores = heads * chosen.batch * chosen.context * 4
    assert rows + scores < 400 << 20
    assert chosen.rows >= 1
    assert chosen.batch >= 32


def test_the_score_budget_counts(header: GgufHeader) -> None:
    row = 4 * 1008
    assert plan(header, score_budget_bytes=10 * row).rows == 10
    assert plan(header, score_budget_bytes=1).rows == 1


def test_layers_go_to_a_gpu_only_where_the_build_can(header: GgufHeader) -> None:
    assert plan(header, offload=True).gpu_layers == -1
    assert plan(header, offload=True, gpu_layers=7).gpu_layers == 7
    assert plan(header, offload=True, gpu_layers=0).gpu_layers == 0
    assert plan(header, offload=False, gpu_layers=7).gpu_layers == 0
    assert plan(header, offload=True, device="cpu").gpu_layers == 0


def test_an_unknown_cache_type_is_refused(header: GgufHeader) -> None:
    with pytest.raises(ValueError, match="q4_0"):
        plan(header, cache_type="q4_0")


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="cores cannot be withheld")
@pytest.mark.parametrize(
    ("cores", "usable", "threads"),
    [((4, 8), 8, 4), ((4, 8), 2, 2), ((None, 6), 6, 6), ((1, 2), 2, 1)],
)
def test_threads_are_the_physical_cores_one_may_use(
    header: GgufHeader,
    monkeypatch: pytest.MonkeyPatch,
    cores: tuple[int | None, int],
    usable: int,
    threads: int,
) -> None:
    """``cores`` are the physical ones, unknown on some machines, and the logical ones."""
    monkeypatch.setattr("psutil.cpu_count", lambda logical=True: cores[logical])
    monkeypatch.setattr("os.cpu_count", lambda: cores[True])
    monkeypatch.setattr("os.sched_getaffinity", lambda _process: set(range(usable)))
    assert plan(header).threads == threads
    assert plan(header, threads=3).threads == 3
