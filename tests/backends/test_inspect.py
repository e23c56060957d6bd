"""Files are looked at from a child process; whatever they do to it, the answer is one sentence."""

from __future__ import annotations

import json
import multiprocessing
import struct
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from logitscope.backends import inspect as inspect_module
from logitscope.backends.base import ModelFileError
from logitscope.backends.inspect import estimate_memory, inspect

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 64,
    "max_position_embeddings": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "hidden_size": 32,
    "tie_word_embeddings": True,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A whole Hugging Face folder with one tensor of 64 × 32 float16."""
    numpy_files = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "modèle 🦙"
    path.mkdir()
    (path / "config.json").write_text(json.dumps(CONFIG))
    (path / "tokenizer.json").write_text('{"model": {}}')
    (path / "chat_template.jinja").write_text("{{ messages }}")
    weights = {"model.embed_tokens.weight": np.ones((64, 32), dtype=np.float16)}
    numpy_files.save_file(weights, path / "model.safetensors")
    return path


def sentence_for(path: Path, **limits: Any) -> str:
    with pytest.raises(ModelFileError) as caught:
        inspect(path, **limits)
    sentence = str(caught.value)
    assert sentence
    assert "\n" not in sentence
    assert "Traceback" not in sentence
    return sentence


def test_folder_is_summarized(folder: Path) -> None:
    summary = inspect(folder)
    assert summary.format == "Hugging Face"
    assert (summary.architecture, summary.quantization) == ("llama", "float16")
    assert (summary.n_vocab, summary.context_length, summary.block_count) == (64, 128, 2)
    assert summary.parameters == 64 * 32
    assert summary.weight_bytes == 64 * 32 * 4
    # 2 blocks, keys and values, 2 heads of 32 / 4 elements.
    assert summary.kv_elements_per_token == 2 * 2 * 2 * 8
    assert summary.has_chat_template
    assert summary.refusal == ""


@pytest.mark.gemma
def test_real_model_is_summarized_and_its_memory_estimated(gemma_path: Path) -> None:
    summary = inspect(gemma_path)
    assert (summary.format, summary.architecture) == ("GGUF 3", "gemma3")
    assert summary.file_bytes == gemma_path.stat().st_size
    estimate = estimate_memory(summary, 2048, "f32")
    # 18 blocks, one key and one value of 256 elements, four bytes each.
    assert estimate.kv_cache == 2048 * 18 * (256 + 256) * 4
    assert estimate.weights == summary.weight_bytes
    # At least one chunk of 64 MB of logits in llama.cpp's graph, its output buffer and ours.
    assert 3 * (64 << 20) < estimate.buffers < 600e6
    assert estimate.total == estimate.weights + estimate.kv_cache + estimate.buffers
    assert estimate_memory(summary, 2048, "f16").kv_cache * 2 == estimate.kv_cache


@pytest.mark.parametrize(
    ("name", "contents", "expected"),
    [
        ("config.json", None, "config.json"),
        ("config.json", b'{"model_type": ', "not valid JSON"),
        ("config.json", b"[" * 200_000, "not valid JSON"),
        ("config.json", b"[]", "object"),
        ("tokenizer.json", None, "tokenizer"),
        ("tokenizer.json", b"\xff\xfe{", "not valid JSON"),
        ("model.safetensors", None, "weights"),
        ("model.safetensors", b"", "damaged or cut off"),
        ("model.safetensors", struct.pack("<Q", 1 << 63) + b"{}", "damaged or cut off"),
        ("model.safetensors", struct.pack("<Q", 2) + b"{]", "damaged header"),
    ],
)
def test_damaged_folder_is_refused(
    name: str, contents: bytes | None, expected: str, folder: Path
) -> None:
    if contents is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(contents)
    assert expected in sentence_for(folder)


def test_missing_shard_is_named(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    shards = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": shards}))
    assert "model-00002-of-00002.safetensors" in sentence_for(folder)


def test_pickled_weights_are_refused_with_the_reason(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    assert "pickle" in sentence_for(folder)


def test_cut_weights_are_named(folder: Path) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-7])
    assert "cut off" in sentence_for(folder)


@pytest.mark.parametrize(
    "changes",
    [{"architectures": ["BertModel"]}, {"is_encoder_decoder": True}],
)
def test_a_model_without_next_token_is_named_as_what_it_is(
    changes: dict[str, Any], folder: Path
) -> None:
    (folder / "config.json").write_text(json.dumps(CONFIG | changes))
    assert "choose a text generation model" in inspect(folder).refusal


def test_hostile_gguf_becomes_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "endless.gguf"
    key = struct.pack("<Q", 1) + b"a"
    path.write_bytes(
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + key + struct.pack("<IIQ", 9, 0, 1 << 63)
    )
    assert "damaged" in sentence_for(path)


def test_missing_path_becomes_a_sentence(tmp_path: Path) -> None:
    assert "no such file" in sentence_for(tmp_path / "absent.gguf")


def test_time_limit_becomes_a_sentence_and_leaves_no_process(folder: Path) -> None:
    start = time.monotonic()
    assert "took more than 0.001 seconds" in sentence_for(folder, seconds=0.001)
    assert time.monotonic() - start < 5
    assert not [c for c in multiprocessing.active_children() if c.name == "inspect"]


@pytest.mark.skipif(not hasattr(multiprocessing, "reduction"), reason="needs POSIX")
def test_memory_limit_becomes_a_sentence(folder: Path) -> None:
    resource = pytest.importorskip("resource")
    assert resource.RLIMIT_AS is not None
    big = json.dumps({"model": {}, "filler": ["x" * 50] * 600_000})
    (folder / "tokenizer.json").write_text(big)
    sentence = sentence_for(folder, memory_bytes=96 << 20)
    assert "too much memory" in sentence or "ended the process" in sentence


def test_death_of_the_child_becomes_a_sentence(tmp_path: Path) -> None:
    reader, writer = multiprocessing.Pipe(duplex=False)
    writer.close()
    with pytest.raises(ModelFileError, match="ended the process that read it"):
        inspect_module._receive(reader, tmp_path / "model.gguf", 1.0)
    reader.close()
