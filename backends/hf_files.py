"""What a Hugging Face model folder says before any weight is read: configuration, tensor headers.

Nothing here needs torch or transformers. Every file is checked against its own length before its
contents are believed, so that a damaged download is named instead of crashing a library.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from logitscope.backends.base import ModelFileError

MAX_HEADER_BYTES = 100_000_000
"""The limit of the safetensors library itself."""

MEMORY_MARGIN = 1.05
"""The library's own objects and the buffers of one pass, on top of the weights."""
LARGEST_TEXT = 16 << 20
"""Bytes of a configuration; those of the largest known models have less than one MB."""
LARGEST_INDEX = 64 << 20
"""Bytes of the list of weights in shards; of a model of 700 billion parameters it has 9 MB."""
LARGEST_TOKENIZER = 64 << 20
"""Bytes of a tokenizer; one of 262,144 entries has 33 MB. What is made of JSON takes up to 24
times its length in memory, and the process that loads a model has no limit of its own."""

DTYPE_BITS = {
    "BOOL": 8,
    "U8": 8,
    "I8": 8,
    "F8_E4M3": 8,
    "F8_E5M2": 8,
    "F8_E8M0": 8,
    "I16": 16,
    "U16": 16,
    "F16": 16,
    "BF16": 16,
    "I32": 32,
    "U32": 32,
    "F32": 32,
    "I64": 64,
    "U64": 64,
    "F64": 64,
}
"""Bits an element of the safetensors dtypes."""

DTYPE_NAMES = {"F32": "float32", "F16": "float16", "BF16": "bfloat16", "F64": "float64"}

TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "vocab.json")

OTHER_JSON_FILES = (
    "tokenizer_config.json",
    "special_tokens_map.json",
    "generation_config.json",
    "added_tokens.json",
)

OTHER_TEXTS = ("chat_template.jinja", "chat_template.json", "merges.txt", "processor_config.json")
"""What transformers reads besides, each whole."""


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """One tensor as a safetensors header describes it."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    n_bytes: int

    @property
    def n_elements(self) -> int:
        """Product of the shape; 1 for a scalar."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    @property
    def is_float(self) -> bool:
        """Whether loading converts the tensor to the dtype of the computation."""
        return self.dtype.startswith(("F", "BF"))


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A folder that passed all checks which need no model library."""

    path: Path
    config: dict[str, Any]
    tensors: tuple[StoredTensor, ...]
    header_hash: str
    """SHA-256 over config.json, the tokenizer file and the safetensors headers, in hex."""

    @property
    def stored_bytes(self) -> int:
        """Bytes of all tensors in the files."""
        return sum(tensor.n_bytes for tensor in self.tensors)

    @property
    def stored_dtype(self) -> str:
        """The dtype that holds most of the elements, in torch's spelling where it has one."""
        counts: Counter[str] = Counter()
        for tensor in self.tensors:
            counts[tensor.dtype] += tensor.n_elements
        most = counts.most_common(1)[0][0]
        return DTYPE_NAMES.get(most, most)

    def bytes_as(self, item_size: int) -> int:
        """Memory the weights take when every float tensor has ``item_size`` bytes an element."""
        return sum(t.n_elements * item_size if t.is_float else t.n_bytes for t in self.tensors)


def inspect_folder(path: Path) -> ModelFolder:
    """Check a model folder. Raises ModelFileError with one sentence about the first fault."""
    _check_is_folder(path)
    digest = hashlib.sha256()
    config = _read_object(path / "config.json", digest=digest)
    _check_configuration(path, config)
    _check_tokenizer(path, digest)
    tensors: list[StoredTensor] = []
    for file in weight_files(path):
        header, found = read_header(file)
        digest.update(header)
        tensors.extend(found)
    if not tensors:
        raise ModelFileError(f"The weight files in {path} hold no tensors: download them again.")
    return ModelFolder(path, config, tuple(tensors), digest.hexdigest())


def _check_is_folder(path: Path) -> None:
    try:
        names = {entry.name for entry in path.iterdir()}
    except FileNotFoundError:
        raise ModelFileError(f"There is nothing at {path}: choose another model.") from None
    except NotADirectoryError:
        raise ModelFileError(
            f"{path} is not a folder: open the folder that holds config.json and model.safetensors."
        ) from None
    except OSError as error:
        raise ModelFileError(_unreadable(path, error), str(error)) from None
    if "config.json" in names:
        return
    if "adapter_config.json" in names:
        raise ModelFileError(
            f"{path} holds only an adapter (LoRA): merge it into its base model first "
            "and open the merged folder."
        )
    raise ModelFileError(
        f"{path} has no config.json: choose the folder into which a whole Hugging Face model "
        "was downloaded."
    )


def _unreadable(path: Path, error: OSError) -> str:
    if isinstance(error, PermissionError):
        return f"No permission to read {path}: change its access rights or copy it elsewhere."
    return f"{path} cannot be read ({error.strerror or error}): check the disk and the path."


def _check_is_file(path: Path) -> None:
    """Opening a pipe waits for who writes into it, perhaps without end."""
    if path.exists() and not path.is_file():
        raise ModelFileError(f"{path} is not an ordinary file: download it again.")


def _read_bytes(path: Path, most: int = LARGEST_TEXT) -> bytes:
    try:
        _check_is_file(path)
        with path.open("rb") as file:
            raw = file.read(most + 1)
        if len(raw) > most:
            raise ModelFileError(
                f"{path.name} in {path.parent} is longer than {most >> 20} MB, which no such file "
                "is: download it again."
            )
        return raw
    except FileNotFoundError:
        raise ModelFileError(f"{path.parent} lacks {path.name}: download it again.") from None
    except OSError as error:
        raise ModelFileError(_unreadable(path, error), str(error)) from None


def _read_object(path: Path, digest: Any = None, most: int = LARGEST_TEXT) -> dict[str, Any]:
    """A JSON file that must hold an object."""
    raw = _read_bytes(path, most)
    if digest is not None:
        digest.update(raw)
    try:
        value = json.loads(raw)
    except json.JSONDecodeError as error:
        raise ModelFileError(
            f"{path.name} in {path.parent} is not valid JSON (line {error.lineno}, column "
            f"{error.colno}): download that file again.",
            str(error),
        ) from None
    except (UnicodeDecodeError, RecursionError) as error:
        raise ModelFileError(
            f"{path.name} in {path.parent} is not valid JSON: download that file again.", str(error)
        ) from None
    if not isinstance(value, dict):
        raise ModelFileError(
            f"{path.name} in {path.parent} does not hold a JSON object: download that file again."
        )
    return value


def _check_configuration(path: Path, config: dict[str, Any]) -> None:
    if not isinstance(config.get("model_type"), str):
        raise ModelFileError(
            f"config.json in {path} names no model_type: it belongs to no transformers model."
        )
    if (path / "modules.json").exists():
        raise ModelFileError(
            f"{path} holds an embedding model (sentence-transformers), which predicts no next "
            "token: choose a causal language model."
        )
    for name in OTHER_JSON_FILES:
        if (path / name).exists():
            _read_object(path / name)
    for name in OTHER_TEXTS:
        if (path / name).exists():
            _read_bytes(path / name)


def _check_tokenizer(path: Path, digest: Any) -> None:
    present = [name for name in TOKENIZER_FILES if (path / name).exists()]
    if not present:
        raise ModelFileError(
            f"{path} has no tokenizer (tokenizer.json): download the tokenizer files into the "
            "same folder."
        )
    for name in present[1:]:
        _read_bytes(path / name, LARGEST_TOKENIZER)
    if present[0].endswith(".json"):
        _read_object(path / present[0], digest, LARGEST_TOKENIZER)
    else:
        digest.update(_read_bytes(path / present[0], LARGEST_TOKENIZER))


def weight_files(path: Path) -> list[Path]:
    """The safetensors files of a folder, in the order of their names.

    Raises ModelFileError where there are none, or where the index names a file that is missing."""
    single = path / "model.safetensors"
    if single.exists():
        return [single]
    index = path / "model.safetensors.index.json"
    if index.exists():
        return _shards(index)
    if any(path.glob("pytorch_model*.bin")) or any(path.glob("*.pt")):
        raise ModelFileError(
            f"{path} holds its weights only as pickle files (pytorch_model.bin), which can run "
            "any program when opened: convert them to safetensors (save_pretrained of a trusted "
            "copy does it) or download model.safetensors."
        )
    raise ModelFileError(
        f"{path} has no weights (model.safetensors): download the weight files into the same "
        "folder."
    )


def _shards(index: Path) -> list[Path]:
    weight_map = _read_object(index, most=LARGEST_INDEX).get("weight_map")
    if not isinstance(weight_map, dict) or not all(
        isinstance(name, str) and Path(name).name == name for name in weight_map.values()
    ):
        raise ModelFileError(
            f"{index.name} in {index.parent} has no usable weight_map: download that file again."
        )
    names = sorted(set(weight_map.values()))
    missing = [name for name in names if not (index.parent / name).exists()]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise ModelFileError(
            f"The weight file {missing[0]}{more} is missing in {index.parent}: download it into "
            "that folder."
        )
    return [index.parent / name for name in names]


def read_header(path: Path) -> tuple[bytes, list[StoredTensor]]:
    """Header bytes and tensors of a safetensors file, checked against the length of the file.

    Format: 8 bytes little-endian header length, JSON header, tensor data. Raises ModelFileError.
    """
    try:
        _check_is_file(path)
        size = path.stat().st_size
        with path.open("rb") as file:
            prefix = file.read(8)
            length = struct.unpack("<Q", prefix)[0] if len(prefix) == 8 else 0
            if len(prefix) < 8 or length > min(size - 8, MAX_HEADER_BYTES):
                raise ModelFileError(
                    f"{path.name} in {path.parent} is damaged or cut off in its header "
                    f"({size:,} bytes long): download that file again."
                )
            header = file.read(length)
    except OSError as error:
        raise ModelFileError(_unreadable(path, error), str(error)) from None
    return header, _parse_header(path, header, size - 8 - length)


def _parse_header(path: Path, header: bytes, data_bytes: int) -> list[StoredTensor]:
    try:
        entries = json.loads(header)
        entries.pop("__metadata__", None)
        tensors = [_stored_tensor(name, entry) for name, entry in entries.items()]
        end = max((int(entry["data_offsets"][1]) for entry in entries.values()), default=0)
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError) as error:
        raise ModelFileError(
            f"{path.name} in {path.parent} has a damaged header: download that file again.",
            str(error),
        ) from None
    if end != data_bytes:
        state = "cut off" if end > data_bytes else "longer than its header says"
        raise ModelFileError(
            f"{path.name} in {path.parent} is {state} ({data_bytes:,} bytes of weights instead of "
            f"{end:,}): download that file again."
        )
    return tensors


def _stored_tensor(name: str, entry: dict[str, Any]) -> StoredTensor:
    """Raises ValueError where shape, dtype and offsets contradict each other."""
    begin, end = (int(offset) for offset in entry["data_offsets"])
    dtype = str(entry["dtype"])
    tensor = StoredTensor(name, dtype, tuple(int(s) for s in entry["shape"]), end - begin)
    bits = DTYPE_BITS.get(dtype)
    contradiction = bits is not None and tensor.n_elements * bits != tensor.n_bytes * 8
    if begin < 0 or end < begin or min(tensor.shape, default=0) < 0 or contradiction:
        raise ValueError(f"tensor {name}: {entry}")
    return tensor
