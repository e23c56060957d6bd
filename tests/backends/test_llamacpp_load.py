"""Loading GGUF files: sizes decided before, reasons told after, any path."""

from __future__ import annotations

import importlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from logitscope.backends.base import (
    UNWATCHED,
    BackendError,
    Cancelled,
    LoadOptions,
    ModelFileError,
    NotEnoughMemory,
    Watch,
)
from logitscope.backends.gguf_header import GgufHeader, read_header
from logitscope.backends.llamacpp_lib import LogTail
from logitscope.backends.llamacpp_plan import Plan, kv_bytes_per_token, make_plan

pytestmark = pytest.mark.llama
pytest.importorskip("llama_cpp", reason="the extra `llama` is not installed")

OPTIONS = LoadOptions(threads=1)
GIB = 1 << 30


def load(path: Path, options: LoadOptions = OPTIONS, watch: Watch = UNWATCHED) -> Any:
    return importlib.import_module("logitscope.backends.llamacpp").load(path, options, watch)


# -- reasons ------------------------------------------------------------------------------------


@pytest.fixture
def patched(tiny_gguf: Path, tmp_path: Path) -> Callable[[bytes, bytes], Path]:
    """The tiny model with some bytes of its header replaced by as many others."""

    def patch(old: bytes, new: bytes) -> Path:
        data = tiny_gguf.read_bytes()
        assert len(old) == len(new)
        assert data.count(old) >= 1
        path = tmp_path / "patched.gguf"
        path.write_bytes(data.replace(old, new, 1))
        return path

    return patch


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        # The value of general.architecture, behind its type (8) and its length (5).
        (b"\x08\0\0\0\x05\0\0\0\0\0\0\0llama", b"\x08\0\0\0\x05\0\0\0\0\0\0\0llamz", "'llamz'"),
        (b"blk.1.attn_q.weight", b"blk.1.attn_y.weight", "blk.1.attn_q.weight"),
        (b"\x05\0\0\0\0\0\0\0gpt-2", b"\x05\0\0\0\0\0\0\0gpt-x", "gpt-x"),
    ],
)
def test_the_sentence_carries_the_librarys_own_reason(
    patched: Callable[[bytes, bytes], Path], old: bytes, new: bytes, reason: str
) -> None:
    with pytest.raises(ModelFileError, match=reason) as caught:
        load(patched(old, new))
    sentence = str(caught.value)
    assert sentence.startswith("patched.gguf cannot be loaded (")
    assert "\n" not in sentence
    assert "llama_model_load" not in sentence
    assert "llama_model_load" in caught.value.detail


def test_a_failed_load_does_not_speak_for_the_next(
    patched: Callable[[bytes, bytes], Path], tiny_gguf: Path
) -> None:
    broken = patched(b"blk.1.attn_q.weight", b"blk.1.attn_y.weight")
    for _ in range(2):
        with pytest.raises(ModelFileError, match="attn_q"):
            load(broken)
        load(tiny_gguf).close()


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (
            [
                (2, "print_info: file size = 1 MiB\n"),
                (4, "llama_model_load: error loading model: unknown model architecture: 'x'\n"),
                (4, "llama_model_load_from_file_impl: failed to load model\n"),
            ],
            "unknown model architecture: 'x'",
        ),
        (
            [
                (4, "ggml_aligned_malloc: insufficient memory (attempted to allocate 9 MB)\n"),
                (4, "alloc_tensor_range: failed to allocate CPU buffer of size 9437184\n"),
                (4, "llama_init_from_model: failed to initialize the context: failed to \n"),
            ],
            "insufficient memory (attempted to allocate 9 MB)",
        ),
        (
            [(4, "llama_init_from_model: failed to initialize the context: std::bad_alloc\n")],
            "failed to initialize the context: std::bad_alloc",
        ),
        ([(4, "ggml_backend_alloc: failed to "), (5, "allocate buffer\n")], "failed to allocate"),
        ([(4, "llama_model_load_from_file_impl: failed to load model\n")], "failed to load model"),
        ([(2, "nothing wrong\n"), (3, "a warning\n")], ""),
    ],
)
def test_the_telling_line_is_chosen(lines: list[tuple[int, str]], reason: str) -> None:
    tail = LogTail()
    for level, text in lines:
        tail.add(level, text)
    assert tail.reason().startswith(reason)
    assert bool(tail.reason()) == bool(reason)


def test_the_log_keeps_only_the_end() -> None:
    tail = LogTail(size=10)
    for number in range(100):
        tail.add(2, f"line {number}\n")
    assert tail.lines() == [f"line {number}" for number in range(90, 100)]


def test_loading_prints_nothing(tiny_gguf: Path, capfd: pytest.CaptureFixture[str]) -> None:
    backend = load(tiny_gguf)
    backend.next_logits([1, 2, 3])
    backend.close()
    assert capfd.readouterr() == ("", "")


# -- files that are no language model -----------------------------------------------------------


def write_header(path: Path, architecture: str, **numbers: int) -> Path:
    """A GGUF with a tokenizer and one tensor, or none if its width is 0."""
    gguf = pytest.importorskip("gguf")
    numpy = importlib.import_module("numpy")
    width = numbers.get("width", 32)
    writer = gguf.GGUFWriter(str(path), architecture)
    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_block_count(1)
    if "pooling" in numbers:
        writer.add_pooling_type(gguf.PoolingType(numbers["pooling"]))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(["a", "b"])
    writer.add_token_types([1, 1])
    if width:
        writer.add_tensor("token_embd.weight", numpy.zeros((2, width), dtype=numpy.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.parametrize(
    ("architecture", "numbers", "reason"),
    [
        ("llama", {"width": 0}, "vocabulary without weights"),
        ("bert", {}, "embedding model"),
        ("llama", {"pooling": 1}, "embedding model"),
    ],
)
def test_what_predicts_no_token_is_refused(
    tmp_path: Path, architecture: str, numbers: dict[str, int], reason: str
) -> None:
    path = write_header(tmp_path / "other.gguf", architecture, **numbers)
    with pytest.raises(ModelFileError, match=rf"^other\.gguf .*{reason}.*: choose"):
        load(path)


# -- paths --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["two words.gguf", "模型 мод 🦙.gguf", "ex%20tra&'\"#.gguf", "no ending", "-rf.gguf"]
)
def test_any_name_works(tiny_gguf: Path, tmp_path: Path, name: str) -> None:
    path = tmp_path / "ordner mit é" / name
    path.parent.mkdir()
    shutil.copy(tiny_gguf, path)
    backend = load(path)
    assert backend.info.path == str(path)
    assert backend.next_logits([5]).shape == (1008,)
    backend.close()


@pytest.mark.skipif(os.name == "nt", reason="names are Unicode on Windows, links need rights")
def test_links_and_undecodable_names_work(tiny_gguf: Path, tmp_path: Path) -> None:
    raw = tmp_path / os.fsdecode(b"caf\xe9.gguf")
    shutil.copy(tiny_gguf, raw)
    link = tmp_path / "link.gguf"
    link.symlink_to(raw)
    for path in (raw, link):
        backend = load(path)
        assert backend.next_logits([5]).shape == (1008,)
        backend.close()


@pytest.mark.skipif(os.name == "nt", reason="an open file cannot be deleted on Windows")
def test_a_file_deleted_while_open_can_still_be_used(tiny_gguf: Path, tmp_path: Path) -> None:
    path = tmp_path / "gone.gguf"
    shutil.copy(tiny_gguf, path)
    backend = load(path)
    expected = backend.next_logits([5, 6, 7])
    path.unlink()
    backend.next_logits([9])
    assert abs(backend.next_logits([5, 6, 7]) - expected).max() < 0.1
    backend.close()
    with pytest.raises(ModelFileError, match=r"gone\.gguf: there is no such file"):
        load(path)


# -- progress and closing -----------------------------------------------------------------------


def test_progress_is_per_mille_and_never_falls(tiny_gguf: Path) -> None:
    seen: list[tuple[int, int]] = []
    load(tiny_gguf, watch=Watch(report=lambda done, total: seen.append((done, total)))).close()
    assert {total for _, total in seen} == {1000}
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert seen[-1] == (1000, 1000)


@pytest.mark.parametrize("looks", [0, 1, 3])
def test_a_load_can_be_stopped(tiny_gguf: Path, looks: int) -> None:
    left = looks

    def is_cancelled() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    with pytest.raises(Cancelled):
        load(tiny_gguf, watch=Watch(is_cancelled=is_cancelled))
    load(tiny_gguf).close()


def test_a_closed_backend_says_so(tiny_gguf: Path) -> None:
    backend = load(tiny_gguf)
    chunks = backend.score([1, 2, 3], 1, 4)
    backend.close()
    backend.close()
    for call in (
        lambda: backend.next_logits([1]),
        lambda: next(chunks),
        lambda: backend.tokenize("a", add_special=False, parse_special=False),
        lambda: backend.render_chat([], add_generation_prompt=False),
    ):
        with pytest.raises(BackendError, match="closed"):
            call()


# -- the plan -----------------------------------------------------------------------------------


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


def test_an_unknown_cache_type_is_refused(header: GgufHeader) -> None:
    with pytest.raises(ValueError, match="q4_0"):
        plan(header, cache_type="q4_0")


def test_threads_are_the_cores_one_may_use(header: GgufHeader) -> None:
    psutil = importlib.import_module("psutil")
    assert 1 <= plan(header).threads <= psutil.cpu_count()
    assert plan(header, threads=3).threads == 3


def test_a_split_model_loads_as_one(
    tiny_hf: Path, tiny_gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gguf = importlib.import_module("gguf")
    whole = gguf.GGUFWriter
    monkeypatch.setattr(
        gguf, "GGUFWriter", lambda path, arch: whole(path, arch, split_max_tensors=9)
    )
    importlib.import_module("tiny_models").convert_to_gguf(tiny_hf, tmp_path / "parts.gguf")
    parts = sorted(tmp_path.glob("parts-*.gguf"))
    assert len(parts) > 1
    backend, single = load(parts[0]), load(tiny_gguf)
    assert backend.info.parameters == single.info.parameters
    assert (backend.next_logits([5, 6, 7]) == single.next_logits([5, 6, 7])).all()
    backend.close()
    single.close()
    with pytest.raises(ModelFileError, match=r"later part.*00001-of"):
        load(parts[1])
