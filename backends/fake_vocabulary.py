"""Vocabulary and tokenizer of the fake model: every byte, marks, and longer pieces."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator

from logitscope.vocabulary import TokenKind, Vocabulary

_MARKS = ("<pad>", "<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>")
_BOS, _EOS, _END_OF_TURN = 1, 2, 4
_UNUSED = 8
_WORDS = (
    " the", " of", " and", " a", " to", " in", " is", " it", " sky", " blue", " The", ". ", ", ",
    "\n\n", "\t", "ing", "tion", "ed", " Paris", "中国", "你", "好", "语言", "مرحبا", " العالم",
    "é", "ß", " naïve", "🙂", "👩", "\u200d", "ですか", " код", "   ",
)  # fmt: skip
_HALF_CHARACTERS = (b"\xf0\x9f", b"\x99\x82", b"\xe4\xb8", b" \xe4")
"""Pieces that end or begin within a character, as byte-level vocabularies have them."""
_SURROGATE = re.compile("[\ud800-\udfff]")


def build_vocabulary(size: int, seed: int) -> Vocabulary:
    """``size`` tokens: marks, 256 single bytes, pieces of several bytes, reserved rows."""
    pieces = [mark.encode() for mark in _MARKS]
    pieces += [bytes([value]) for value in range(256)]
    kinds = [TokenKind.CONTROL] * len(_MARKS) + [TokenKind.BYTE] * 256
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


class ByteTokenizer:
    """Greedy longest match from the left over UTF-8 bytes: every text has ids."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._bos = vocabulary.bos
        text_ids = (i for i in range(len(vocabulary)) if not vocabulary.is_special(i))
        self._ids = {vocabulary.bytes_of(i): i for i in text_ids}
        self._longest = max(map(len, self._ids))
        self._marks = {mark: index for index, mark in enumerate(_MARKS)}
        self._split = re.compile("(" + "|".join(map(re.escape, _MARKS)) + ")")

    def tokenize(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """Ids of a text; lone surrogates count as U+FFFD."""
        text = _SURROGATE.sub("\ufffd", text)
        ids = [self._bos] if add_special and self._bos is not None else []
        for part in self._split.split(text) if parse_special else [text]:
            if parse_special and part in self._marks:
                ids.append(self._marks[part])
            else:
                ids.extend(self._match(part.encode()))
        return ids

    def _match(self, data: bytes) -> Iterator[int]:
        place = 0
        while place < len(data):
            for length in range(min(self._longest, len(data) - place), 0, -1):
                token_id = self._ids.get(data[place : place + length])
                if token_id is not None:
                    break
            assert token_id is not None
            yield token_id
            place += length
