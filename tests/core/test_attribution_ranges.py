"""Units of a text given as ids."""

from __future__ import annotations

import numpy as np
import pytest

from logitscope.attribution_ranges import Grain, ranges_of
from logitscope.vocabulary import TokenKind, Vocabulary

PIECES = (b"<bos>", b"One", b" r", b"ule", b".", b" Two", b"\n\n", b"Ask", b"\xe2\x82", b"\xac")


@pytest.fixture
def vocabulary() -> Vocabulary:
    kinds = np.zeros(len(PIECES), dtype=np.uint8)
    kinds[0] = TokenKind.CONTROL
    return Vocabulary.from_pieces(list(PIECES), kinds, bos=0, eos=None)


@pytest.mark.parametrize(
    ("grain", "expected"),
    [
        (Grain.TOKEN, [(i, i + 1) for i in range(8)]),
        (Grain.WORD, [(0, 1), (1, 2), (2, 4), (4, 5), (5, 6), (6, 7), (7, 8)]),
        (Grain.SENTENCE, [(1, 5), (5, 7), (7, 8)]),
        (Grain.PARAGRAPH, [(1, 7), (7, 8)]),
    ],
)
def test_units(vocabulary: Vocabulary, grain: Grain, expected: list[tuple[int, int]]) -> None:
    assert list(ranges_of(vocabulary, range(8), grain)) == expected


def test_a_broken_character_has_no_sentences(vocabulary: Vocabulary) -> None:
    assert ranges_of(vocabulary, (0, 1, 8), Grain.SENTENCE) == ((0, 3),)
    assert ranges_of(vocabulary, (0, 8, 9), Grain.WORD)[-1] == (1, 3)
