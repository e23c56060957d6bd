"""Loading GGUF files with llama.cpp: reasons told after, any path, progress, closing."""

from __future__ import annotations

import importlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llamacpp_loading import load

from logitscope.backends.base import (
    UNWATCHED,
    BackendError,
    Cancelled,
    LoadOptions,
    ModelFileError,
    Watch,
)
from logitscope.backends.gguf_header import read_header
from logitscope.backends.llamacpp_lib import LogTail, library
from logitscope.backends.llamacpp_load import open_native
from logitscope.backends.llamacpp_plan import make_plan

pytestmark = pytest.mark.llama
pytest.importorskip("llama_cpp", reason="the extra `llama` is not installed")


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


# -- mapping ------------------------------------------------------------------------------------


@pytest.fixture
def load_modes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How llama.cpp was told to read each file."""
    lib, modes = library(), []
    original = lib.llama_model_load_from_file

    def load_and_tell(path: bytes, parameters: Any) -> Any:
        modes.append(parameters.load_mode)
        return original(path, parameters)

    monkeypatch.setattr(lib, "llama_model_load_from_file", load_and_tell)
    return modes


def test_weights_on_the_cpu_are_mapped(tiny_gguf: Path, load_modes: list[int]) -> None:
    backend = load(tiny_gguf, LoadOptions(device="cpu", threads=1))
    assert load_modes == [library().LLAMA_LOAD_MODE_MMAP]
    maps = Path("/proc/self/maps")
    # What the system says; by then the file itself has been closed again.
    assert not maps.exists() or str(tiny_gguf.resolve()) in maps.read_text()
    backend.close()


def test_with_layers_on_a_gpu_the_library_chooses(tiny_gguf: Path, load_modes: list[int]) -> None:
    plan = make_plan(read_header(tiny_gguf), LoadOptions(threads=1), can_offload=True)
    assert plan.gpu_layers
    # A build without a GPU takes the layers to the CPU by itself.
    open_native(tiny_gguf, plan, "f32", UNWATCHED).free()
    assert load_modes == [library().LLAMA_LOAD_MODE_AUTO]


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
