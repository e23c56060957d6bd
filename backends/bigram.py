"""A table of bigram logits as a model: what "a context of one" means, beside a transformer.

The file is ``logitscope.bigram_file``'s. Ids: ``<bos>``, ``<eos>``, the 256 single bytes, then the
symbols of the table in the order of the file. Any text comes back from its ids: what is no symbol
is written in bytes. Behind an id that the table has no row for every symbol is equally likely.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from logitscope import bigram_file
from logitscope.backends.base import (
    UNWATCHED,
    BackendError,
    Capabilities,
    ChatMessage,
    LoadOptions,
    ModelFileError,
    ModelInfo,
    PassStats,
    Watch,
)
from logitscope.backends.byte_tokenizer import ByteTokenizer
from logitscope.backends.plain_backend import PlainBackend
from logitscope.bigram_file import BigramFile, BigramFileError
from logitscope.vocabulary import TokenKind, Vocabulary

MARKS = ("<bos>", "<eos>")
CONTEXT = 1 << 20
"""Tokens. The table reads the last one only: this bounds what the window keeps, not the model."""
FALLBACK_LOGIT = -20.0
"""Of marks and single bytes. The logits of a trained row have the mean 0, so that all 258 of them
together have a probability below 258 exp(-20) = 5.4e-7: the losses of the training stay."""
_ROWS_A_CHUNK = 256
_FIRST = len(MARKS) + 256
"""Id of the first symbol."""


def load(path: Path, options: LoadOptions, watch: Watch = UNWATCHED) -> BigramBackend:
    """Loader of the registry. Raises ModelFileError for a file that is no whole bigram model."""
    watch.check()
    watch.report(0, 1000)
    model, digest = read(path)
    watch.report(1000, 1000)
    return BigramBackend(path, model, digest, options)


def read(path: Path) -> tuple[BigramFile, str]:
    """A file's model and the SHA-256 of its bytes. Raises ModelFileError."""
    try:
        with path.open("rb") as file:
            data = file.read(bigram_file.MOST_BYTES + 1)
        model = bigram_file.loads(data, path.name)
    except BigramFileError as error:
        raise ModelFileError(str(error)) from error
    except OSError as error:
        raise ModelFileError(
            f"{path.name} cannot be read ({error.strerror or error}): choose another file.",
            str(error),
        ) from error
    return model, hashlib.sha256(data).hexdigest()


def vocabulary_of(symbols: Sequence[bytes]) -> Vocabulary:
    """Marks, every single byte, and the symbols."""
    pieces = [mark.encode() for mark in MARKS]
    pieces += [bytes([value]) for value in range(256)]
    pieces += symbols
    kinds = [TokenKind.CONTROL] * len(MARKS) + [TokenKind.BYTE] * 256
    kinds += [TokenKind.NORMAL] * len(symbols)
    return Vocabulary.from_pieces(
        pieces, kinds, bos=0, eos=1, end_ids=frozenset({1}), adds_bos=True
    )


class BigramBackend(PlainBackend):
    """Reads a row of the table; there is nothing to cache."""

    def __init__(self, path: Path, model: BigramFile, digest: str, options: LoadOptions) -> None:
        self._path = path
        self._model = model
        self._digest = digest
        self._options = options
        self._logits: NDArray[np.float32] | None = model.logits
        self._vocabulary = vocabulary_of(model.symbols)
        self._tokenizer = ByteTokenizer(self._vocabulary, MARKS)
        self._context = min(options.context_length or CONTEXT, CONTEXT)
        self._last_pass = PassStats(0, 0, 0.0)

    @property
    def info(self) -> ModelInfo:
        """What a loaded model tells of itself."""
        n_symbols = len(self._model.symbols)
        return ModelInfo(
            name=self._model.name or self._path.name,
            path=str(self._path),
            backend="bigram",
            architecture=f"bigram of {self._model.unit.value}",
            parameters=n_symbols * n_symbols,
            quantization="F32",
            n_vocab=len(self._vocabulary),
            context_length=self._context,
            trained_context_length=1,
            weight_bytes=self._model.logits.nbytes,
            kv_bytes_per_token=0.0,
            device="CPU, 1 thread",
            has_chat_template=False,
            tied_embeddings=None,
            header_hash=self._digest,
            capabilities=Capabilities(prefix_reuse=False),
        )

    @property
    def vocabulary(self) -> Vocabulary:
        return self._vocabulary

    @property
    def last_pass(self) -> PassStats:
        return self._last_pass

    def tokenize(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """Symbols where they fit, single bytes elsewhere; any text comes back from its ids."""
        return self._tokenizer.tokenize(text, add_special=add_special, parse_special=parse_special)

    def render_chat(self, messages: Sequence[ChatMessage], *, add_generation_prompt: bool) -> str:
        """See ``base.Backend``; always refused."""
        del messages, add_generation_prompt
        raise BackendError("A bigram model has no chat template: write a plain prompt.")

    def next_logits(self, ids: Sequence[int], watch: Watch = UNWATCHED) -> NDArray[np.float32]:
        """See ``base.Backend``. One token is read, however long the text is."""
        started = time.perf_counter()
        self._check_ids(ids, len(ids))
        watch.check()
        row: NDArray[np.float32] = self._rows(ids[-1:])[0]
        watch.report(1, 1)
        self._last_pass = PassStats(0, 1, time.perf_counter() - started)
        return row

    def close(self) -> None:
        """See ``base.Backend``."""
        self._logits = None

    def _score(
        self, ids: Sequence[int], start: int, stop: int, watch: Watch
    ) -> Iterator[NDArray[np.float32]]:
        row_bytes = 4 * len(self._vocabulary)
        chunk = max(1, min(_ROWS_A_CHUNK, self._options.score_budget_bytes // row_bytes))
        for first in range(start, stop, chunk):
            last = min(first + chunk, stop)
            watch.check()
            rows = self._rows(ids[first - 1 : last - 1])
            watch.report(last - start, stop - start)
            yield rows

    def _rows(self, lasts: Sequence[int]) -> NDArray[np.float32]:
        """One row behind each of these ids, shape (n, n_vocab)."""
        if self._logits is None:
            raise BackendError("This bigram model was closed: open it again.")
        rows = np.full((len(lasts), len(self._vocabulary)), FALLBACK_LOGIT, dtype=np.float32)
        rows[:, _FIRST:] = 0.0
        symbols = np.asarray(lasts) - _FIRST
        known = symbols >= 0
        rows[known, _FIRST:] = self._logits[symbols[known]]
        return rows
