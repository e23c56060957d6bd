"""What a GGUF file says about itself, read without trusting it.

Written for hostile files: no length is believed, nothing is allocated before it is checked
against the file, and long arrays are walked, not kept. Format: ggml's docs/gguf.md.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from logitscope.backends.base import ModelFileError
from logitscope.backends.gguf_cursor import Cursor, damaged, open_model_file
from logitscope.backends.gguf_metadata import Metadata, read_metadata
from logitscope.backends.gguf_types import (
    ENCODER_ARCHITECTURES,
    FILE_TYPES,
    OTHER_KINDS,
    TENSOR_TYPES,
    TensorType,
)

MOST_TENSORS = 100_000
LARGEST = 1 << 63
"""Counts beyond a signed 64-bit integer overflow in llama.cpp."""
_SHARD = re.compile(r"(?P<stem>.*)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Tensor:
    """One entry of the tensor list; ``offset`` counts from the start of the tensor data."""

    name: str
    shape: tuple[int, ...]
    """ggml's order: the first dimension is contiguous in memory."""
    type: TensorType
    offset: int

    @property
    def elements(self) -> int:
        product = 1
        for length in self.shape:
            product *= length
        return product

    @property
    def bytes(self) -> int:
        return self.elements // self.type.block * self.type.size


@dataclass(frozen=True)
class GgufHeader:
    """A checked header. For a split model: of all its files together."""

    path: Path
    version: int
    metadata: Metadata
    tensors: tuple[Tensor, ...]
    data_offset: int
    """Where the tensor data starts in this file."""
    file_bytes: int
    """Length of all files of the model."""
    header_sha256: str
    """Over the bytes in front of the tensor data (of the first file, if split)."""
    shards: tuple[Path, ...] = field(default=())
    """All files of the model in order; one unless it is split."""

    @property
    def architecture(self) -> str:
        return self.metadata.text("general.architecture") or ""

    @property
    def name(self) -> str:
        return self.metadata.text("general.name") or self.path.stem

    @cached_property
    def parameters(self) -> int:
        """Number of weights."""
        return sum(tensor.elements for tensor in self.tensors)

    @cached_property
    def tensor_bytes(self) -> int:
        return sum(tensor.bytes for tensor in self.tensors)

    @cached_property
    def quantization(self) -> str:
        """Such as ``Q4_K_M``; where the file does not say, the type most weights have."""
        file_type = self.metadata.integer("general.file_type")
        if file_type in FILE_TYPES:
            return FILE_TYPES[file_type]
        elements: Counter[str] = Counter()
        for tensor in self.tensors:
            elements[tensor.type.name] += tensor.elements
        return elements.most_common(1)[0][0] if elements else ""

    @property
    def n_vocab(self) -> int | None:
        """Number of token ids, from the token list, the hyperparameters or the embedding."""
        listed = self.metadata.array_length("tokenizer.ggml.tokens")
        embedding = next((t for t in self.tensors if t.name == "token_embd.weight"), None)
        if listed is not None:
            return listed
        if embedding is not None and len(embedding.shape) == 2:
            return embedding.shape[1]
        return self.number("vocab_size")

    @property
    def context_length(self) -> int | None:
        """Tokens the model was trained for."""
        return self.number("context_length")

    @property
    def block_count(self) -> int | None:
        return self.number("block_count")

    @property
    def embedding_length(self) -> int | None:
        return self.number("embedding_length")

    @property
    def head_counts(self) -> tuple[int, ...]:
        """Query heads of every block; one number where all blocks have the same."""
        return self.metadata.integers(f"{self.architecture}.attention.head_count")

    @property
    def kv_head_counts(self) -> tuple[int, ...]:
        """Key and value heads of every block; as many as query heads where the file is silent."""
        own = self.metadata.integers(f"{self.architecture}.attention.head_count_kv")
        return own or self.head_counts

    @property
    def has_chat_template(self) -> bool:
        return "tokenizer.chat_template" in self.metadata.values

    @property
    def tied_embeddings(self) -> bool:
        """Whether the output head is the token embedding."""
        names = {tensor.name for tensor in self.tensors}
        return "token_embd.weight" in names and "output.weight" not in names

    @property
    def is_vocabulary_only(self) -> bool:
        return not self.tensors

    @property
    def is_encoder_only(self) -> bool:
        """Whether the model reads a text and predicts no next token."""
        pooling = self.number("pooling_type")
        causal = self.metadata.values.get(f"{self.architecture}.attention.causal")
        return (
            self.architecture in ENCODER_ARCHITECTURES
            or (pooling is not None and pooling > 0)
            or causal is False
        )

    def number(self, key: str) -> int | None:
        """An integer of the architecture's own hyperparameters, such as ``block_count``."""
        return self.metadata.integer(f"{self.architecture}.{key}")

    def require_language_model(self) -> None:
        """Raise ModelFileError, with the reason, unless the file can predict a next token."""
        kind = self.metadata.text("general.type") or "model"
        other = OTHER_KINDS.get(self.architecture)
        if kind in {"adapter", "mmproj", "imatrix"}:
            other = {"adapter": "an adapter (LoRA)", "mmproj": OTHER_KINDS["clip"]}.get(kind, kind)
        problem = None
        if other:
            problem = f"holds {other}, which cannot continue a text by itself"
        elif self.is_vocabulary_only:
            problem = "holds a vocabulary without weights"
        elif self.is_encoder_only:
            problem = f"is an embedding model ({self.architecture}), which predicts no next token"
        elif not self.n_vocab:
            problem = "holds no vocabulary"
        if problem:
            raise ModelFileError(f"{self.path.name} {problem}: choose a text generation model")


def read_header(path: Path) -> GgufHeader:
    """Read and check the header; for the first file of a split model, of all its files.

    Raises ModelFileError for everything that is wrong with the file. Takes memory in proportion
    to what it keeps (some MB), never to what the file claims.
    """
    header = _read_one(path)
    count = header.metadata.integer("split.count") or 0
    return _join_shards(header, count) if count > 1 else header


def _read_one(path: Path) -> GgufHeader:
    with open_model_file(path) as (file, size):
        cursor = Cursor(file, path, size)
        version = _read_preamble(cursor)
        n_tensors, n_pairs = _read_counts(cursor)
        cursor.part = "metadata"
        metadata = read_metadata(cursor, n_pairs)
        cursor.part = "tensor list"
        tensors = tuple(_read_tensor(cursor) for _ in range(n_tensors))
        header_end = cursor.position
        alignment = metadata.integer("general.alignment") or 32
        data_offset = -(-header_end // alignment) * alignment
        _check_tensors(path, tensors, alignment, size - data_offset)
        file.seek(0)
        digest = hashlib.sha256(file.read(header_end)).hexdigest()
    return GgufHeader(path, version, metadata, tensors, data_offset, size, digest, (path,))


def _read_preamble(cursor: Cursor) -> int:
    name = cursor.path.name
    if cursor.size == 0:
        raise ModelFileError(f"{name} is empty: download it again")
    if cursor.size < 4 or cursor.take(4) != b"GGUF":
        raise ModelFileError(f"{name} is not a GGUF file: choose a .gguf file or a model folder")
    version = int(cursor.number("I"))
    if version in {2, 3}:
        return version
    if version & 0xFFFF == 0 and version:
        problem = "was written for big-endian machines"
    elif version == 1:
        problem = "has the outdated GGUF version 1"
    else:
        problem = f"has the unknown GGUF version {version}"
    raise ModelFileError(f"{name} {problem}: download the model in GGUF version 3")


def _read_counts(cursor: Cursor) -> tuple[int, int]:
    n_tensors, n_pairs = cursor.count(), cursor.count()
    # A tensor entry takes at least 24 bytes, a metadata pair at least 13.
    for count, least, what in ((n_tensors, 24, "tensors"), (n_pairs, 13, "metadata entries")):
        if count > MOST_TENSORS:
            raise damaged(cursor.path, f"it claims to hold {count:,} {what}")
        if count * least > cursor.remaining:
            raise ModelFileError(
                f"{cursor.path.name}: the file is too short for the {count:,} {what} it claims to "
                "hold: download it again"
            )
    return n_tensors, n_pairs


def _read_tensor(cursor: Cursor) -> Tensor:
    name = cursor.string(longest=1024).decode(errors="replace")
    n_dims = int(cursor.number("I"))
    if n_dims > 4:
        raise damaged(cursor.path, f"the tensor {name[:80]!r} has {n_dims:,} dimensions")
    shape = tuple(cursor.count() for _ in range(n_dims))
    type_number = int(cursor.number("I"))
    offset = cursor.count()
    kind = TENSOR_TYPES.get(type_number)
    if kind is None:
        raise ModelFileError(
            f"{cursor.path.name}: the tensor {name[:80]!r} has the unknown type {type_number}: "
            "the file is damaged or needs a newer version of this program"
        )
    tensor = Tensor(name, shape, kind, offset)
    if not all(0 < length < LARGEST for length in shape) or tensor.elements >= LARGEST // 8:
        raise damaged(cursor.path, f"the tensor {name[:80]!r} has impossible dimensions {shape}")
    if (shape[0] if shape else 1) % kind.block:
        raise damaged(
            cursor.path, f"the rows of the tensor {name[:80]!r} are not whole {kind.name} blocks"
        )
    return tensor


def _check_tensors(path: Path, tensors: tuple[Tensor, ...], alignment: int, held: int) -> None:
    """Names are unique, offsets aligned, and the ``held`` bytes of tensor data suffice."""
    names = Counter(tensor.name for tensor in tensors)
    if len(names) < len(tensors):
        raise damaged(path, f"the tensor {names.most_common(1)[0][0][:80]!r} stands in it twice")
    for tensor in tensors:
        if tensor.offset % alignment:
            raise damaged(
                path, f"the tensor {tensor.name[:80]!r} starts at the odd place {tensor.offset:,}"
            )
    total = sum(tensor.bytes for tensor in tensors)
    end = max((tensor.offset + tensor.bytes for tensor in tensors), default=0)
    if end > total + alignment * len(tensors):
        raise damaged(path, "a tensor lies beyond the end of all weights")
    if end > held:
        missing = (end - max(held, 0)) / 1e6
        raise ModelFileError(
            f"{path.name}: the file is cut off: {missing:,.1f} MB of its weights are missing: "
            "download it again"
        )


def _join_shards(first: GgufHeader, count: int) -> GgufHeader:
    paths = _shard_paths(first, count)
    others = [_read_one(path) for path in paths[1:]]
    for number, other in enumerate(others, start=1):
        if other.metadata.integer("split.no") != number:
            raise damaged(other.path, f"it is not part {number + 1} of {count}")
    return GgufHeader(
        path=first.path,
        version=first.version,
        metadata=first.metadata,
        tensors=first.tensors + tuple(t for other in others for t in other.tensors),
        data_offset=first.data_offset,
        file_bytes=first.file_bytes + sum(other.file_bytes for other in others),
        header_sha256=first.header_sha256,
        shards=paths,
    )


def _shard_paths(first: GgufHeader, count: int) -> tuple[Path, ...]:
    name = first.path.name
    match = _SHARD.fullmatch(name)
    if match is None or int(match["count"]) != count:
        raise ModelFileError(
            f"{name} is one of {count} parts, but its name does not end in "
            f"-00001-of-{count:05}.gguf: give it its original name"
        )
    paths = tuple(
        first.path.with_name(f"{match['stem']}-{number:05}-of-{count:05}.gguf")
        for number in range(1, count + 1)
    )
    if first.metadata.integer("split.no") != 0:
        raise ModelFileError(f"{name} is a later part of a split model: open {paths[0].name}")
    missing = [path.name for path in paths if not path.is_file()]
    if missing:
        raise ModelFileError(
            f"{name}: {len(missing)} of its {count} parts are missing, first {missing[0]}: "
            "download them into the same folder"
        )
    return paths
