"""The metadata pairs of a GGUF file: walked with bounds, checked where llama.cpp relies on them."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from logitscope.backends.gguf_cursor import Cursor, damaged
from logitscope.backends.gguf_types import (
    ARRAY,
    BOOL,
    FLOAT32,
    INT8,
    INT32,
    INT64,
    SCALAR_FORMATS,
    STRING,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    VALUE_TYPE_NAMES,
)

LONGEST_TEXT = 4 << 20
KEPT_TEXT = 1 << 20
"""Texts are kept up to this many bytes in all; longer ones (no real file has them) as summaries."""
KEPT_ELEMENTS = 1024
"""Number arrays are kept up to this length: enough for one entry a block."""
KEPT_STRINGS = 64
MOST_STRINGS = 4 << 20
LARGEST_ALIGNMENT = 1 << 16
MOST_BLOCKS = 4096
BYTE_TOKEN = 6
"""``tokenizer.ggml.token_type`` of a raw byte."""
MOST_BYTE_TOKENS = 1024

_UNSIGNED = frozenset({UINT8, UINT16, UINT32, UINT64})
_LENGTHS = frozenset({UINT32, UINT64})
_BYTE_NAME = re.compile(rb"<0x[0-9A-Fa-f]{2}>")
_BYTE_NAME_LENGTH = 6

_EXPECTED: Mapping[str, frozenset[int]] = {
    "general.architecture": frozenset({STRING}),
    "general.type": frozenset({STRING}),
    "general.name": frozenset({STRING}),
    "general.alignment": frozenset({UINT32}),
    "general.file_type": _UNSIGNED,
    "general.quantization_version": _UNSIGNED,
    "split.no": _UNSIGNED,
    "split.count": _UNSIGNED,
    "tokenizer.ggml.model": frozenset({STRING}),
    "tokenizer.ggml.pre": frozenset({STRING}),
    "tokenizer.chat_template": frozenset({STRING}),
}
_EXPECTED_ENDINGS: Mapping[str, frozenset[int]] = {
    ".context_length": _LENGTHS,
    ".block_count": _LENGTHS,
    ".embedding_length": _LENGTHS,
    ".vocab_size": _LENGTHS,
    ".pooling_type": _UNSIGNED | {INT32},
    ".attention.causal": frozenset({BOOL}),
    ".attention.key_length": _LENGTHS,
    ".attention.value_length": _LENGTHS,
    "_token_id": _UNSIGNED | {INT32, INT64},
    ".add_bos_token": frozenset({BOOL}),
    ".add_eos_token": frozenset({BOOL}),
    ".add_space_prefix": frozenset({BOOL}),
}
_EXPECTED_ELEMENTS: Mapping[str, frozenset[int]] = {
    "tokenizer.ggml.tokens": frozenset({STRING}),
    "tokenizer.ggml.merges": frozenset({STRING}),
    "tokenizer.ggml.scores": frozenset({FLOAT32}),
    "tokenizer.ggml.token_type": frozenset({INT32, UINT32}),
    "tokenizer.ggml.precompiled_charsmap": frozenset({UINT8, INT8}),
}
_PER_BLOCK = (".attention.head_count", ".attention.head_count_kv", ".feed_forward_length")
"""A number, or one for each block."""


class ArraySummary(NamedTuple):
    """An array (or, with element ``string`` and ``is_text``, a text) that was too long to keep."""

    element: str
    length: int
    is_text: bool = False


Scalar = int | float | bool | str
Value = Scalar | tuple[Scalar, ...] | ArraySummary


@dataclass(frozen=True)
class Metadata:
    """Checked metadata; short arrays are tuples, long ones summaries."""

    values: Mapping[str, Value]

    def text(self, key: str) -> str | None:
        value = self.values.get(key)
        return value if isinstance(value, str) else None

    def integer(self, key: str) -> int | None:
        value = self.values.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def integers(self, key: str) -> tuple[int, ...]:
        """A number or an array of them as a tuple; empty where the key is absent."""
        value = self.values.get(key)
        entries = value if isinstance(value, tuple) and not isinstance(value, ArraySummary) else ()
        if isinstance(value, int):
            entries = (value,)
        return tuple(entry for entry in entries if isinstance(entry, int))

    def array_length(self, key: str) -> int | None:
        value = self.values.get(key)
        if isinstance(value, ArraySummary):
            return value.length
        return len(value) if isinstance(value, tuple) else None


def read_metadata(cursor: Cursor, n_pairs: int) -> Metadata:
    """Read ``n_pairs`` pairs. Raises ModelFileError for what cannot be."""
    reader = _Reader(cursor)
    for _ in range(n_pairs):
        reader.read_pair()
    reader.check_together()
    return Metadata(MappingProxyType(reader.values))


class _Reader:
    def __init__(self, cursor: Cursor) -> None:
        self.values: dict[str, Value] = {}
        self._cursor = cursor
        self._kept_text = 0
        self._byte_names: dict[int, bytes] = {}
        self._byte_typed: tuple[int, ...] = ()

    def read_pair(self) -> None:
        cursor = self._cursor
        key = cursor.string(longest=65535).decode(errors="replace")
        if key in self.values:
            raise damaged(cursor.path, f"the metadata entry {key[:80]!r} stands in it twice")
        kind = int(cursor.number("I"))
        self._check_type(key, kind)
        if kind == ARRAY:
            self.values[key] = self._read_array(key)
        elif kind == STRING:
            self.values[key] = self._keep_text(cursor.string(LONGEST_TEXT))
        else:
            self.values[key] = self._read_scalar(key, kind)
        self._check_value(key)

    def _wrong_type(self, key: str, kind: int) -> Exception:
        name = VALUE_TYPE_NAMES.get(kind, f"unknown ({kind})")
        return damaged(
            self._cursor.path, f"the metadata entry {key[:80]!r} has the wrong type {name}"
        )

    def _check_type(self, key: str, kind: int) -> None:
        expected = _EXPECTED.get(key)
        if key in _EXPECTED_ELEMENTS:
            expected = frozenset({ARRAY})
        elif key.endswith(_PER_BLOCK):
            expected = _UNSIGNED | {INT32, ARRAY}
        for ending, kinds in _EXPECTED_ENDINGS.items():
            if key.endswith(ending):
                expected = kinds
        if kind not in VALUE_TYPE_NAMES or (expected is not None and kind not in expected):
            raise self._wrong_type(key, kind)

    def _check_value(self, key: str) -> None:
        value, path = self.values[key], self._cursor.path
        if key == "general.architecture" and not re.fullmatch(
            r"[\w.-]{1,64}", str(value), re.ASCII
        ):
            raise damaged(path, "the name of its architecture is no name")
        if key == "general.alignment":
            alignment = value if isinstance(value, int) else 0
            if not 0 < alignment <= LARGEST_ALIGNMENT or alignment & (alignment - 1):
                raise damaged(
                    path, f"its alignment is {alignment:,}, not a power of two up to 65,536"
                )
        if key.endswith(".block_count") and isinstance(value, int) and value > MOST_BLOCKS:
            raise damaged(path, f"it claims to have {value:,} blocks")

    def _read_scalar(self, key: str, kind: int) -> Scalar:
        value = self._cursor.number(SCALAR_FORMATS[kind])
        if kind != BOOL:
            return value
        if value not in {0, 1}:
            raise damaged(
                self._cursor.path, f"the metadata entry {key[:80]!r} is neither true nor false"
            )
        return bool(value)

    def _keep_text(self, raw: bytes) -> Value:
        self._kept_text += len(raw)
        if self._kept_text > KEPT_TEXT:
            return ArraySummary("string", len(raw), is_text=True)
        return raw.decode(errors="replace")

    def _read_array(self, key: str) -> Value:
        cursor = self._cursor
        element = int(cursor.number("I"))
        expected = _EXPECTED_ELEMENTS.get(key)
        if element == ARRAY:
            raise damaged(cursor.path, f"the metadata entry {key[:80]!r} is an array of arrays")
        if element not in VALUE_TYPE_NAMES or (expected is not None and element not in expected):
            raise self._wrong_type(key, element)
        length = cursor.count()
        # A string takes at least the eight bytes of its length.
        width = 8 if element == STRING else struct.calcsize(SCALAR_FORMATS[element])
        cursor.require(length * width)
        if element == STRING:
            return self._read_strings(key, length)
        return self._read_numbers(key, element, length)

    def _read_strings(self, key: str, length: int) -> Value:
        if length > MOST_STRINGS:
            raise damaged(
                self._cursor.path, f"the metadata entry {key[:80]!r} has {length:,} texts"
            )
        if key == "tokenizer.ggml.tokens":
            for token_id, piece in self._cursor.strings(length, _BYTE_NAME_LENGTH):
                if piece.startswith(b"<0x") and piece.endswith(b">"):
                    self._add_byte_name(token_id, piece)
            return ArraySummary("string", length)
        if length > KEPT_STRINGS:
            for _ in self._cursor.strings(length, 0):
                pass
            return ArraySummary("string", length)
        return tuple(str(self._keep_text(piece)) for _, piece in self._cursor.strings(length))

    def _add_byte_name(self, token_id: int, piece: bytes) -> None:
        if not _BYTE_NAME.fullmatch(piece) or len(self._byte_names) >= MOST_BYTE_TOKENS:
            what = f"the token {token_id:,} is {piece.decode(errors='replace')!r}, which is no byte"
            raise damaged(self._cursor.path, what)
        self._byte_names[token_id] = piece

    def _read_numbers(self, key: str, element: int, length: int) -> Value:
        code = SCALAR_FORMATS[element]
        width = struct.calcsize(code)
        if key == "tokenizer.ggml.token_type":
            types = np.frombuffer(self._cursor.take(length * width), dtype="<i4")
            self._byte_typed = tuple(
                np.flatnonzero(types == BYTE_TOKEN)[: MOST_BYTE_TOKENS + 1].tolist()
            )
        elif length <= KEPT_ELEMENTS:
            return struct.unpack(f"<{length}{code}", self._cursor.take(length * width))
        else:
            self._cursor.skip(length * width)
        return ArraySummary(VALUE_TYPE_NAMES[element], length)

    def check_together(self) -> None:
        """What llama.cpp indexes by token id must be as long as the token list."""
        metadata, path = Metadata(self.values), self._cursor.path
        n_tokens = metadata.array_length("tokenizer.ggml.tokens")
        for key in ("tokenizer.ggml.token_type", "tokenizer.ggml.scores"):
            length = metadata.array_length(key)
            if length is not None and length != n_tokens:
                raise damaged(
                    path, f"it has {n_tokens or 0:,} tokens but {length:,} entries of {key}"
                )
        for token_id in self._byte_typed:
            if token_id not in self._byte_names:
                raise damaged(path, f"the token {token_id:,} is marked as a byte but names none")
        if "general.architecture" not in self.values and "split.no" not in self.values:
            raise damaged(path, "it does not name its architecture")
