"""Vocabulary of the fake model: every byte, marks, and longer pieces."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

from logitscope.vocabulary import TokenKind, Vocabulary

MARKS = ("<pad>", "<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>")
_BOS, _EOS, _END_OF_TURN = 1, 2, 4
_UNUSED = 8
_WORDS = (
    " the", " of", " and", " a", " to", " in", " is", " it", " sky", " blue", " The", ". ", ", ",
    "\n\n", "\t", "ing", "tion", "ed", " Paris", "中国", "你", "好", "语言", "مرحبا", " العالم",
    "é", "ß", " naïve", "🙂", "👩", "\u200d", "ですか", " код", "   ",
)  # fmt: skip
_HALF_CHARACTERS = (b"\xf0\x9f", b"\x99\x82", b"\xe4\xb8", b" \xe4")
"""Pieces that end or begin within a character, as byte-level vocabularies have them."""


def build_vocabulary(size: int, seed: int) -> Vocabulary:
    """``size`` tokens: marks, 256 single bytes, pieces of several bytes, reserved rows."""
    pieces = [mark.encode() for mark in MARKS]
    pieces += [bytes([value]) for value in range(256)]
    kinds = [TokenKind.CONTROL] * len(MARKS) + [TokenKind.BYTE] * 256
    longer = itertools.islice(_longer_pieces(seed), size - len(pieces) - _UNUSED)
    pieces += longer
    kinds += [TokenKind.NORMAL] * (len(pieces) - len(kinds))
    pieces += [f"<unused{index}>".encode() for index in range(_UNUSED)]
    kinds += [TokenKind.UNUSED] * _UNUSED
    return Vocabulary.from_pieces(
        pieces,
        kinds,
        bos=_BOS,
        eos=_EOS,
        end_ids=frozenset({_EOS, _END_OF_TURN}),
        adds_bos=True,
    )


def _longer_pieces(seed: int) -> Iterator[bytes]:
    """Distinct pieces without end: words first, then made-up ones of one to four syllables."""
    known = [word.encode() for word in _WORDS if len(word.encode()) > 1]
    yield from known
    yield from _HALF_CHARACTERS
    syllables = [a + b for a in "bcdfghklmnprstvz" for b in ("a", "e", "i", "o", "u", "an")]
    random.Random(seed).shuffle(syllables)
    seen = set(known)
    for count in range(1, 5):
        for parts in itertools.product(syllables, repeat=count):
            for piece in (("".join(parts)).encode(), (" " + "".join(parts)).encode()):
                if piece not in seen:
                    seen.add(piece)
                    yield piece
