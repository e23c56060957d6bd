"""Bytes, characters and paragraphs of ids, against Python's own counting of the text."""

from __future__ import annotations

import numpy as np
import pytest

from logitscope.text_units import TextUnits
from logitscope.vocabulary import TokenKind, Vocabulary

BOS = 256


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    """Every byte, BOS, and some longer pieces from 257 on."""
    pieces = [bytes([b]) for b in range(256)] + [b"<bos>\n\n", b"\n\n", b"", "天空".encode()]
    kinds = [TokenKind.BYTE] * 256 + [TokenKind.CONTROL] + [TokenKind.NORMAL] * 3
    return Vocabulary.from_pieces(pieces, kinds, bos=BOS, eos=None)


@pytest.mark.parametrize("text", ["", "abc", "é😀ß", "天空\n\0"])
def test_counts_are_those_of_the_text(vocabulary: Vocabulary, text: str) -> None:
    ids = np.array([BOS, *text.encode()])
    assert TextUnits(vocabulary).count(ids) == (len(text.encode()), len(text))


def test_pieces_of_several_bytes(vocabulary: Vocabulary) -> None:
    assert TextUnits(vocabulary).count(np.array([257, 258, 259])) == (8, 4)


@pytest.mark.parametrize(
    ("ids", "starts"),
    [
        ([], []),
        (b"one two", []),
        (b"one\ntwo\nx", [4, 8]),
        (b"a\n\nb\nc\n\n\nd\n\n", [3, 9]),
        ([97, 257, 98, 257, 10, 99], [2, 5]),
        ([BOS, 97], []),
    ],
)
def test_paragraphs(vocabulary: Vocabulary, ids: list[int] | bytes, starts: list[int]) -> None:
    found = TextUnits(vocabulary).paragraph_starts(np.array(list(ids), dtype=np.int64))
    assert found.tolist() == starts
