"""GGUF files through llama.cpp's C interface.

No ``logits_all`` and none of the bindings' own classes: ids go into a batch with a flag on the rows
that are wanted, and only those rows are computed and copied.
"""

from __future__ import annotations

import ctypes
import time
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from logitscope.backends.base import (
    UNWATCHED,
    BackendError,
    Capabilities,
    ChatMessage,
    ContextOverflow,
    LoadOptions,
    ModelInfo,
    PassStats,
    VariantRows,
    Watch,
)
from logitscope.backends.gguf_header import GgufHeader, read_header
from logitscope.backends.llamacpp_branches import Branches
from logitscope.backends.llamacpp_cache import KvCache
from logitscope.backends.llamacpp_lib import library
from logitscope.backends.llamacpp_load import Native, open_native
from logitscope.backends.llamacpp_plan import Plan, make_plan
from logitscope.backends.llamacpp_tokenizer import Tokenizer
from logitscope.backends.plain_variants import (
    Range,
    check_cuts,
    check_variants,
    score_each,
    score_each_cut,
)
from logitscope.vocabulary import Vocabulary


def load(path: Path, options: LoadOptions, watch: Watch = UNWATCHED) -> LlamaCppBackend:
    """Load a GGUF file, mapped into memory.

    Raises ModelFileError, MissingBackend, NotEnoughMemory, Cancelled. ``ModelInfo.header_hash`` is
    the SHA-256 of the file in front of its tensor data.
    """
    header = read_header(path)
    header.require_language_model()
    lib = library()
    plan = make_plan(header, options, can_offload=bool(lib.llama_supports_gpu_offload()))
    native = open_native(path, plan, options.cache_type, watch)
    try:
        return LlamaCppBackend(header, plan, native)
    except BaseException:
        native.free()
        raise


class LlamaCppBackend:
    """One GGUF model. See ``base.Backend``."""

    def __init__(self, header: GgufHeader, plan: Plan, native: Native) -> None:
        self._native: Native | None = native
        self._rows = plan.rows
        self._vocabulary = native.vocabulary
        self._tokenizer = Tokenizer(native.vocab, native.vocabulary)
        template = library().llama_model_chat_template(native.model, None)
        self._template = template.decode(errors="replace") if template else None
        self._info = _describe(header, plan, native, self._template is not None)
        self._kept: tuple[NDArray[np.int32], NDArray[np.float32]] | None = None
        self._cache = KvCache(
            native.context,
            capacity=plan.context,
            batch=plan.batch,
            sequences=native.sequences,
            threads=plan.timed_threads,
        )
        self._branches = Branches(header.path, plan, native, self._info.n_vocab)
        self._last_pass = PassStats(0, 0, 0.0)

    @property
    def info(self) -> ModelInfo:
        return self._info

    @property
    def vocabulary(self) -> Vocabulary:
        return self._vocabulary

    @property
    def last_pass(self) -> PassStats:
        return self._last_pass

    def tokenize(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """See ``base.Backend``."""
        self._opened()
        return self._tokenizer.tokenize(text, add_special=add_special, parse_special=parse_special)

    def render_chat(self, messages: Sequence[ChatMessage], *, add_generation_prompt: bool) -> str:
        """See ``base.Backend``."""
        self._opened()
        if self._template is None:
            raise BackendError(f"{self._info.name} has no chat template: use a plain prompt.")
        # Jinja takes 25 ms to import, which a plain prompt need not wait for.
        from logitscope.backends.chat_template import render

        return render(
            self._template,
            messages,
            add_generation_prompt=add_generation_prompt,
            bos_token=self._name_of(self._vocabulary.bos),
            eos_token=self._name_of(self._vocabulary.eos),
        )

    def next_logits(self, ids: Sequence[int], watch: Watch = UNWATCHED) -> NDArray[np.float32]:
        """See ``base.Backend``."""
        native, checked = self._opened(), self._checked(ids)
        begun = time.perf_counter()
        if self._kept is not None and np.array_equal(self._kept[0], checked):
            self._last_pass = PassStats(len(checked), 0, time.perf_counter() - begun)
            return self._kept[1].copy()
        sequence = self._cache.seat(checked, len(checked) - 1)
        cached = sequence.length
        self._cache.prefill(sequence, checked, 1, watch)
        row = np.empty(self._info.n_vocab, dtype=np.float32)
        self._copy_rows(native, row)
        self._cache.settle(sequence)
        if not self._info.capabilities.prefix_reuse:
            # Asked for again, the last token could not be taken back: it would cost all of them.
            self._kept = (checked, row.copy())
        self._last_pass = PassStats(cached, len(checked) - cached, time.perf_counter() - begun)
        return row

    def forget(self) -> None:
        """See ``base.Backend``."""
        self._opened()
        self._cache.clear()
        self._kept = None

    def score(
        self, ids: Sequence[int], start: int, stop: int, watch: Watch = UNWATCHED
    ) -> Iterator[NDArray[np.float32]]:
        """See ``base.Backend``. Other calls may come between the chunks."""
        if not 1 <= start <= stop <= len(ids) + 1:
            raise ValueError(f"positions {start} to {stop} of {len(ids)} ids cannot be scored")
        if start == stop:
            return iter(())
        return self._score(self._checked(ids[: stop - 1]), start, stop, watch)

    def _score(
        self, ids: NDArray[np.int32], start: int, stop: int, watch: Watch
    ) -> Iterator[NDArray[np.float32]]:
        chunk = np.empty((min(self._rows, stop - start), self._info.n_vocab), dtype=np.float32)
        for position in range(start, stop, len(chunk)):
            native = self._opened()
            n = min(len(chunk), stop - position)
            first = position - 1
            sequence = self._cache.seat(ids, first)
            self._cache.prefill(sequence, ids[:first], 0, watch)
            self._cache.extend(sequence, ids[first : first + n], n, watch)
            self._copy_rows(native, chunk[:n])
            if position + n == stop:
                self._cache.settle(sequence)
            watch.report(position + n - start, stop - start)
            yield chunk[:n]

    def score_variants(
        self,
        contexts: Sequence[Sequence[int]],
        continuation: Sequence[int],
        watch: Watch = UNWATCHED,
    ) -> Iterator[VariantRows]:
        """See ``base.Backend``. Equal prefixes are evaluated once, in a context of their own."""
        check_variants(self._info, contexts, continuation)
        if not contexts or not continuation:
            return iter(())
        if self._can_branch(max(map(len, contexts)) + len(continuation)):
            return self._branches.exact(contexts, continuation, watch)
        return score_each(self, contexts, continuation, watch)

    def score_cuts(
        self,
        context: Sequence[int],
        cuts: Sequence[Sequence[Range]],
        continuation: Sequence[int],
        watch: Watch = UNWATCHED,
    ) -> Iterator[VariantRows]:
        """See ``base.Backend``."""
        check_cuts(self._info, context, cuts, continuation)
        if not cuts or not continuation:
            return iter(())
        if self._can_branch(len(context) + len(continuation)):
            return self._branches.cut(context, cuts, continuation, watch)
        return score_each_cut(self, context, cuts, continuation, watch)

    def close(self) -> None:
        """See ``base.Backend``."""
        if self._native is not None:
            native, self._native = self._native, None
            self._branches.close()
            native.free()

    def _can_branch(self, longest: int) -> bool:
        return self._info.capabilities.cut_cache and self._branches.have_room(longest)

    def _opened(self) -> Native:
        if self._native is None:
            raise BackendError(f"{self._info.name} is closed: load it again.")
        return self._native

    def _checked(self, ids: Sequence[int]) -> NDArray[np.int32]:
        n, n_vocab = len(ids), self._info.n_vocab
        if n == 0:
            raise ValueError("there is no row without ids")
        if n > self._info.context_length:
            raise ContextOverflow(
                f"The text has {n:,} tokens, but the context holds"
                f" {self._info.context_length:,}: shorten the text, or load the model with a"
                " longer context."
            )
        try:
            # Of all ways to read a list of ints this is the quickest: 2,000 in 20 µs.
            found = np.frombuffer(array("i", ids), dtype=np.int32)
        except OverflowError as error:
            raise ValueError(f"an id is outside the vocabulary of {n_vocab} tokens") from error
        # Read as unsigned, a negative id is larger than any.
        if found.view(np.uint32).max() >= n_vocab:
            raise ValueError(f"an id is outside the vocabulary of {n_vocab} tokens")
        return found

    def _copy_rows(self, native: Native, target: NDArray[np.float32]) -> None:
        """Copy the flagged rows of the last decode out of llama.cpp's buffer."""
        logits = library().llama_get_logits(native.context)
        ctypes.memmove(target.ctypes.data, logits, target.nbytes)

    def _name_of(self, token_id: int | None) -> str:
        piece = b"" if token_id is None else self._vocabulary.bytes_of(token_id)
        return piece.decode(errors="replace")


def _describe(header: GgufHeader, plan: Plan, native: Native, has_template: bool) -> ModelInfo:
    lib = library()
    return ModelInfo(
        name=header.name,
        path=str(header.path),
        backend="llamacpp",
        architecture=header.architecture,
        parameters=header.parameters,
        quantization=header.quantization,
        n_vocab=lib.llama_vocab_n_tokens(native.vocab),
        context_length=plan.context,
        trained_context_length=lib.llama_model_n_ctx_train(native.model),
        weight_bytes=header.tensor_bytes,
        kv_bytes_per_token=_kv_bytes_per_token(plan, native),
        cpu_threads=0 if native.device else plan.threads,
        device=native.device or f"CPU, {plan.threads} thread{'s' * (plan.threads > 1)}",
        has_chat_template=has_template,
        tied_embeddings=header.tied_embeddings,
        header_hash=header.header_sha256,
        capabilities=Capabilities(
            prefix_reuse=native.can_be_cut,
            offload=bool(native.device),
            cut_cache=native.can_be_cut,
        ),
        notes=(*plan.notes, *_flash_notes(native)),
    )


def _flash_notes(native: Native) -> tuple[str, ...]:
    if not native.flash_attention or native.device:
        return ()
    return ("Flash attention is on: the probabilities differ from those without it.",)


def _kv_bytes_per_token(plan: Plan, native: Native) -> float:
    """As llama.cpp allocated it; as the header says it where that is the same but for rounding."""
    cells: int = library().llama_n_ctx(native.context)
    if (
        not native.kv_bytes
        or abs(native.kv_bytes - plan.kv_bytes_per_token * cells) <= native.kv_rounding
    ):
        return plan.kv_bytes_per_token
    return native.kv_bytes / cells
