"""A seeded, deterministic model without weights, for tests, smoke runs and simulated accidents.

It is named by a pseudo-path, ``fake:`` and settings separated by commas, all of them optional::

    fake:vocab=1000,seed=1,context=4096,decode_ms=20,prefill_ms_per_token=1,load_ms=500,
    end_after=40,nan_after=50,template=plain|none|error|loop|stuck,
    fail=load|prefill|decode,bug=…,abort=…,crash=…,hang=…,freeze=…,after=3,
    sign=path

``fail`` raises BackendError and ``bug`` an unexpected error; ``abort`` and ``crash`` end the
process with SIGABRT and SIGSEGV; ``hang`` never returns and ignores the cancel flag, ``freeze``
the same while it holds the interpreter lock. Of these two, bytes in the named pipe ``sign`` are the
proof: nothing else is done from then on. ``after`` passes of the named phase go well first.
From ``end_after`` ids on, EOS is all but certain; from ``nan_after`` ids on, rows are NaN, as
those of a damaged file.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from logitscope.backends.base import (
    UNWATCHED,
    ChatMessage,
    LoadOptions,
    ModelInfo,
    PassStats,
    Watch,
)
from logitscope.backends.byte_tokenizer import ByteTokenizer
from logitscope.backends.fake_accidents import Accidents, render_template
from logitscope.backends.fake_settings import FakeSettings
from logitscope.backends.fake_vocabulary import MARKS, build_vocabulary
from logitscope.backends.plain_backend import PlainBackend
from logitscope.vocabulary import TokenKind, Vocabulary

_PREFILL_CHUNK = 32
_MASK = (1 << 64) - 1
_FNV_OFFSET, _FNV_PRIME = 0xCBF29CE484222325, 0x100000001B3
_KV_BYTES_PER_TOKEN = 1024.0


def load(path: Path, options: LoadOptions, watch: Watch = UNWATCHED) -> FakeBackend:
    """Loader of the registry. Raises ModelFileError for a pseudo-path that cannot be read."""
    settings = FakeSettings.parse(str(path))
    accidents = Accidents(settings)
    steps = max(20, round(settings.load_ms / 20))
    for step in range(steps):
        watch.check()
        watch.report(step * 1000 // steps, 1000)
        if step == 0:
            accidents.may_happen("load")
        time.sleep(settings.load_ms / 1000 / steps)
    watch.report(1000, 1000)
    return FakeBackend(settings, options, accidents)


class FakeBackend(PlainBackend):
    """Rows are a pure function of the ids; only the accounting has a state."""

    def __init__(self, settings: FakeSettings, options: LoadOptions, accidents: Accidents) -> None:
        self._settings = settings
        self._options = options
        self._accidents = accidents
        self._vocabulary = build_vocabulary(settings.vocab, settings.seed)
        self._tokenizer = ByteTokenizer(self._vocabulary, MARKS)
        self._prior = _prior(self._vocabulary, settings.seed)
        self._context = min(options.context_length or settings.context, settings.context)
        self._cached: list[int] = []
        self._last_pass = PassStats(0, 0, 0.0)

    @property
    def info(self) -> ModelInfo:
        """What a loaded model tells of itself."""
        settings = self._settings
        return ModelInfo(
            name="Fake",
            path=settings.text,
            backend="fake",
            architecture="fake",
            parameters=None,
            quantization="none",
            n_vocab=settings.vocab,
            context_length=self._context,
            trained_context_length=settings.context,
            weight_bytes=self._prior.nbytes,
            kv_bytes_per_token=_KV_BYTES_PER_TOKEN,
            device="CPU, 1 thread",
            has_chat_template=settings.template != "none",
            tied_embeddings=None,
            header_hash=hashlib.sha256(settings.text.encode()).hexdigest(),
        )

    @property
    def vocabulary(self) -> Vocabulary:
        return self._vocabulary

    @property
    def last_pass(self) -> PassStats:
        return self._last_pass

    def tokenize(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """Greedy longest match over bytes; any text comes back from its ids."""
        return self._tokenizer.tokenize(text, add_special=add_special, parse_special=parse_special)

    def render_chat(self, messages: Sequence[ChatMessage], *, add_generation_prompt: bool) -> str:
        """Turns between marks, or what ``template=`` asks for."""
        return render_template(self._settings.template, messages, add_generation_prompt)

    def next_logits(self, ids: Sequence[int], watch: Watch = UNWATCHED) -> NDArray[np.float32]:
        """See `Backend`."""
        started = time.perf_counter()
        self._check_ids(ids, len(ids))
        cached = min(_shared_prefix(self._cached, ids), len(ids) - 1)
        phase = "decode" if len(ids) - cached == 1 else "prefill"
        self._cached = self._cached[:cached]
        self._pass_over(ids, phase, watch)
        row = self._row(_digest(ids), ids[-1], len(ids))
        self._last_pass = PassStats(cached, len(ids) - cached, time.perf_counter() - started)
        return row

    def forget(self) -> None:
        """See ``base.Backend``."""
        self._cached = []

    def close(self) -> None:
        self._cached = []

    def _score(
        self, ids: Sequence[int], start: int, stop: int, watch: Watch
    ) -> Iterator[NDArray[np.float32]]:
        chunk = max(1, min(64, self._options.score_budget_bytes // (4 * len(self._vocabulary))))
        digest = _digest(ids[: start - 1])
        for first in range(start, stop, chunk):
            rows = []
            for position in range(first, min(first + chunk, stop)):
                watch.check()
                self._accidents.may_happen("prefill")
                time.sleep(self._settings.prefill_ms_per_token / 1000)
                digest = _extend(digest, ids[position - 1])
                rows.append(self._row(digest, ids[position - 1], position))
            self._cached = list(ids[: first + len(rows) - 1])
            watch.report(first + len(rows) - start, stop - start)
            yield np.stack(rows)

    def _pass_over(self, ids: Sequence[int], phase: str, watch: Watch) -> None:
        """Spend the time and have the accidents of a real pass, chunk by chunk."""
        begin = len(self._cached)
        for first in range(begin, len(ids), _PREFILL_CHUNK):
            watch.check()
            watch.report(first - begin, len(ids) - begin)
            self._accidents.may_happen(phase)
            chunk = ids[first : first + _PREFILL_CHUNK]
            if phase == "decode":
                time.sleep(self._settings.decode_ms / 1000)
            else:
                time.sleep(len(chunk) * self._settings.prefill_ms_per_token / 1000)
            self._cached.extend(chunk)
            watch.report(len(self._cached) - begin, len(ids) - begin)

    def _row(self, digest: int, last: int, length: int) -> NDArray[np.float32]:
        """Unigram prior, followers of the last id, and noise that depends on every id."""
        settings = self._settings
        noise = np.random.Generator(np.random.Philox(key=[settings.seed, digest]))
        row = noise.standard_normal(len(self._prior), dtype=np.float32)
        row += self._prior
        followers = np.random.Generator(np.random.Philox(key=[settings.seed, last]))
        normal = self._vocabulary.kinds == TokenKind.NORMAL
        favoured = np.flatnonzero(normal)[followers.integers(0, int(normal.sum()), 8)]
        row[favoured] += np.linspace(7, 3, 8, dtype=np.float32)
        if settings.end_after and length >= settings.end_after:
            row[self._vocabulary.eos] += 60
        if settings.nan_after and length >= settings.nan_after:
            row[:] = np.nan
        return row


def _prior(vocabulary: Vocabulary, seed: int) -> NDArray[np.float32]:
    """Zipf's law over the pieces in a seeded order; marks and reserved rows are rare."""
    order = np.random.default_rng(seed).permutation(len(vocabulary))
    prior = -np.log1p(order).astype(np.float32)
    prior[vocabulary.kinds == TokenKind.BYTE] -= 6
    prior[vocabulary.kinds == TokenKind.CONTROL] = -16
    prior[vocabulary.kinds == TokenKind.UNUSED] = -30
    return prior


def _shared_prefix(cached: Sequence[int], ids: Sequence[int]) -> int:
    for index, (ours, theirs) in enumerate(zip(cached, ids, strict=False)):
        if ours != theirs:
            return index
    return min(len(cached), len(ids))


def _extend(digest: int, token_id: int) -> int:
    """One step of FNV-1a over 64-bit words."""
    return ((digest ^ (token_id + 1)) * _FNV_PRIME) & _MASK


def _digest(ids: Sequence[int]) -> int:
    digest = _FNV_OFFSET
    for token_id in ids:
        digest = _extend(digest, token_id)
    return digest
