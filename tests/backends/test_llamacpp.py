"""The real Gemma 3 270M through llama.cpp: known numbers, exact bytes, bounded memory."""

from __future__ import annotations

import ctypes
import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from logitscope.backends.base import BackendError, Cancelled, LoadOptions, Watch
from logitscope.vocabulary import TokenKind

if TYPE_CHECKING:
    LlamaCppBackend = Any

pytestmark = [pytest.mark.gemma, pytest.mark.llama]
pytest.importorskip("llama_cpp", reason="the extra `llama` is not installed")

# One thread: two that wait for each other are far slower than one on a busy machine.
OPTIONS = LoadOptions(threads=1, context_length=2048)

FRANCE = "The capital of France is"
FRANCE_IDS = [2, 818, 5279, 529, 7001, 563]


@pytest.fixture(scope="module")
def backend(gemma_path: Path) -> Iterator[LlamaCppBackend]:
    opened = importlib.import_module("logitscope.backends.llamacpp").load(gemma_path, OPTIONS)
    yield opened
    opened.close()


def probabilities(row: np.ndarray) -> np.ndarray:
    exact = row.astype(np.float64)
    weights = np.exp(exact - exact.max())
    return weights / weights.sum()


def test_ids_of_a_known_text(backend: LlamaCppBackend) -> None:
    assert backend.tokenize(FRANCE, add_special=True, parse_special=False) == FRANCE_IDS
    assert backend.tokenize(FRANCE, add_special=False, parse_special=False) == FRANCE_IDS[1:]


def test_rows_do_not_depend_on_the_number_of_threads(
    backend: LlamaCppBackend, gemma_path: Path
) -> None:
    """Or a busy machine, where fewer of them compute, would show other numbers."""
    module = importlib.import_module("logitscope.backends.llamacpp")
    other = module.load(gemma_path, LoadOptions(threads=2, context_length=2048))
    ids = np.random.default_rng(1).integers(1000, 100_000, 300).tolist()
    try:
        for length in (300, 301, 302):
            text = ids[:length] + FRANCE_IDS[1 : length - 299]
            np.testing.assert_array_equal(other.next_logits(text), backend.next_logits(text))
    finally:
        other.close()


@pytest.mark.parametrize(
    ("text", "known"),
    [
        (FRANCE, {" the": 0.179, " a": 0.108, " Paris": 0.091}),
        ("The sky is", {" the": 0.342, " blue": 0.216, " a": 0.091}),
    ],
)
def test_probabilities_of_llama_cpp_itself(
    backend: LlamaCppBackend, text: str, known: dict[str, float]
) -> None:
    # Values of llama-cpp-python's own Llama class on this file.
    ids = backend.tokenize(text, add_special=True, parse_special=False)
    found = probabilities(backend.next_logits(ids))
    for piece, probability in known.items():
        (token_id,) = backend.vocabulary.ids_of_bytes(piece.encode())
        assert found[token_id] == pytest.approx(probability, abs=0.01)
    best = [backend.vocabulary.bytes_of(int(i)).decode() for i in np.argsort(-found)[:3]]
    assert best == list(known)


def test_rows_do_not_depend_on_what_was_cached(backend: LlamaCppBackend) -> None:
    backend.next_logits([2, 9, 9, 9])
    # Kernels for one token round otherwise than those for many: both rows are read behind the last.
    backend.next_logits(FRANCE_IDS[:-1])
    first = probabilities(backend.next_logits(FRANCE_IDS))
    backend.next_logits([*FRANCE_IDS, 506])
    again = probabilities(backend.next_logits(FRANCE_IDS))
    assert backend.last_pass.evaluated == 1
    assert np.abs(first - again).max() < 1e-3


def test_after_forgetting_the_losses_of_a_quantized_model_are_the_same_to_the_last_bit(
    backend: LlamaCppBackend,
) -> None:
    ids = backend.tokenize("The sky is blue. " * 20, add_special=True, parse_special=False)

    def rows() -> np.ndarray:
        backend.forget()
        return np.concatenate([chunk.copy() for chunk in backend.score(ids, 40, len(ids))])

    first = rows()
    backend.next_logits([*ids[:10], 9, 9, 9])
    backend.next_logits(FRANCE_IDS)
    np.testing.assert_array_equal(rows(), first)


def test_info_says_what_is_loaded(backend: LlamaCppBackend) -> None:
    info = backend.info
    assert (info.architecture, info.quantization, info.n_vocab) == ("gemma3", "Q4_K_M", 262_144)
    assert (info.context_length, info.trained_context_length) == (2048, 32_768)
    # 18 layers, one head of 256 for keys and values each, 2 bytes: sliding windows count in full.
    assert info.kv_bytes_per_token == 18 * 2 * 256 * 2
    assert info.parameters == pytest.approx(268e6, rel=0.01)
    assert info.tied_embeddings is True
    assert info.capabilities.prefix_reuse
    assert not info.has_chat_template
    assert info.device == "CPU, 1 thread"
    with pytest.raises(BackendError, match="no chat template"):
        backend.render_chat([], add_generation_prompt=True)


def test_every_token_has_the_librarys_own_bytes(backend: LlamaCppBackend) -> None:
    lib = importlib.import_module("llama_cpp")
    vocab = lib.llama_model_get_vocab(backend._native.model)
    buffer = ctypes.create_string_buffer(256)
    for token_id in [*range(0, 7000, 3), *range(7000, 262_144, 97), 262_143]:
        n = lib.llama_token_to_piece(vocab, token_id, buffer, 256, 0, True)
        assert backend.vocabulary.bytes_of(token_id) == buffer.raw[:n]


def test_both_ways_to_read_the_pieces_agree(backend: LlamaCppBackend) -> None:
    pieces = importlib.import_module("logitscope.backends.llamacpp_pieces")
    vocab = backend._native.vocab
    blob, lengths = pieces.pieces_one_by_one(vocab, 20_000)
    vocabulary = backend.vocabulary
    assert blob == vocabulary.blob[: vocabulary.offsets[20_000]]
    assert np.array_equal(np.cumsum(lengths), vocabulary.offsets[1:20_001])


def test_kinds_are_those_of_the_file(backend: LlamaCppBackend) -> None:
    vocabulary = backend.vocabulary
    assert (vocabulary.bos, vocabulary.eos, vocabulary.adds_bos) == (2, 1, True)
    assert not vocabulary.adds_space
    # <eos> and <end_of_turn>
    assert {1, 106} <= vocabulary.end_ids
    special = [i for i in range(220) if vocabulary.kind_of(i) == TokenKind.CONTROL]
    names = [vocabulary.bytes_of(i).decode() for i in special]
    assert {"<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>"} <= set(names)
    byte_ids = np.flatnonzero(vocabulary.kinds == TokenKind.BYTE)
    assert sorted(vocabulary.bytes_of(int(i)) for i in byte_ids) == [bytes([b]) for b in range(256)]
    unused = np.flatnonzero(vocabulary.kinds == TokenKind.UNUSED)
    assert len(unused) > 6000
    assert all(b"unused" in vocabulary.bytes_of(int(i)) for i in unused[:50])


def test_a_turn_written_by_hand_is_text(backend: LlamaCppBackend) -> None:
    text = "<start_of_turn>user"
    typed = backend.tokenize(text, add_special=False, parse_special=False)
    assert 105 not in typed
    assert backend.vocabulary.text_bytes(typed) == text.encode()
    assert backend.tokenize(text, add_special=False, parse_special=True)[0] == 105


def test_a_prefill_stops_inside_its_first_batch(backend: LlamaCppBackend) -> None:
    ids = [2, *range(1000, 1300)]
    flag = (ctypes.c_ubyte * 2)(1, 0)
    reports: list[int] = []
    watch = Watch(
        is_cancelled=lambda: False,
        report=lambda done, _total: reports.append(done),
        flag_address=ctypes.addressof(flag),
    )
    with pytest.raises(Cancelled):
        backend.next_logits(ids, watch)
    assert reports == []
    backend.next_logits(FRANCE_IDS)
    assert backend.last_pass.evaluated <= len(FRANCE_IDS)


def test_a_chunk_of_rows_is_bounded(backend: LlamaCppBackend) -> None:
    ids = [2, *range(1000, 1070)]
    sizes = [chunk.nbytes for chunk in backend.score(ids, 1, 72)]
    assert sum(sizes) == 71 * 262_144 * 4
    assert max(sizes) <= OPTIONS.score_budget_bytes
    assert len(sizes) > 1


# VmHWM and not ru_maxrss, which on Linux starts with what the parent took.
MEASURE = """
import re, sys
from pathlib import Path
from logitscope.backends.base import LoadOptions
from logitscope.backends.llamacpp import load

backend = load(Path(sys.argv[1]), LoadOptions(threads=1, context_length=1024))
ids = [2, *range(1000, 1200)]
backend.next_logits(ids)
rows = sum(len(chunk) for chunk in backend.score(ids, 1, len(ids) + 1))
assert rows == len(ids)
peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
known = backend.info.weight_bytes + 1024 * backend.info.kv_bytes_per_token
print(peak * 1024 - known)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_scoring_stays_within_600_mb_beside_weights_and_cache(gemma_path: Path) -> None:
    command = [sys.executable, "-c", MEASURE, str(gemma_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=280)
    assert 0 < float(done.stdout) < 600e6
