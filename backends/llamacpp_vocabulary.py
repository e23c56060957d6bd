"""Ids and bytes of a loaded llama.cpp model."""

from __future__ import annotations

import ctypes
import re
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from logitscope.backends.base import BackendError
from logitscope.backends.llamacpp_lib import library
from logitscope.vocabulary import TokenKind, Vocabulary

_SURROGATES = re.compile("[\ud800-\udfff]")
_WIDTH = 64
"""Bytes a piece usually fits in; longer ones are asked for singly."""


def utf8(text: str) -> bytes:
    """UTF-8 of a text; lone surrogates, which have none, become U+FFFD."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATES.sub("\ufffd", text).encode()


def tokenize(vocab: Any, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
    """Ids of a text as llama.cpp's own tokenizer cuts it."""
    data = utf8(text)
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


def read_vocabulary(vocab: Any) -> Vocabulary:
    """Bytes and kinds of every id."""
    lib = library()
    n = lib.llama_vocab_n_tokens(vocab)
    blob, offsets = _pieces(vocab, n)
    kinds, ends = _kinds(vocab, n)
    bos, eos = lib.llama_vocab_bos(vocab), lib.llama_vocab_eos(vocab)
    return Vocabulary(
        blob=blob,
        offsets=offsets,
        kinds=kinds,
        bos=bos if bos >= 0 else None,
        eos=eos if eos >= 0 else None,
        end_ids=ends,
        adds_bos=bool(lib.llama_vocab_get_add_bos(vocab)),
    )


def _pieces(vocab: Any, n: int) -> tuple[bytes, NDArray[np.int64]]:
    """All pieces end to end, and where each starts.

    The calls run in ``map``, not in a Python loop, and keep the GIL: 262,144 in 0.3 s.
    """
    piece = _with_gil("llama_token_to_piece", "ipiib", "i")
    table = np.zeros((n, _WIDTH), dtype=np.uint8)
    first = table.ctypes.data
    cells = range(first, first + n * _WIDTH, _WIDTH)
    lengths = np.fromiter(
        map(piece, repeat(vocab), range(n), cells, repeat(_WIDTH), repeat(0), repeat(True)),
        dtype=np.int64,
        count=n,
    )
    long = {int(i): _long_piece(piece, vocab, int(i)) for i in np.flatnonzero(lengths < 0)}
    rows = [table[i : i + 4096] for i in range(0, n, 4096)]
    columns = np.arange(_WIDTH)
    blob = b"".join(
        row[columns < lengths[4096 * k : 4096 * k + len(row), None]].tobytes()
        for k, row in enumerate(rows)
    )
    offsets = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.maximum(lengths, 0), out=offsets[1:])
    return _with_long(blob, offsets, long) if long else (blob, offsets)


def _with_long(
    blob: bytes, offsets: NDArray[np.int64], long: dict[int, bytes]
) -> tuple[bytes, NDArray[np.int64]]:
    """Put the pieces that did not fit in their places."""
    parts: list[bytes] = []
    done = 0
    for token_id, piece in long.items():
        parts += [blob[done : offsets[token_id]], piece]
        done = int(offsets[token_id])
    parts.append(blob[done:])
    moved = np.zeros(len(offsets) - 1, dtype=np.int64)
    moved[list(long)] = [len(piece) for piece in long.values()]
    shifted = offsets.copy()
    shifted[1:] += np.cumsum(moved)
    return b"".join(parts), shifted


def _long_piece(piece: Any, vocab: Any, token_id: int) -> bytes:
    size = -piece(vocab, token_id, None, 0, 0, True)
    buffer = (ctypes.c_ubyte * size)()
    piece(vocab, token_id, ctypes.addressof(buffer), size, 0, True)
    return bytes(buffer)


def _kinds(vocab: Any, n: int) -> tuple[NDArray[np.uint8], frozenset[int]]:
    """Kinds of all ids, and the ids that end a text."""
    lib = library()
    attribute = _with_gil("llama_vocab_get_attr", "i", "i")
    attributes = np.fromiter(map(attribute, repeat(vocab), range(n)), dtype=np.int32, count=n)
    kinds = np.full(n, TokenKind.NORMAL, dtype=np.uint8)
    kinds[attributes & lib.LLAMA_TOKEN_ATTR_BYTE != 0] = TokenKind.BYTE
    marks = lib.LLAMA_TOKEN_ATTR_CONTROL | lib.LLAMA_TOKEN_ATTR_UNKNOWN
    kinds[attributes & marks != 0] = TokenKind.CONTROL
    kinds[attributes & lib.LLAMA_TOKEN_ATTR_UNUSED != 0] = TokenKind.UNUSED
    kinds[attributes == lib.LLAMA_TOKEN_ATTR_UNDEFINED] = TokenKind.UNUSED
    candidates = set(np.flatnonzero(kinds != TokenKind.NORMAL).tolist())
    candidates |= {lib.llama_vocab_eos(vocab), lib.llama_vocab_eot(vocab)} - {-1}
    return kinds, frozenset(i for i in candidates if lib.llama_vocab_is_eog(vocab, i))


_C_TYPES = {"i": ctypes.c_int32, "p": ctypes.c_void_p, "b": ctypes.c_bool}


def _with_gil(name: str, arguments: str, result: str) -> Any:
    """A C function of llama.cpp (vocabulary first) that is called without giving up the GIL."""
    address = ctypes.cast(getattr(library(), name), ctypes.c_void_p).value
    types = [_C_TYPES[code] for code in arguments]
    prototype: Any = ctypes.PYFUNCTYPE(_C_TYPES[result], ctypes.c_void_p, *types)
    return prototype(address)
