"""GGUF files put together by hand or by the gguf package, and what our reader says of them."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from logitscope.backends.base import ModelFileError
from logitscope.backends.gguf_header import read_header

gguf = pytest.importorskip("gguf")

UINT8, UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY = 0, 4, 5, 6, 7, 8, 9
HUGE = 1 << 63


def text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def pair(key: str, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def array(key: str, element: int, count: int, values: bytes) -> bytes:
    return pair(key, ARRAY, struct.pack("<IQ", element, count) + values)


def strings(key: str, values: list[str]) -> bytes:
    return array(key, STRING, len(values), b"".join(map(text, values)))


def tensor(
    name: str = "token_embd.weight",
    shape: tuple[int, ...] = (32, 4),
    kind: int = 0,
    offset: int = 0,
) -> bytes:
    sizes = struct.pack(f"<{len(shape)}Q", *shape)
    return text(name) + struct.pack("<I", len(shape)) + sizes + struct.pack("<IQ", kind, offset)


ARCHITECTURE = pair("general.architecture", STRING, text("llama"))
TOKENS = strings("tokenizer.ggml.tokens", ["<s>", "</s>", "<0x41>", "a"])


def document(
    pairs: list[bytes],
    tensors: list[bytes] | None = None,
    *,
    data: int = 32 * 4 * 4,
    version: int = 3,
    counts: tuple[int, int] | None = None,
) -> bytes:
    """A whole GGUF file from its parts, padded to the default alignment of 32."""
    tensors = [tensor()] if tensors is None else tensors
    n_tensors, n_pairs = counts or (len(tensors), len(pairs))
    head = b"GGUF" + struct.pack("<IQQ", version, n_tensors, n_pairs) + b"".join(pairs + tensors)
    return head + bytes(-len(head) % 32) + bytes(data)


def write_small_model(path: Path, *, shards: int = 0) -> None:
    """A vocabulary of 300 tokens and two tensors, written by the gguf package."""
    split = {"split_max_tensors": 1} if shards else {}
    writer = gguf.GGUFWriter(str(path), "llama", **split)
    writer.add_name("Small ünïcode model")
    writer.add_file_type(15)
    writer.add_context_length(2048)
    writer.add_block_count(2)
    writer.add_embedding_length(32)
    writer.add_head_count([4, 2])
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([f"<0x{n:02X}>" for n in range(256)] + [f"token{n}" for n in range(44)])
    writer.add_token_types([6] * 256 + [1] * 44)
    writer.add_token_scores([-float(n) for n in range(300)])
    writer.add_bos_token_id(1)
    writer.add_add_bos_token(True)
    writer.add_chat_template("{{ messages }}")
    writer.add_tensor("token_embd.weight", np.ones((300, 32), dtype=np.float32))
    writer.add_tensor("blk.0.attn_q.weight", np.ones((32, 32), dtype=np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture(scope="module")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gguf") / "small.gguf"
    write_small_model(path)
    return path


def sentence_for(path: Path) -> str:
    """The one sentence with which the file is refused."""
    with pytest.raises(ModelFileError) as caught:
        read_header(path)
    sentence = str(caught.value)
    assert sentence
    assert "\n" not in sentence
    return sentence


def assert_agrees_with_gguf_package(path: Path) -> None:
    header, reader = read_header(path), gguf.GGUFReader(str(path))
    fields = {k: f for k, f in reader.fields.items() if not k.startswith("GGUF.")}
    assert set(header.metadata.values) == set(fields)
    for key, value in header.metadata.values.items():
        length = header.metadata.array_length(key)
        if length is None:
            assert value == fields[key].contents(), key
        else:
            assert length == len(fields[key].data), key
            if type(value) is tuple:
                assert list(value) == fields[key].contents(), key
    ours = [(t.name, list(t.shape), t.bytes, t.elements) for t in header.tensors]
    theirs = [(t.name, t.shape.tolist(), t.n_bytes, t.n_elements) for t in reader.tensors]
    assert ours == theirs
    assert header.data_offset == reader.data_offset
    offsets = [t.data_offset - reader.data_offset for t in reader.tensors]
    assert [t.offset for t in header.tensors] == offsets
