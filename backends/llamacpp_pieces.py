"""The bytes of every token of a llama.cpp vocabulary, quickly.

262,144 calls of ``llama_token_to_piece`` from Python take as long as loading Gemma 3 270M. One call
of ``llama_detokenize`` over all ids, with NUL bytes between them, takes a tenth of that.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from logitscope.backends.llamacpp_lib import library

Lengths = NDArray[np.int64]

_WIDTH = 64
"""Bytes a piece usually fits in; longer ones are asked for singly."""
_BLOCK = 4096
_USUAL_BYTES = 16
"""A token and a separator take less than this on average in all known vocabularies."""
_SAMPLES = 64
_BYTES_WITHIN = 4096
"""Ids: all known vocabularies have the tokens of single bytes before."""


def all_pieces(vocab: Any, n: int) -> tuple[bytes, Lengths]:
    """The pieces of ids ``0 … n - 1`` end to end, and the length of each in bytes."""
    return pieces_at_once(vocab, n) or pieces_one_by_one(vocab, n)


def silent_ids(vocab: Any, n: int, lengths: Lengths) -> NDArray[np.bool_]:
    """Which ids may be other than ordinary text: control, unknown, unused or byte tokens.

    Those write nothing unless special tokens are asked for, or nothing at all, or one byte.
    ``lengths`` are those of ``all_pieces``. All True where this cannot be found out quickly.
    """
    plain = pieces_at_once(vocab, n, special=False)
    if plain is None:
        return np.ones(n, dtype=np.bool_)
    silent: NDArray[np.bool_] = (plain[1] != lengths) | (lengths <= 1)
    return silent


def pieces_at_once(vocab: Any, n: int, *, special: bool = True) -> tuple[bytes, Lengths] | None:
    """What ``all_pieces`` gives, from one call; None where this vocabulary does not allow it.

    It needs a token of one NUL byte, no other NUL, and a tokenizer that does not tidy up spaces.
    """
    singles = _single_bytes(vocab, min(n, _BYTES_WITHIN))
    separator = singles.get(b"\0")
    if separator is None or _tidies_spaces(vocab, singles):
        return None
    tokens = np.full(2 * n + 1, separator, dtype=np.int32)
    tokens[1::2] = np.arange(n, dtype=np.int32)
    # The separator itself would be two separators: another token stands in for it.
    tokens[1 + 2 * separator] = (separator + 1) % n
    text = _detokenize(vocab, tokens, special=special)
    cuts = np.flatnonzero(text == 0)
    if len(cuts) != n + 1:
        return None
    lengths = np.diff(cuts) - 1
    begin = int(cuts[separator]) + 1
    before, after = text[:begin], text[begin + int(lengths[separator]) :]
    blob = before[before != 0].tobytes() + b"\0" + after[after != 0].tobytes()
    lengths[separator] = 1
    return (blob, lengths) if not special or _agree(vocab, blob, lengths) else None


def pieces_one_by_one(vocab: Any, n: int) -> tuple[bytes, Lengths]:
    """What ``all_pieces`` gives, one call an id; the calls run in ``map``, not in a Python loop."""
    piece = with_gil("llama_token_to_piece", "ipiib", "i")
    blobs: list[bytes] = []
    lengths = np.zeros(n, dtype=np.int64)
    table = np.zeros((_BLOCK, _WIDTH), dtype=np.uint8)
    cells = range(table.ctypes.data, table.ctypes.data + table.nbytes, _WIDTH)
    for first in range(0, n, _BLOCK):
        ids = range(first, min(first + _BLOCK, n))
        arguments = (repeat(vocab), ids, cells, repeat(_WIDTH), repeat(0), repeat(True))
        found = np.fromiter(map(piece, *arguments), dtype=np.int64, count=len(ids))
        lengths[ids.start : ids.stop] = np.abs(found)
        if found.min() >= 0:
            used = np.arange(_WIDTH) < found[:, None]
            blobs.append(table[: len(ids)][used].tobytes())
        else:
            blobs += [_piece(piece, vocab, token_id) for token_id in ids]
    return b"".join(blobs), lengths


def with_gil(name: str, arguments: str, result: str) -> Any:
    """A C function of llama.cpp (vocabulary first) that is called without giving up the GIL.

    Codes: ``i`` int32, ``p`` address, ``b`` bool.
    """
    types = {"i": ctypes.c_int32, "p": ctypes.c_void_p, "b": ctypes.c_bool}
    address = ctypes.cast(getattr(library(), name), ctypes.c_void_p).value
    arguments_types = [types[code] for code in arguments]
    prototype: Any = ctypes.PYFUNCTYPE(types[result], ctypes.c_void_p, *arguments_types)
    return prototype(address)


def _piece(piece: Any, vocab: Any, token_id: int) -> bytes:
    """One piece of any length: a negative answer is the length that is needed."""
    size = _WIDTH
    for _ in range(2):
        buffer = (ctypes.c_ubyte * size)()
        n = int(piece(vocab, token_id, ctypes.addressof(buffer), size, 0, True))
        if n >= 0:
            return bytes(buffer[:n])
        size = -n
    return b""


def _single_bytes(vocab: Any, n: int) -> dict[bytes, int]:
    """The pieces of one byte among the first ``n`` ids, and their ids.

    They are not looked for by tokenizing: llama.cpp aborts where a byte has no token.
    """
    blob, lengths = pieces_one_by_one(vocab, n)
    starts = np.cumsum(lengths) - lengths
    return {blob[starts[i] : starts[i] + 1]: int(i) for i in np.flatnonzero(lengths == 1)}


def _tidies_spaces(vocab: Any, singles: Mapping[bytes, int]) -> bool:
    """Whether detokenizing takes the space out of " .", as some WordPiece and BPE models want."""
    if not {b"\0", b" ", b"."} <= singles.keys():
        return True
    ids = [singles[b"\0"], singles[b" "], singles[b"."]]
    text = _detokenize(vocab, np.array(ids, dtype=np.int32), special=True)
    return text.tobytes() != b"\0 ."


def _detokenize(vocab: Any, tokens: NDArray[np.int32], *, special: bool) -> NDArray[np.uint8]:
    size = _USUAL_BYTES * len(tokens)
    pointer = tokens.ctypes.data_as(ctypes.POINTER(ctypes.c_int32))
    for _ in range(2):
        text = np.empty(size, dtype=np.uint8)
        target = ctypes.cast(text.ctypes.data, ctypes.c_char_p)
        n = library().llama_detokenize(vocab, pointer, len(tokens), target, size, False, special)
        if n >= 0:
            return text[:n]
        size = -n
    return text[:0]


def _agree(vocab: Any, blob: bytes, lengths: Lengths) -> bool:
    """Whether some pieces, spread over the vocabulary, are what ``llama_token_to_piece`` gives."""
    ends = np.cumsum(lengths)
    piece = with_gil("llama_token_to_piece", "ipiib", "i")
    sample = np.linspace(0, len(lengths) - 1, _SAMPLES).astype(int).tolist()
    return len(blob) == ends[-1] and all(
        _piece(piece, vocab, i) == blob[ends[i] - lengths[i] : ends[i]] for i in sample
    )
