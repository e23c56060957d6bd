"""What is said of the beginning of a prompt."""

from __future__ import annotations

import pytest

from logitscope.bos import BosTrouble, bos_trouble
from logitscope.vocabulary import TokenKind, Vocabulary


@pytest.mark.parametrize(
    ("bos", "adds", "ids", "trouble"),
    [
        (0, True, (0, 1), None),
        (0, True, (0, 0, 1), BosTrouble.DOUBLED),
        (0, False, (0, 0), BosTrouble.DOUBLED),
        (0, True, (1, 0), BosTrouble.MISSING),
        (0, False, (1,), None),
        (0, True, (), None),
        (None, True, (1,), None),
    ],
)
def test_bos_is_doubled_missing_or_fine(
    bos: int | None, adds: bool, ids: tuple[int, ...], trouble: BosTrouble | None
) -> None:
    kinds = [TokenKind.CONTROL, TokenKind.NORMAL]
    vocabulary = Vocabulary.from_pieces([b"<s>", b"a"], kinds, bos=bos, eos=None, adds_bos=adds)
    assert bos_trouble(ids, vocabulary) is trouble
