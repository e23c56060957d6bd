"""GGUF headers: honest files give what the gguf package reads."""

from __future__ import annotations

import ctypes
import hashlib
import time
from pathlib import Path

import gguf_parts
import pytest
from gguf_parts import ARCHITECTURE, assert_agrees_with_gguf_package, document, tensor

from logitscope.backends.gguf_header import read_header
from logitscope.backends.gguf_types import FILE_TYPES, TENSOR_TYPES

small_model = gguf_parts.small_model

gguf = pytest.importorskip("gguf")


def test_values_and_tensors_agree_with_the_gguf_package(small_model: Path) -> None:
    assert_agrees_with_gguf_package(small_model)


@pytest.mark.gemma
def test_the_real_model_agrees_with_the_gguf_package(gemma_path: Path) -> None:
    assert_agrees_with_gguf_package(gemma_path)


@pytest.mark.gemma
def test_the_real_model_is_described(gemma_path: Path) -> None:
    header = read_header(gemma_path)
    header.require_language_model()
    # Published numbers of Gemma 3 270M: 268 million weights, 262,144 tokens, 18 blocks, 32k.
    assert (header.architecture, header.quantization) == ("gemma3", "Q4_K_M")
    assert (header.n_vocab, header.block_count, header.context_length) == (262_144, 18, 32_768)
    assert header.parameters == 268_098_176
    assert header.file_bytes == gemma_path.stat().st_size
    assert header.tied_embeddings


@pytest.mark.gemma
def test_a_vocabulary_of_262144_tokens_is_checked_quickly(gemma_path: Path) -> None:
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        read_header(gemma_path)
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 0.8  # about 0.12 s on an idle core


def test_summary_of_a_small_model(small_model: Path) -> None:
    header = read_header(small_model)
    header.require_language_model()
    assert header.name == "Small ünïcode model"
    assert header.quantization == "Q4_K_M"
    assert (header.n_vocab, header.context_length, header.block_count) == (300, 2048, 2)
    assert (header.head_counts, header.kv_head_counts) == ((4, 2), (2,))
    assert header.parameters == 300 * 32 + 32 * 32
    assert header.tensor_bytes == 300 * 32 * 4 + 32 * 32 * 2
    assert header.has_chat_template
    assert not (header.is_vocabulary_only or header.is_encoder_only)


def test_hash_covers_the_bytes_before_the_weights(small_model: Path, tmp_path: Path) -> None:
    raw = small_model.read_bytes()
    reader = gguf.GGUFReader(str(small_model))
    last = max(
        field.offset + sum(p.nbytes for p in field.parts) for field in reader.fields.values()
    )
    listed = reader.tensors[-1].field
    end = max(last, listed.offset + sum(p.nbytes for p in listed.parts))
    assert read_header(small_model).header_sha256 == hashlib.sha256(raw[:end]).hexdigest()
    other_weights = tmp_path / "other.gguf"
    other_weights.write_bytes(raw[:-8] + b"12345678")
    assert read_header(other_weights).header_sha256 == read_header(small_model).header_sha256


def test_quantization_falls_back_to_the_type_of_most_weights(tmp_path: Path) -> None:
    path = tmp_path / "untold.gguf"
    tensors = [tensor("a", (32, 1), 0), tensor("b", (64, 4), 8, offset=128)]
    path.write_bytes(document([ARCHITECTURE], tensors, data=128 + 2 * 4 * 34))
    assert read_header(path).quantization == "Q8_0"


def test_tables_agree_with_the_gguf_package() -> None:
    sizes = gguf.GGML_QUANT_SIZES
    for kind in gguf.GGMLQuantizationType:
        if kind.name != "Q8_1":
            assert TENSOR_TYPES[int(kind)] == (kind.name, *sizes[kind])
    for kind in gguf.LlamaFileType:
        if kind.name != "GUESSED":
            assert FILE_TYPES[int(kind)] == kind.name.replace("MOSTLY_", "").replace("ALL_", "")


@pytest.mark.llama
def test_tensor_types_agree_with_llama_cpp() -> None:
    llama_cpp = pytest.importorskip("llama_cpp")
    found = list((Path(llama_cpp.__file__).parent / "lib").glob("*ggml-base.*"))
    if not found:
        pytest.skip("this build of llama.cpp carries no separate ggml library")
    library = ctypes.CDLL(str(found[0]))
    library.ggml_type_size.restype = ctypes.c_size_t
    library.ggml_blck_size.restype = ctypes.c_int64
    for number, kind in TENSOR_TYPES.items():
        assert library.ggml_blck_size(number) == kind.block, kind.name
        assert library.ggml_type_size(number) == kind.size, kind.name
