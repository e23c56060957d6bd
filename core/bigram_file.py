"""Saved bigram models: versioned JSON, checked in every part before it is believed.

Format 1 is an object with ``format`` ("logitscope-bigram"), ``version`` (1), ``name``, ``unit``
("characters" or "tokens"), ``symbols`` (the bytes of each one in hexadecimal), ``logits`` (V x V
little-endian float32, row by row, in base64) and ``training`` (numbers for people).
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import os
import tempfile
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from logitscope.bigram import MOST_SYMBOLS

SUFFIX = ".bigram.json"
FORMAT = "logitscope-bigram"
VERSION = 1
LONGEST_SYMBOL = 1024
"""Bytes; the longest pieces of common tokenizers are runs of some hundred spaces."""
MOST_BYTES = 100 << 20
"""4,096² float32 in base64 take 85.3 MiB, and 4,096 symbols of LONGEST_SYMBOL bytes 8 MiB."""
_LONGEST_NAME = 200


class BigramFileError(Exception):
    """One sentence: what is wrong with the file and what to do."""


class Unit(StrEnum):
    """What a symbol of the table is."""

    CHARACTERS = "characters"
    TOKENS = "tokens"


@dataclass(frozen=True, slots=True)
class Training:
    """How the table came about; losses in nats a symbol."""

    symbols: int = 0
    """Length of the text."""
    steps: int = 0
    rate: float = 0.0
    loss: float = 0.0
    best_loss: float = 0.0
    """Of the closed-form optimum."""


@dataclass(frozen=True, slots=True, eq=False)
class BigramFile:
    """What a file holds."""

    name: str
    unit: Unit
    symbols: tuple[bytes, ...]
    logits: NDArray[np.float32]
    """(V, V): row i predicts what follows symbol i."""
    training: Training = Training()


def save(path: Path, model: BigramFile) -> None:
    """Write atomically: a temporary file beside ``path``, then renamed.

    Raises OSError where the folder cannot be written; ``path`` is then untouched.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(dumps(model))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def load(path: Path) -> BigramFile:
    """Read a model. Raises BigramFileError, OSError."""
    with path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    return loads(data, path.name)


def dumps(model: BigramFile) -> bytes:
    """The bytes of a file."""
    logits = np.ascontiguousarray(model.logits, dtype="<f4")
    whole = {
        "format": FORMAT,
        "version": VERSION,
        "name": model.name,
        "unit": model.unit.value,
        "training": asdict(model.training),
        "symbols": [symbol.hex() for symbol in model.symbols],
        "logits": base64.b64encode(logits.tobytes()).decode("ascii"),
    }
    return json.dumps(whole).encode("ascii")


def loads(data: bytes, name: str) -> BigramFile:
    """The model in the bytes of a file; ``name`` is for the sentences. Raises BigramFileError."""
    if len(data) > MOST_BYTES:
        raise BigramFileError(f"{name} is too large to be a bigram model: choose another file.")
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _damaged(name, "it is no JSON") from error
    if not isinstance(whole, dict) or whole.get("format") != FORMAT:
        raise BigramFileError(f"{name} is not a bigram model: choose another file.")
    if whole.get("version") != VERSION:
        raise BigramFileError(
            f"{name} has format {whole.get('version')!r:.20} and only {VERSION} is known: "
            "update the program or train the model again."
        )
    symbols = _symbols(whole.get("symbols"), name)
    return BigramFile(
        name=_title(whole.get("name"), name),
        unit=_unit(whole.get("unit"), name),
        symbols=symbols,
        logits=_logits(whole.get("logits"), len(symbols), name),
        training=_training(whole.get("training"), name),
    )


def _damaged(name: str, what: str) -> BigramFileError:
    return BigramFileError(f"{name} is damaged ({what}): train the model again.")


def _title(value: Any, name: str) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST_NAME:
        raise _damaged(name, "it has no name")
    return value


def _unit(value: Any, name: str) -> Unit:
    if value not in list(Unit):
        raise _damaged(name, "its unit is unknown")
    return Unit(value)


def _symbols(value: Any, name: str) -> tuple[bytes, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_SYMBOLS:
        raise _damaged(name, f"it needs 1 to {MOST_SYMBOLS:,} symbols")
    try:
        symbols = tuple(bytes.fromhex(symbol) for symbol in value)
    except (TypeError, ValueError) as error:
        raise _damaged(name, "a symbol is not in hexadecimal") from error
    if not all(0 < len(symbol) <= LONGEST_SYMBOL for symbol in symbols):
        raise _damaged(name, f"a symbol has not 1 to {LONGEST_SYMBOL} bytes")
    if len(set(symbols)) != len(symbols):
        raise _damaged(name, "a symbol occurs twice")
    return symbols


def _logits(value: Any, n_symbols: int, name: str) -> NDArray[np.float32]:
    try:
        data = base64.b64decode(value, validate=True)
    except (TypeError, ValueError, binascii.Error) as error:
        raise _damaged(name, "its logits are not in base64") from error
    if len(data) != 4 * n_symbols * n_symbols:
        raise _damaged(name, "the length of its logits does not fit its symbols")
    logits = np.frombuffer(data, dtype="<f4").reshape(n_symbols, n_symbols)
    if not np.isfinite(logits).all():
        raise _damaged(name, "a logit is not a finite number")
    return logits.astype(np.float32)


def _training(value: Any, name: str) -> Training:
    fields = Training.__dataclass_fields__
    if not isinstance(value, dict) or set(value) != set(fields):
        raise _damaged(name, "its training is not described")
    for number in value.values():
        is_number = isinstance(number, int | float) and not isinstance(number, bool)
        if not is_number or not 0 <= number < 1e18 or not math.isfinite(number):
            raise _damaged(name, "its training is not described in numbers")
    return Training(
        symbols=int(value["symbols"]),
        steps=int(value["steps"]),
        rate=float(value["rate"]),
        loss=float(value["loss"]),
        best_loss=float(value["best_loss"]),
    )
