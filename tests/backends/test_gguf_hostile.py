"""Files that are no model, by hand and by chance: each gives one sentence, soon."""

from __future__ import annotations

import struct
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import gguf_parts
import pytest
from gguf_parts import (
    ARCHITECTURE,
    ARRAY,
    BOOL,
    FLOAT32,
    HUGE,
    INT32,
    STRING,
    TOKENS,
    UINT8,
    UINT32,
    array,
    assert_agrees_with_gguf_package,
    document,
    pair,
    sentence_for,
    strings,
    tensor,
    text,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from logitscope.backends.base import ModelFileError
from logitscope.backends.gguf_header import read_header

small_model = gguf_parts.small_model


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
