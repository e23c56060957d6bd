"""The backend for Hugging Face folders: transformers on PyTorch.

``header_hash`` of its models is the SHA-256 over config.json, the tokenizer file and the headers of
the safetensors files, in this order; of a GGUF, over everything in front of the tensor data.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from logitscope.attribution_units import GradientMethod, TokenAttribution
from logitscope.backends.base import (
    UNWATCHED,
    BackendError,
    ChatMessage,
    ContextOverflow,
    LoadOptions,
    ModelFileError,
    ModelInfo,
    NotEnoughMemory,
    PassStats,
    VariantRows,
    Watch,
)
from logitscope.backends.chat_template import render
from logitscope.backends.hf_describe import chat_template, describe_model, special_ids
from logitscope.backends.hf_files import inspect_folder
from logitscope.backends.hf_gguf import load_gguf
from logitscope.backends.hf_gradients import Gradients
from logitscope.backends.hf_load import LoadedParts, import_libraries, load_parts, start_threads
from logitscope.backends.hf_numbers import HeadNumbers
from logitscope.backends.hf_sequence import CachedSequence
from logitscope.backends.hf_unembedding import OutputHead
from logitscope.backends.hf_variants import Variants, memory_checked
from logitscope.backends.hf_vocabulary import encode, read_vocabulary
from logitscope.backends.llamacpp_plan import physical_cores
from logitscope.backends.numbers import numbers_of
from logitscope.backends.pinning import PINNING
from logitscope.backends.plain_variants import (
    Range,
    check_cuts,
    check_variants,
    score_each,
    score_each_cut,
)
from logitscope.slice_numbers import TooManyTies
from logitscope.surprisal import TokenNumbers
from logitscope.unembedding import Unembedding
from logitscope.vocabulary import Vocabulary

CPU_ROWS_BYTES = 64 << 20
"""Most that the logits of one scoring pass take on the CPU. Soft-capped heads (Gemma 2) hold them
three times; 64 rows of 262,144 entries already give matrix products their full speed."""


def load(path: Path, options: LoadOptions, watch: Watch = UNWATCHED) -> HfBackend:
    """Load a folder with config.json, tokenizer and safetensors, or (slowly) a GGUF file.

    Raises ModelFileError, MissingBackend, NotEnoughMemory, BackendError, Cancelled."""
    is_gguf = path.suffix.lower() == ".gguf" and path.is_file()
    folder = None if is_gguf else inspect_folder(path)
    watch.check()
    libraries = import_libraries()
    threads = options.threads or physical_cores()
    libraries.torch.set_num_threads(threads)
    with PINNING.of_new_threads(threads):
        start_threads(libraries.torch)
    # Threads that transformers makes, to read the weights, may run on any core.
    PINNING.hold(False)
    if folder is None:
        parts = load_gguf(libraries, path, options, watch)
    else:
        parts = load_parts(libraries, folder, options, watch)
    backend = HfBackend(libraries.torch, parts, options)
    PINNING.hold(parts.device.startswith("cpu"))
    watch.report(1000, 1000)
    return backend


class HfBackend:
    """A causal language model of transformers behind the border of ``base.Backend``."""

    def __init__(self, torch: Any, parts: LoadedParts, options: LoadOptions) -> None:
        self._torch = torch
        self._tokenizer = parts.tokenizer
        on_cpu = parts.device.startswith("cpu")
        self._rows_bytes = min(options.score_budget_bytes, CPU_ROWS_BYTES if on_cpu else 1 << 62)
        self._stats = PassStats(0, 0, 0.0)
        special = special_ids(parts.tokenizer, parts.model)
        self._head = OutputHead(torch, parts.model)
        self._sequence, n_vocab = _first_pass(torch, parts, special.bos or 0)
        self._head.learn(self._sequence.rows([special.bos or 0], 1, UNWATCHED)[0])
        self._vocabulary, notes = read_vocabulary(
            parts.tokenizer.backend_tokenizer, n_vocab, special
        )
        self._numbers = HeadNumbers(torch, self._head, n_vocab)
        gradients = Gradients(torch, parts.model, special.bos)
        facts = describe_model(torch, parts, options, self._sequence)
        self._info = replace(
            facts,
            n_vocab=n_vocab,
            notes=(*notes, *facts.notes),
            capabilities=replace(
                facts.capabilities,
                hidden_state=self._head.is_understood,
                gradients=gradients.is_possible,
                numbers=self._numbers.is_possible,
            ),
        )
        self._sequence.reset()
        self._gradients = gradients
        # The head keeps the state of the newest pass, which must be that of the newest row.
        self._variants = Variants(
            torch, parts.model, n_vocab, self._rows_bytes, self._sequence.forget_row
        )

    @property
    def info(self) -> ModelInfo:
        """What is known of the model."""
        return self._info

    @property
    def vocabulary(self) -> Vocabulary:
        """Bytes and kinds of every id."""
        return self._vocabulary

    @property
    def last_pass(self) -> PassStats:
        """What the last ``next_logits`` cost."""
        return self._stats

    def tokenize(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """See ``base.Backend``."""
        ids = encode(
            self._tokenizer.backend_tokenizer,
            text,
            add_special=add_special,
            parse_special=parse_special,
        )
        outside = next((i for i in ids if i >= self._info.n_vocab), None)
        if outside is not None:
            raise BackendError(
                f"The text holds the token {self._tokenizer.convert_ids_to_tokens(outside)} (id "
                f"{outside}), for which {self._info.name} has no row: leave it out of the text."
            )
        return ids

    def render_chat(self, messages: Sequence[ChatMessage], *, add_generation_prompt: bool) -> str:
        """See ``base.Backend``."""
        template = chat_template(self._tokenizer)
        if template is None:
            raise BackendError(f"{self._info.name} has no chat template: use plain text.")
        return render(
            template,
            messages,
            add_generation_prompt=add_generation_prompt,
            bos_token=self._tokenizer.bos_token or "",
            eos_token=self._tokenizer.eos_token or "",
        )

    def next_logits(self, ids: Sequence[int], watch: Watch = UNWATCHED) -> NDArray[np.float32]:
        """See ``base.Backend``."""
        self._check_ids(ids)
        started = time.perf_counter()
        row: NDArray[np.float32] = self._rows(ids, 1, watch)[0].copy()
        evaluated = self._sequence.evaluated
        self._stats = PassStats(len(ids) - evaluated, evaluated, time.perf_counter() - started)
        return row

    def forget(self) -> None:
        """See ``base.Backend``."""
        self._sequence.reset()

    def score(
        self, ids: Sequence[int], start: int, stop: int, watch: Watch = UNWATCHED
    ) -> Iterator[NDArray[np.float32]]:
        """See ``base.Backend``."""
        if not 1 <= start <= stop <= len(ids) + 1:
            raise ValueError(f"positions {start} to {stop} are not within 1 to {len(ids) + 1}")
        if start < stop:
            self._check_ids(ids[: max(self._fed_for(ids, stop), stop - 1)])
        return self._score_chunks(ids, start, stop, watch)

    def _score_chunks(
        self, ids: Sequence[int], start: int, stop: int, watch: Watch
    ) -> Iterator[NDArray[np.float32]]:
        step = max(self._rows_bytes // (4 * self._info.n_vocab), 1)
        for first in range(start, stop, step):
            last = min(first + step, stop)
            fed = self._fed_for(ids, last)
            rows = self._rows(ids[:fed], fed - first + 1, watch)[: last - first]
            watch.report(last - start, stop - start)
            yield rows

    def _fed_for(self, ids: Sequence[int], stop: int) -> int:
        """How many ids are read for the rows of all tokens before ``stop``: the last of them, too,
        where there is room, since 512 tokens are read sooner than 511 (24.1 and 24.6 ms)."""
        return min(stop, len(ids), self._info.context_length)

    def score_numbers(
        self, ids: Sequence[int], start: int, stop: int, watch: Watch = UNWATCHED
    ) -> Iterator[TokenNumbers]:
        """See ``base.WithNumbers``."""
        if not 1 <= start <= stop <= len(ids):
            raise ValueError(f"tokens {start} to {stop} are not within 1 to {len(ids)}")
        if start < stop:
            self._check_ids(ids[: stop - 1])
            self._check_ids(ids[stop - 1 : stop])
        return self._number_chunks(ids, start, stop, watch)

    def _number_chunks(
        self, ids: Sequence[int], start: int, stop: int, watch: Watch
    ) -> Iterator[TokenNumbers]:
        done = start
        while done < stop:
            last = min(done + self._numbers.tokens, stop)
            for numbers in self._numbers_within(ids, done, last, watch):
                yield numbers
                done += len(numbers.rank)
            if done < last:
                return
            watch.report(done - start, stop - start)

    def _numbers_within(
        self, ids: Sequence[int], start: int, stop: int, watch: Watch
    ) -> Iterator[TokenNumbers]:
        targets, begun = ids[start:stop], time.perf_counter()
        states = self._states(ids[: stop - 1], len(targets), watch)
        try:
            found = self._numbers.of(states, targets, watch)
            self._numbers.took(len(targets), time.perf_counter() - begun)
            return iter([found] if len(found.rank) else [])
        except TooManyTies:
            quiet = Watch(watch.is_cancelled, flag_address=watch.flag_address)
            return numbers_of(self._score_chunks(ids, start, stop, quiet), targets)

    def _states(self, ids: Sequence[int], count: int, watch: Watch) -> Any:
        """What goes into the head behind each of the last ``count`` ids; tensor (count, K)."""
        self._sequence.forget_row()
        with self._head.gathering() as states:
            self._rows(ids, count, watch)
        return self._torch.cat(states)[-count:]

    def score_variants(
        self,
        contexts: Sequence[Sequence[int]],
        continuation: Sequence[int],
        watch: Watch = UNWATCHED,
    ) -> Iterator[VariantRows]:
        """See ``base.Backend``."""
        check_variants(self._info, contexts, continuation)
        if not self._info.capabilities.prefix_reuse:
            return score_each(self, contexts, continuation, watch)
        if not contexts or not continuation:
            return iter(())
        return self._variants.exact(contexts, continuation, watch)

    def score_cuts(
        self,
        context: Sequence[int],
        cuts: Sequence[Sequence[Range]],
        continuation: Sequence[int],
        watch: Watch = UNWATCHED,
    ) -> Iterator[VariantRows]:
        """See ``base.Backend``."""
        check_cuts(self._info, context, cuts, continuation)
        if not self._info.capabilities.cut_cache:
            return score_each_cut(self, context, cuts, continuation, watch)
        if not cuts or not continuation:
            return iter(())
        return self._variants.cut(context, cuts, continuation, watch)

    def unembed(self, ids: Sequence[int], token_id: int, watch: Watch = UNWATCHED) -> Unembedding:
        """See ``base.WithHiddenState``."""
        self._check_ids(ids)
        row = self._rows(ids, 1, watch)[0]
        return self._head.explain(token_id, row, tied=bool(self._info.tied_embeddings))

    def attribute(
        self,
        ids: Sequence[int],
        target: int,
        method: GradientMethod,
        steps: int = 50,
        watch: Watch = UNWATCHED,
    ) -> TokenAttribution:
        """See ``base.WithGradients``."""
        self._check_ids(ids)
        self._check_ids([target])
        self._require_open()
        self._sequence.forget_row()
        with memory_checked(self._torch, len(ids)):
            return self._gradients.attribute(ids, target, method, steps, watch)

    def close(self) -> None:
        """Free weights and caches; twice is harmless."""
        self._numbers.close()
        self._gradients.close()
        self._variants.close()
        self._head.close()
        self._sequence.close()

    def _rows(self, ids: Sequence[int], count: int, watch: Watch) -> NDArray[np.float32]:
        self._require_open()
        try:
            with memory_checked(self._torch, len(ids)):
                return self._sequence.rows(ids, count, watch)
        except NotEnoughMemory:
            self._sequence.reset()
            raise

    def _require_open(self) -> None:
        if self._sequence.is_closed:
            raise BackendError(f"{self._info.name} is closed: load it again.")

    def _check_ids(self, ids: Sequence[int]) -> None:
        if not ids:
            raise ValueError("there is no row without ids")
        if min(ids) < 0 or max(ids) >= self._info.n_vocab:
            raise ValueError(f"an id is outside the vocabulary of {self._info.n_vocab} tokens")
        if len(ids) > self._info.context_length:
            raise ContextOverflow(
                f"The text has {len(ids)} tokens, but {self._info.name} holds only "
                f"{self._info.context_length}: shorten it."
            )


def _first_pass(torch: Any, parts: LoadedParts, bos: int) -> tuple[CachedSequence, int]:
    """A sequence that is known to work, and the number of logits a row. Raises ModelFileError."""
    try:
        sequence = CachedSequence(torch, parts.model)
        row = sequence.settle(bos)
    except ModelFileError:
        raise
    except Exception as error:
        raise ModelFileError(
            f"transformers cannot run {parts.identity.name} ({type(parts.model).__name__}): update "
            "transformers or choose another model.",
            f"{type(error).__name__}: {error}",
        ) from error
    if not np.isfinite(row).all():
        raise ModelFileError(
            f"{parts.identity.name} gives logits that are not finite numbers: its weights are "
            "damaged, download them again."
        )
    return sequence, len(row)
