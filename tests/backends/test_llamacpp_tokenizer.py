"""A text that is cut in pieces has the ids that one call of llama.cpp gives."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sentencepiece_file import Entry, write_sentencepiece

from logitscope.backends import llamacpp_tokenizer
from logitscope.backends.llamacpp_tokenizer import (
    PIECE_BYTES,
    Tokenizer,
    allows_pieces,
    pieces_of_lines,
    tokenize,
)
from logitscope.backends.llamacpp_vocabulary import read_vocabulary

pytestmark = pytest.mark.llama
pytest.importorskip("llama_cpp", reason="the extra `llama` is not installed")

Opened = Callable[[Path], Any]
BREAKS: list[Entry] = [("\n" * n, 0.0, 4) for n in range(1, 4)]
SPACES = ["\n", "\n\n", "\r\n", "\t", " ", "  ", "\u2028", "▁", "\0"]
WORDS = ["a", "the", " the", "h", "é", "天", "👍🏽", "<table>", "<s>", "<|user|>", "<", "|", "user"]
PARTS = [*SPACES, *WORDS, "<end_of_turn>", "<start_of_turn>user\n"]


def text_of(seed: int, parts: int) -> str:
    chosen = random.Random(seed)
    return "".join(chosen.choice(PARTS) for _ in range(parts))


def assert_same_ids(vocab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With pieces of a few bytes, too, so that they end at places of all sorts."""
    tokenizer = Tokenizer(vocab, read_vocabulary(vocab))
    for seed in range(200):
        size = 1 + seed % 50
        monkeypatch.setattr(
            llamacpp_tokenizer, "pieces_of_lines", lambda data, n=size: pieces_of_lines(data, n)
        )
        text = text_of(seed, 8000 if seed % 50 == 0 else 60)
        monkeypatch.setattr(llamacpp_tokenizer, "_LONG_BYTES", 1)
        for special in (True, False):
            found = tokenizer.tokenize(text, add_special=special, parse_special=special)
            expected = tokenize(vocab, text.encode(), add_special=special, parse_special=special)
            assert found == expected, (seed, special)


@pytest.mark.parametrize("space", [True, False])
def test_pieces_have_the_ids_of_the_whole(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, space: bool
) -> None:
    vocab = opened(write_sentencepiece(tmp_path / "spm.gguf", space=space, more=BREAKS))
    assert allows_pieces(vocab, read_vocabulary(vocab))
    assert_same_ids(vocab, monkeypatch)


@pytest.mark.gemma
def test_pieces_have_the_ids_of_the_whole_on_gemma(
    opened: Opened, gemma_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vocab = opened(gemma_path)
    assert allows_pieces(vocab, read_vocabulary(vocab))
    assert_same_ids(vocab, monkeypatch)


@pytest.mark.parametrize(
    "more",
    [
        [],
        [("\n", -5.0, 1)],
        [("\n", 0.0, 3)],
        [*BREAKS, ("\nuser", 0.0, 4)],
        [*BREAKS, ("end\n\nof", 0.0, 3)],
    ],
    ids=["no line break", "ordinary", "control only", "user-defined over a break", "control over"],
)
def test_where_a_token_may_reach_over_a_line_the_text_stays_whole(
    opened: Opened, tmp_path: Path, more: list[Entry]
) -> None:
    vocab = opened(write_sentencepiece(tmp_path / "spm.gguf", more=more))
    assert not allows_pieces(vocab, read_vocabulary(vocab))


def test_a_byte_level_vocabulary_is_not_cut(opened: Opened, tiny_gguf: Path) -> None:
    vocab = opened(tiny_gguf)
    assert not allows_pieces(vocab, read_vocabulary(vocab))


@pytest.mark.parametrize("text", ["a\n\n\nb\nc\n", "\n\n\n", "", "no break", "\n" * 9 + "a\n\nb"])
def test_pieces_end_behind_whole_runs_of_line_breaks(text: str) -> None:
    data = text.encode()
    for size in (1, 2, 5, 100):
        pieces = list(pieces_of_lines(data, size))
        assert b"".join(pieces) == data
        assert all(piece.endswith(b"\n") and len(piece) > size for piece in pieces[:-1])
        assert not any(piece.startswith(b"\n") for piece in pieces[1:])


@pytest.mark.gemma
def test_many_lines_are_read_in_calls_of_bounded_length(
    opened: Opened, gemma_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vocab = opened(gemma_path)
    lengths: list[int] = []

    def noted(vocab: Any, data: bytes, **options: bool) -> list[int]:
        lengths.append(len(data))
        return tokenize(vocab, data, **options)

    monkeypatch.setattr(llamacpp_tokenizer, "tokenize", noted)
    tokenizer = Tokenizer(vocab, read_vocabulary(vocab))
    assert len(tokenizer.tokenize("word\n" * 10**5, add_special=True, parse_special=False)) > 10**5
    assert max(lengths) <= PIECE_BYTES + len("word\n")
