"""GGUF headers: honest files give what the gguf package reads, every other file one sentence."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import struct
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from logitscope.backends.base import ModelFileError
from logitscope.backends.gguf_header import read_header
from logitscope.backends.gguf_types import FILE_TYPES, TENSOR_TYPES

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


# -- honest files ----------------------------------------------------------------------------


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


# -- files that are no model -------------------------------------------------------------------


def test_array_length_of_2_to_the_63_in_49_bytes(tmp_path: Path) -> None:
    path = tmp_path / "endless.gguf"
    raw = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + text("a") + struct.pack("<IIQ", ARRAY, 0, HUGE)
    path.write_bytes(raw)
    assert len(raw) == 49
    start = time.perf_counter()
    assert "damaged" in sentence_for(path)
    assert time.perf_counter() - start < 1


HOSTILE: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is empty"),
    "random bytes": (bytes(range(97, 123)) * 40, "is not a GGUF file"),
    "two bytes": (b"GG", "is not a GGUF file"),
    "only the magic": (b"GGUF", "ends inside its header"),
    "cut in the counts": (document([ARCHITECTURE])[:20], "ends inside its header"),
    "version 1": (document([ARCHITECTURE], version=1), "version 1"),
    "version 4": (document([ARCHITECTURE], version=4), "unknown GGUF version 4"),
    "big-endian": (document([ARCHITECTURE], version=0x03000000), "big-endian"),
    "2^63 tensors": (document([ARCHITECTURE], counts=(HUGE, 1)), "tensors"),
    "2^63 entries": (document([ARCHITECTURE], counts=(1, HUGE)), "metadata entries"),
    "60,000 entries": (document([ARCHITECTURE], counts=(1, 60_000)), "too short"),
    "long key": (document([struct.pack("<Q", HUGE)]), "damaged"),
    "long text": (
        document([pair("general.architecture", STRING, struct.pack("<Q", 1 << 40))]),
        "damaged",
    ),
    "long token": (
        document(
            [ARCHITECTURE, array("tokenizer.ggml.tokens", STRING, 1, struct.pack("<Q", HUGE))]
        ),
        "damaged",
    ),
    "2^63 tokens": (
        document([ARCHITECTURE, array("tokenizer.ggml.tokens", STRING, HUGE, b"")]),
        "damaged",
    ),
    "tokens as numbers": (
        document([ARCHITECTURE, array("tokenizer.ggml.tokens", UINT8, 2, b"ab")]),
        "wrong type uint8",
    ),
    "tokens as one text": (
        document([ARCHITECTURE, pair("tokenizer.ggml.tokens", STRING, text("a"))]),
        "wrong type string",
    ),
    "scores as bytes": (
        document([ARCHITECTURE, TOKENS, array("tokenizer.ggml.scores", UINT8, 4, b"abcd")]),
        "wrong type uint8",
    ),
    "token types as floats": (
        document([ARCHITECTURE, TOKENS, array("tokenizer.ggml.token_type", FLOAT32, 4, bytes(16))]),
        "wrong type float32",
    ),
    "fewer scores than tokens": (
        document([ARCHITECTURE, TOKENS, array("tokenizer.ggml.scores", FLOAT32, 3, bytes(12))]),
        "4 tokens but 3 entries",
    ),
    "architecture as a number": (
        document([pair("general.architecture", UINT32, bytes(4))]),
        "wrong type uint32",
    ),
    "architecture with a slash": (
        document([pair("general.architecture", STRING, text("../llama"))]),
        "architecture",
    ),
    "no architecture": (document([TOKENS]), "does not name its architecture"),
    "block count as a text": (
        document([ARCHITECTURE, pair("llama.block_count", STRING, text("2"))]),
        "wrong type string",
    ),
    "four thousand million blocks": (
        document([ARCHITECTURE, pair("llama.block_count", UINT32, b"\xff" * 4)]),
        "blocks",
    ),
    "alignment 2^30": (
        document([ARCHITECTURE, pair("general.alignment", UINT32, struct.pack("<I", 1 << 30))]),
        "alignment",
    ),
    "alignment 0": (
        document([ARCHITECTURE, pair("general.alignment", UINT32, bytes(4))]),
        "alignment",
    ),
    "alignment 48": (
        document([ARCHITECTURE, pair("general.alignment", UINT32, struct.pack("<I", 48))]),
        "alignment",
    ),
    "alignment as a text": (
        document([ARCHITECTURE, pair("general.alignment", STRING, text("32"))]),
        "wrong type string",
    ),
    "unknown value type": (document([ARCHITECTURE, pair("a", 77, bytes(8))]), "unknown (77)"),
    "bool of 2": (document([ARCHITECTURE, pair("a", BOOL, b"\x02")]), "neither true nor false"),
    "array of arrays": (
        document([ARCHITECTURE, array("a", ARRAY, 1, struct.pack("<IQ", UINT8, 1) + b"a")]),
        "array of arrays",
    ),
    "key twice": (document([ARCHITECTURE, ARCHITECTURE]), "twice"),
    "byte token <0x-1>": (
        document([ARCHITECTURE, strings("tokenizer.ggml.tokens", ["<0x-1>"])]),
        "no byte",
    ),
    "byte token without a name": (
        document(
            [
                ARCHITECTURE,
                TOKENS,
                array("tokenizer.ggml.token_type", INT32, 4, struct.pack("<4i", 3, 3, 6, 6)),
            ]
        ),
        "marked as a byte",
    ),
    "tensor twice": (document([ARCHITECTURE], [tensor(), tensor()]), "twice"),
    "five dimensions": (document([ARCHITECTURE], [tensor(shape=(1,) * 5)]), "dimensions"),
    "2^32 dimensions": (
        document([ARCHITECTURE], [text("t") + b"\xff" * 4 + bytes(64)]),
        "dimensions",
    ),
    "overflowing dimensions": (
        document([ARCHITECTURE], [tensor(shape=(1 << 32, 1 << 32))]),
        "impossible dimensions",
    ),
    "dimensions that overflow to something small": (
        document([ARCHITECTURE], [tensor(shape=(32, (1 << 61) + 1))]),
        "impossible dimensions",
    ),
    "negative dimension": (
        document([ARCHITECTURE], [tensor(shape=(32, (1 << 64) - 1))]),
        "impossible dimensions",
    ),
    "dimension 0": (document([ARCHITECTURE], [tensor(shape=(32, 0))]), "impossible dimensions"),
    "broken row": (document([ARCHITECTURE], [tensor(shape=(33, 4), kind=2)]), "whole Q4_0 blocks"),
    "unknown tensor type": (document([ARCHITECTURE], [tensor(kind=4)]), "unknown type 4"),
    "misaligned tensor": (document([ARCHITECTURE], [tensor(offset=7)]), "odd place"),
    "tensor at 2^62": (document([ARCHITECTURE], [tensor(offset=1 << 62)]), "beyond the end"),
    "weights cut": (document([ARCHITECTURE], data=100), "cut off"),
    "weights missing": (document([ARCHITECTURE], data=0), "cut off"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_file_is_refused_in_one_sentence(case: str, tmp_path: Path) -> None:
    raw, expected = HOSTILE[case]
    path = tmp_path / "hostile.gguf"
    path.write_bytes(raw)
    sentence = sentence_for(path)
    assert expected in sentence
    assert sentence.startswith("hostile.gguf")


def test_the_builder_of_hostile_files_builds_valid_ones(tmp_path: Path) -> None:
    path = tmp_path / "plain.gguf"
    path.write_bytes(document([ARCHITECTURE, TOKENS]))
    assert_agrees_with_gguf_package(path)


def test_every_cut_names_the_part_that_is_missing(small_model: Path, tmp_path: Path) -> None:
    raw, path = small_model.read_bytes(), tmp_path / "cut.gguf"
    data = read_header(small_model).data_offset
    first_tensor = raw.index(b"token_embd.weight")
    for length in range(1, len(raw), 61):
        path.write_bytes(raw[:length])
        sentence = sentence_for(path)
        if length < 24:
            assert "header" in sentence or "GGUF" in sentence
        elif length < first_tensor - 8:
            assert "metadata" in sentence or "too short" in sentence
        elif length >= data:
            assert "of its weights are missing" in sentence
        assert "download it again" in sentence or "not a GGUF" in sentence


@pytest.mark.parametrize(
    ("pairs", "tensors", "expected"),
    [
        ([ARCHITECTURE, TOKENS], [], "vocabulary without weights"),
        ([pair("general.architecture", STRING, text("bert"))], None, "embedding model"),
        (
            [ARCHITECTURE, pair("llama.pooling_type", UINT32, struct.pack("<I", 1))],
            None,
            "embedding model",
        ),
        ([ARCHITECTURE, pair("llama.attention.causal", BOOL, b"\0")], None, "embedding model"),
        ([pair("general.architecture", STRING, text("clip"))], None, "image part"),
        ([ARCHITECTURE, pair("general.type", STRING, text("adapter"))], None, "LoRA"),
    ],
)
def test_a_file_that_predicts_no_next_token_is_named_as_what_it_is(
    pairs: list[bytes], tensors: list[bytes] | None, expected: str, tmp_path: Path
) -> None:
    path = tmp_path / "other.gguf"
    path.write_bytes(document(pairs, tensors))
    header = read_header(path)
    with pytest.raises(ModelFileError, match=expected):
        header.require_language_model()


# -- paths --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["with spaces.gguf", "模型 ünï.gguf", "🦙👩‍👩‍👧.gguf", "plain"])
def test_any_name_is_read(name: str, small_model: Path, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(small_model.read_bytes())
    assert read_header(path).n_vocab == 300


def test_symlink_is_followed(small_model: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.gguf"
    link.symlink_to(small_model)
    assert read_header(link).n_vocab == 300


def test_broken_symlink_is_named(tmp_path: Path) -> None:
    link = tmp_path / "link.gguf"
    link.symlink_to(tmp_path / "gone.gguf")
    assert "link to a file that is not there" in sentence_for(link)


def test_missing_file_and_folder_are_named(tmp_path: Path) -> None:
    assert "no such file" in sentence_for(tmp_path / "absent.gguf")
    assert "is a folder" in sentence_for(tmp_path)
    assert "not a path" in sentence_for(Path("a\0b"))


def test_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.gguf"
    os.mkfifo(pipe)
    assert "not an ordinary file" in sentence_for(pipe)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (PermissionError(errno.EACCES, "Permission denied"), "may not be read by this user"),
        (FileNotFoundError(errno.ENOENT, "No such file"), "no such file"),
        (OSError(errno.EIO, "Input/output error"), "Input/output error"),
    ],
)
def test_system_errors_become_sentences(
    error: OSError, expected: str, small_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_args: Any, **_kwargs: Any) -> None:
        raise error

    monkeypatch.setattr(Path, "open", refuse)
    assert expected in sentence_for(small_model)


# -- split models -------------------------------------------------------------------------------


@pytest.fixture
def split_model(tmp_path: Path) -> list[Path]:
    write_small_model(tmp_path / "split.gguf", shards=2)
    return sorted(tmp_path.glob("split-*.gguf"))


def test_split_model_is_read_as_one(split_model: list[Path], small_model: Path) -> None:
    whole, joined = read_header(small_model), read_header(split_model[0])
    assert len(split_model) == 2
    assert joined.shards == tuple(split_model)
    assert joined.tensor_bytes == whole.tensor_bytes
    assert joined.file_bytes == sum(path.stat().st_size for path in split_model)


def test_missing_part_is_named(split_model: list[Path]) -> None:
    split_model[1].unlink()
    assert "split-00002-of-00002.gguf" in sentence_for(split_model[0])


def test_cut_part_is_named(split_model: list[Path]) -> None:
    split_model[1].write_bytes(split_model[1].read_bytes()[:-1000])
    sentence = sentence_for(split_model[0])
    assert sentence.startswith("split-00002-of-00002.gguf")
    assert "cut off" in sentence


def test_a_later_part_points_to_the_first(split_model: list[Path]) -> None:
    assert "open split-00001-of-00002.gguf" in sentence_for(split_model[1])


def test_a_renamed_part_asks_for_its_name(split_model: list[Path]) -> None:
    renamed = split_model[0].rename(split_model[0].with_name("mine.gguf"))
    assert "-00001-of-00002.gguf" in sentence_for(renamed)


# -- fuzz ---------------------------------------------------------------------------------------

INTERESTING = [0, 1, 0x7F, 0xFF, 1 << 31, (1 << 32) - 1, 1 << 40, HUGE - 1, HUGE, (1 << 64) - 1]
Mutation = tuple[str, int, int]


def mutations() -> st.SearchStrategy[list[Mutation]]:
    place = st.integers(0, 20_000)
    single = st.one_of(
        st.tuples(st.just("byte"), place, st.integers(0, 255)),
        st.tuples(st.just("word"), place, st.sampled_from(INTERESTING)),
        st.tuples(st.just("cut"), place, st.just(0)),
        st.tuples(st.just("drop"), place, st.integers(1, 64)),
        st.tuples(st.just("double"), place, st.integers(1, 512)),
    )
    return st.lists(single, min_size=1, max_size=5)


def mutate(raw: bytes, changes: list[Mutation]) -> bytes:
    operations: dict[str, Callable[[bytes, int, int], bytes]] = {
        "byte": lambda b, at, v: b[:at] + bytes([v]) + b[at + 1 :],
        "word": lambda b, at, v: b[:at] + struct.pack("<Q", v) + b[at + 8 :],
        "cut": lambda b, at, _: b[:at],
        "drop": lambda b, at, n: b[:at] + b[at + n :],
        "double": lambda b, at, n: b[: at + n] + b[at:],
    }
    for kind, place, value in changes:
        raw = operations[kind](raw, place % (len(raw) + 1), value)
    return raw


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(changes=mutations())
def test_mutated_files_give_a_header_or_a_sentence(
    changes: list[Mutation], small_model: Path, tmp_path: Path
) -> None:
    path = tmp_path / "mutated.gguf"
    path.write_bytes(mutate(small_model.read_bytes(), changes))
    tracemalloc.start()
    start = time.perf_counter()
    try:
        header = read_header(path)
    except ModelFileError as error:
        assert "\n" not in str(error)
    else:
        assert header.data_offset + header.tensor_bytes <= header.file_bytes + 64 * 3
    finally:
        seconds, peak = time.perf_counter() - start, tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert seconds < 1
    assert peak < 50e6
