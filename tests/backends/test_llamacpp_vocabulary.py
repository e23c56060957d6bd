"""Bytes and kinds of llama.cpp vocabularies of every sort, read in one call or one by one."""

from __future__ import annotations

import ctypes
import importlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentencepiece_file import LONG, SENTENCEPIECE, write_sentencepiece

from logitscope.backends.llamacpp_lib import library
from logitscope.backends.llamacpp_pieces import all_pieces, pieces_at_once, pieces_one_by_one
from logitscope.backends.llamacpp_tokenizer import tokenize
from logitscope.backends.llamacpp_vocabulary import read_vocabulary
from logitscope.vocabulary import TokenKind

pytestmark = pytest.mark.llama
pytest.importorskip("llama_cpp", reason="the extra `llama` is not installed")


def direct(vocab: Any, token_id: int) -> bytes:
    buffer = ctypes.create_string_buffer(1024)
    n = library().llama_token_to_piece(vocab, token_id, buffer, 1024, 0, True)
    return buffer.raw[:n]


def test_bytes_and_kinds_of_a_sentencepiece_vocabulary(
    opened: Callable[[Path], Any], tmp_path: Path
) -> None:
    vocabulary = read_vocabulary(opened(write_sentencepiece(tmp_path / "spm.gguf")))
    kinds = {
        1: TokenKind.NORMAL,
        2: TokenKind.CONTROL,
        3: TokenKind.CONTROL,
        4: TokenKind.NORMAL,
        5: TokenKind.UNUSED,
        6: TokenKind.BYTE,
    }
    for token_id, (text, _, kind) in enumerate(SENTENCEPIECE):
        assert vocabulary.kind_of(token_id) == kinds[kind], text
        if kind == 6:
            assert vocabulary.bytes_of(token_id) == bytes([token_id - 3])
        elif kind != 5:
            assert vocabulary.bytes_of(token_id) == text.replace("▁", " ").encode()
    assert (vocabulary.bos, vocabulary.eos, vocabulary.adds_bos) == (1, 2, True)
    assert vocabulary.end_ids == {2}


@pytest.mark.parametrize("space", [True, False])
def test_the_extra_space_is_told(
    opened: Callable[[Path], Any], tmp_path: Path, space: bool
) -> None:
    vocab = opened(write_sentencepiece(tmp_path / "spm.gguf", space=space))
    vocabulary = read_vocabulary(vocab)
    assert vocabulary.adds_space == space
    for text in ("the", "天 e\0 ↯", "  the\n", " ."):
        ids = tokenize(vocab, text.encode(), add_special=False, parse_special=False)
        assert vocabulary.text_bytes(ids) == b" " * space + text.encode()


@pytest.mark.parametrize("nul", [True, False])
def test_one_call_and_single_calls_agree(
    opened: Callable[[Path], Any], tmp_path: Path, nul: bool
) -> None:
    vocab = opened(write_sentencepiece(tmp_path / "spm.gguf", nul=nul))
    n = len(SENTENCEPIECE) - (not nul)
    at_once = pieces_at_once(vocab, n)
    assert (at_once is not None) == nul
    for blob, lengths in (all_pieces(vocab, n), pieces_one_by_one(vocab, n)):
        assert blob == b"".join(direct(vocab, i) for i in range(n))
        assert lengths.tolist() == [len(direct(vocab, i)) for i in range(n)]
    assert LONG.replace("▁", " ").encode() in all_pieces(vocab, n)[0]


def test_a_tokenizer_that_tidies_spaces_is_read_one_by_one(
    opened: Callable[[Path], Any], tiny_gguf: Path
) -> None:
    vocab = opened(tiny_gguf)
    # llama.cpp writes " ." as "." with a GPT-2 tokenizer.
    assert pieces_at_once(vocab, 1008) is None
    vocabulary = read_vocabulary(vocab)
    assert all(vocabulary.bytes_of(i) == direct(vocab, i) for i in range(1008))


def test_kinds_of_a_byte_level_vocabulary(opened: Callable[[Path], Any], tiny_gguf: Path) -> None:
    gguf = pytest.importorskip("gguf")
    field = gguf.GGUFReader(str(tiny_gguf)).fields["tokenizer.ggml.token_type"]
    types = np.array([int(field.parts[i][0]) for i in field.data])
    kinds = read_vocabulary(opened(tiny_gguf)).kinds
    assert (types == gguf.TokenType.UNUSED).sum() > 0
    assert np.array_equal(kinds == TokenKind.CONTROL, types == gguf.TokenType.CONTROL)
    assert np.array_equal(kinds == TokenKind.UNUSED, types == gguf.TokenType.UNUSED)


def test_a_long_text_is_cut_into_all_its_tokens(
    opened: Callable[[Path], Any], tiny_gguf: Path
) -> None:
    vocab = opened(tiny_gguf)
    text = "The sky is blue. 天空 " * 5000
    ids = tokenize(vocab, text.encode(), add_special=True, parse_special=False)
    vocabulary = read_vocabulary(vocab)
    assert vocabulary.text_bytes(ids) == text.encode()
    assert ids[0] == vocabulary.bos


def test_the_library_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    lib = importlib.import_module("llama_cpp.llama_cpp")
    monkeypatch.setattr(lib, "llama_log_set", lambda *_: pytest.fail("set a second time"))
    assert library() is lib


def test_the_functions_come_without_the_package_around_them_which_stays_whole() -> None:
    code = (
        "import sys\n"
        "from logitscope.backends.llamacpp_lib import library\n"
        "functions = library()\n"
        "assert 'jinja2' not in sys.modules and 'llama_cpp' not in sys.modules\n"
        "import llama_cpp\n"
        "assert llama_cpp.Llama and llama_cpp.llama_decode is functions.llama_decode\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
