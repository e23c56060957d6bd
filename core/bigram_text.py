"""A text as the symbols of a bigram table: its characters, or the pieces of a tokenizer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from logitscope.bigram import BigramError
from logitscope.piece_match import PieceMatcher, utf8

LONGEST_TEXT = 4_000_000
"""Characters: cutting them into pieces takes some seconds."""


@dataclass(frozen=True, slots=True, eq=False)
class Symbols:
    """A text as numbers of its distinct symbols."""

    pieces: tuple[bytes, ...]
    """The bytes of each symbol, in ascending order."""
    ids: NDArray[np.int64]
    """The text, one number a symbol."""


def characters(text: str) -> Symbols:
    """One symbol a character (code point). Raises BigramError for a text that is too long."""
    _check_length(text)
    codes = np.frombuffer(utf8(text).decode().encode("utf-32-le"), dtype="<u4")
    distinct, ids = np.unique(codes, return_inverse=True)
    # The order of code points is the order of their UTF-8.
    return Symbols(tuple(chr(code).encode() for code in distinct), ids.astype(np.int64))


def tokens(text: str, pieces: Iterable[bytes]) -> Symbols:
    """One symbol a piece: the longest of ``pieces`` that fits, else a single byte.

    A loaded bigram model cuts a text alike, so that the text costs there what it cost in training.
    Raises BigramError for a text that is too long.
    """
    _check_length(text)
    known = dict.fromkeys(chain((bytes([value]) for value in range(256)), filter(None, pieces)))
    names = list(known)
    matcher = PieceMatcher({piece: number for number, piece in enumerate(names)})
    matched = np.fromiter(matcher.match(utf8(text)), dtype=np.int64)
    distinct, ids = np.unique(matched, return_inverse=True)
    used = [names[number] for number in distinct]
    ascending = sorted(range(len(used)), key=used.__getitem__)
    place = np.empty(len(used), dtype=np.int64)
    place[ascending] = np.arange(len(used))
    return Symbols(tuple(used[number] for number in ascending), place[ids])


def _check_length(text: str) -> None:
    if len(text) > LONGEST_TEXT:
        raise BigramError(
            f"The text has {len(text):,} characters: choose one with at most {LONGEST_TEXT:,}."
        )
