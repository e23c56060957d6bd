"""Texts to ids as llama.cpp's own tokenizer cuts them, long ones piece by piece.

llama.cpp takes the special and the user-defined tokens out of a text first
(``tokenizer_st_partition`` in its ``llama-vocab.cpp``). For each place where one of them was found
it looks through all of the text behind for the next, so that its time grows with the square of
their number: with Gemma, whose line break is such a token, 400 kB of one word a line take 17 s, and
in pieces 0.3 s.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from logitscope.backends.base import BackendError
from logitscope.backends.llamacpp_lib import library
from logitscope.backends.llamacpp_pieces import with_gil
from logitscope.vocabulary import Vocabulary

PIECE_BYTES = 4096
"""With Gemma and one word a line: 0.08 s for 100 kB; 0.22 s in pieces of 16 kB."""
_LONG_BYTES = 4 * PIECE_BYTES
"""A vocabulary is asked whether it allows pieces at the first text above this: some 50 ms."""
_SURROGATES = re.compile("[\ud800-\udfff]")
_LINE_BREAK = ord("\n")


def utf8(text: str) -> bytes:
    """UTF-8 of a text; lone surrogates, which have none, become U+FFFD."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATES.sub("\ufffd", text).encode()


def tokenize(vocab: Any, data: bytes, *, add_special: bool, parse_special: bool) -> list[int]:
    """Ids of a text in UTF-8, in one call of llama.cpp."""
    size = len(data) + 8
    for _ in range(2):
        tokens = np.empty(size, dtype=np.int32)
        pointer = tokens.ctypes.data_as(ctypes.POINTER(ctypes.c_int32))
        n = library().llama_tokenize(
            vocab, data, len(data), pointer, size, add_special, parse_special
        )
        if n >= 0:
            ids: list[int] = tokens[:n].tolist()
            return ids
        size = -n
    raise BackendError("The text is too long to be cut into tokens: use a shorter one.")


class Tokenizer:
    """Of one vocabulary."""

    def __init__(self, vocab: Any, vocabulary: Vocabulary) -> None:
        self._vocab = vocab
        self._vocabulary = vocabulary
        self._allows_pieces: bool | None = None

    def tokenize(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """The ids that one call for the whole text gives."""
        data = utf8(text)
        if len(data) < _LONG_BYTES or not self._may_cut():
            return tokenize(self._vocab, data, add_special=add_special, parse_special=parse_special)
        ids: list[int] = []
        for number, piece in enumerate(pieces_of_lines(data)):
            begins = add_special and number == 0
            ids += tokenize(self._vocab, piece, add_special=begins, parse_special=parse_special)
        return ids

    def _may_cut(self) -> bool:
        if self._allows_pieces is None:
            self._allows_pieces = allows_pieces(self._vocab, self._vocabulary)
        return self._allows_pieces


def pieces_of_lines(data: bytes, size: int = PIECE_BYTES) -> Iterator[bytes]:
    """A text in pieces of at least ``size`` bytes that end behind line breaks, all there are."""
    start = 0
    while len(data) - start > size:
        stop = data.find(b"\n", start + size)
        if stop < 0:
            break
        while stop < len(data) and data[stop] == _LINE_BREAK:
            stop += 1
        yield data[start:stop]
        start = stop
    yield data[start:]


def allows_pieces(vocab: Any, vocabulary: Vocabulary) -> bool:
    """Whether what is in front of a run of line breaks, with it, and what follows do not depend
    on each other: the run is cut out as tokens of its own, and no special token reaches over its
    end.
    """
    lib = library()
    is_sentencepiece = lib.llama_vocab_type(vocab) == lib.LLAMA_VOCAB_TYPE_SPM
    if not is_sentencepiece or lib.llama_vocab_get_add_eos(vocab):
        return False
    attribute = with_gil("llama_vocab_get_attr", "i", "i")
    n = len(vocabulary)
    attributes = np.fromiter(map(attribute, repeat(vocab), range(n)), dtype=np.int32, count=n)
    if (attributes & (lib.LLAMA_TOKEN_ATTR_LSTRIP | lib.LLAMA_TOKEN_ATTR_RSTRIP)).any():
        return False
    user_defined = attributes & lib.LLAMA_TOKEN_ATTR_USER_DEFINED != 0
    marks = lib.LLAMA_TOKEN_ATTR_CONTROL | lib.LLAMA_TOKEN_ATTR_UNKNOWN

    def pieces(of: NDArray[np.bool_]) -> set[bytes]:
        return {vocabulary.bytes_of(i) for i in np.flatnonzero(of).tolist()}

    special = pieces(user_defined | (attributes & marks != 0))
    reaching = {piece for piece in special if b"\n" in piece and piece.strip(b"\n")}
    return b"\n" in pieces(user_defined) and not reaching
