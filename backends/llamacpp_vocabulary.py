"""Ids and bytes of a loaded llama.cpp model."""

from __future__ import annotations

from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from logitscope.backends.llamacpp_lib import library
from logitscope.backends.llamacpp_pieces import all_pieces, silent_ids, with_gil
from logitscope.backends.llamacpp_tokenizer import tokenize
from logitscope.vocabulary import TokenKind, Vocabulary


def read_vocabulary(vocab: Any) -> Vocabulary:
    """Bytes and kinds of every id. Byte tokens have the byte they stand for."""
    lib = library()
    n = lib.llama_vocab_n_tokens(vocab)
    blob, lengths = all_pieces(vocab, n)
    offsets = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    kinds = _kinds(vocab, np.flatnonzero(silent_ids(vocab, n, lengths)), n)
    bos, eos = lib.llama_vocab_bos(vocab), lib.llama_vocab_eos(vocab)
    return Vocabulary(
        blob=blob,
        offsets=offsets,
        kinds=kinds,
        bos=bos if bos >= 0 else None,
        eos=eos if eos >= 0 else None,
        end_ids=_end_ids(vocab, kinds),
        adds_bos=bool(lib.llama_vocab_get_add_bos(vocab)),
        adds_space=_adds_space(vocab, blob, offsets),
    )


def _kinds(vocab: Any, asked: NDArray[np.int64], n: int) -> NDArray[np.uint8]:
    """Kinds of all ids; those that are not in ``asked`` are ordinary text."""
    lib = library()
    attribute = with_gil("llama_vocab_get_attr", "i", "i")
    found = map(attribute, repeat(vocab), asked.tolist())
    attributes = np.fromiter(found, dtype=np.int32, count=len(asked))
    kinds = np.full(len(asked), TokenKind.NORMAL, dtype=np.uint8)
    kinds[attributes & lib.LLAMA_TOKEN_ATTR_BYTE != 0] = TokenKind.BYTE
    marks = lib.LLAMA_TOKEN_ATTR_CONTROL | lib.LLAMA_TOKEN_ATTR_UNKNOWN
    kinds[attributes & marks != 0] = TokenKind.CONTROL
    kinds[attributes & lib.LLAMA_TOKEN_ATTR_UNUSED != 0] = TokenKind.UNUSED
    kinds[attributes == lib.LLAMA_TOKEN_ATTR_UNDEFINED] = TokenKind.UNUSED
    of_all = np.full(n, TokenKind.NORMAL, dtype=np.uint8)
    of_all[asked] = kinds
    return of_all


def _end_ids(vocab: Any, kinds: NDArray[np.uint8]) -> frozenset[int]:
    lib = library()
    candidates = set(np.flatnonzero(kinds == TokenKind.CONTROL).tolist())
    candidates |= {lib.llama_vocab_eos(vocab), lib.llama_vocab_eot(vocab)} - {-1}
    return frozenset(i for i in candidates if lib.llama_vocab_is_eog(vocab, i))


def _adds_space(vocab: Any, blob: bytes, offsets: NDArray[np.int64]) -> bool:
    ids = tokenize(vocab, b"a", add_special=False, parse_special=False)
    return b"".join(blob[offsets[i] : offsets[i + 1]] for i in ids) == b" a"
