"""The border to the model libraries: ids in, one row of logits per position out.

Positions: ``position`` always means the index of the token that is *predicted*. The row that
belongs to position ``p`` was computed from ``ids[:p]``, so the score of token ``ids[p]`` comes
from row ``p``. There is no row for position 0: a model needs at least one token to read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from logitscope.attribution_units import GradientMethod, TokenAttribution
from logitscope.surprisal import TokenNumbers
from logitscope.unembedding import Unembedding
from logitscope.vocabulary import Vocabulary


class BackendError(Exception):
    """Something a person can act on. ``str()`` is one sentence: what, where, what to do.

    ``detail`` holds what the library said, for "copy details"; it may be empty.
    """

    def __init__(self, sentence: str, detail: str = "") -> None:
        super().__init__(sentence)
        self.detail = detail


class ModelFileError(BackendError):
    """The file or folder cannot be opened as a model."""


class MissingBackend(BackendError):
    """The backend's library is not installed; the sentence names the extra."""


class NotEnoughMemory(BackendError):
    """The estimate, or the library, says that the memory does not suffice."""


class ContextOverflow(BackendError):
    """More ids than the context holds."""


class Cancelled(Exception):
    """The watch asked to stop. The backend stays usable."""


@dataclass(frozen=True, slots=True)
class Watch:
    """How a long call looks for a stop and tells how far it is.

    ``flag_address`` is the address of two bytes in shared memory, (flag, 0): a library with a
    native abort hook can poll the first byte without entering Python. 0 means there is none.
    """

    is_cancelled: Callable[[], bool] = lambda: False
    report: Callable[[int, int], None] = lambda _done, _total: None
    """Called with (tokens done, tokens in all) at most once a chunk."""
    flag_address: int = 0

    def check(self) -> None:
        """Raise Cancelled if the stop was asked for."""
        if self.is_cancelled():
            raise Cancelled


UNWATCHED = Watch()


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a loaded model can do, as data; nobody asks for a backend's class."""

    prefix_reuse: bool = True
    """A rewind or a branch costs only the tokens that differ."""
    hidden_state: bool = False
    """The final hidden state and the unembedding row of an id can be given: the backend is a
    `WithHiddenState`."""
    gradients: bool = False
    """The log-probability of a token can be traced to the tokens before it: the backend is a
    `WithGradients`."""
    numbers: bool = False
    """Scored tokens need no rows: the backend is a `WithNumbers`."""
    offload: bool = False
    """The weights, or some of them, are on a GPU."""
    cut_cache: bool = False
    """``score_cuts`` reads the context once; without this it is as exact, and as slow, as
    ``score_variants``."""


MOST_THREADS = 512
"""llama.cpp aborts with more (GGML_MAX_N_THREADS)."""


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """What the person chose for loading; None means: choose for me."""

    context_length: int | None = None
    threads: int | None = None
    """At most ``MOST_THREADS``."""
    gpu_layers: int | None = None
    cache_type: str = "f16"
    """KV cache of llama.cpp: ``f16`` or ``f32``."""
    flash_attention: bool | None = None
    """Of llama.cpp: where it can, or not at all. By itself on a GPU only: on the CPU the
    probabilities are others (see docs/backends.md)."""
    device: str | None = None
    """PyTorch device: ``cuda``, ``mps`` or ``cpu``; of llama.cpp ``cpu`` alone, which puts no
    layer on a GPU."""
    branches: bool = True
    """Whether llama.cpp's cache keeps what lies behind a fork. Who reads one text behind the other
    needs none: 256 tokens of a small model then take 9 ms instead of 13."""
    score_budget_bytes: int = 256 * 1024 * 1024
    """Most memory that logits rows of one scoring chunk may take."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What is known of a loaded model. None means unknown and is shown as unknown."""

    name: str
    path: str
    backend: str
    architecture: str
    parameters: int | None
    quantization: str
    """Such as ``Q4_K_M``, ``F16``, ``bfloat16``."""
    n_vocab: int
    context_length: int
    """Tokens the model can hold as it is loaded."""
    trained_context_length: int | None
    weight_bytes: int
    kv_bytes_per_token: float
    device: str
    """For people: ``CPU, 2 threads``, ``CUDA NVIDIA H200``, …"""
    has_chat_template: bool
    tied_embeddings: bool | None
    header_hash: str
    """SHA-256 of what identifies the file without reading the weights (see each backend)."""
    cpu_threads: int = 1
    """Threads that evaluate the model on the CPU; 0 where another device does."""
    capabilities: Capabilities = field(default_factory=Capabilities)
    notes: tuple[str, ...] = ()
    """Sentences the person should know, such as a context cut to fit the memory."""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message for the chat template; ``role`` is ``system``, ``user``, ``assistant``, …"""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class PassStats:
    """What the last ``next_logits`` cost."""

    cached: int
    """Tokens whose keys and values were taken from the KV cache."""
    evaluated: int
    """Tokens that went through the model."""
    seconds: float


NO_PASS = PassStats(0, 0, 0.0)
"""Nothing went through the model: the row was at hand."""


@dataclass(frozen=True, slots=True, eq=False)
class VariantRows:
    """Some rows of a continuation behind one of several contexts."""

    variant: int
    """Which context, or which cut."""
    start: int
    """The continuation's token that the first row predicts."""
    rows: NDArray[np.float32]
    """(n, V): raw logits of the continuation's tokens ``start <= i < start + n``."""


class Backend(Protocol):
    """One loaded model. Not thread-safe: one call at a time.

    Ids are Python ints within ``range(info.n_vocab)``. Logits are raw, float32, over the whole
    vocabulary, before any sampler.
    """

    @property
    def info(self) -> ModelInfo: ...

    @property
    def vocabulary(self) -> Vocabulary: ...

    @property
    def last_pass(self) -> PassStats: ...

    def tokenize(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """Ids of a text. ``add_special`` puts in BOS (and what else the model's tokenizer adds);
        ``parse_special`` reads a written ``<bos>`` as the token and not as five characters.
        Lone surrogates are encoded as U+FFFD."""

    def render_chat(self, messages: Sequence[ChatMessage], *, add_generation_prompt: bool) -> str:
        """The exact string of the model's own template, rendered in a sandbox.

        Raises BackendError where the model has no template or the template fails."""

    def next_logits(self, ids: Sequence[int], watch: Watch = UNWATCHED) -> NDArray[np.float32]:
        """The row for position ``len(ids)``, shape (V,), owned by the caller.

        Reuses the longest cached prefix. Raises ContextOverflow, Cancelled, BackendError;
        ValueError for no ids or an id outside the vocabulary. The backend stays usable after
        each of them."""

    def score(
        self, ids: Sequence[int], start: int, stop: int, watch: Watch = UNWATCHED
    ) -> Iterator[NDArray[np.float32]]:
        """Rows for positions ``start <= p < stop`` in order, in chunks of shape (n, V).

        ``1 <= start <= stop <= len(ids) + 1``. Row ``p`` equals ``next_logits(ids[:p])`` up to the
        library's batch noise. A chunk is valid until the next one is asked for and takes at most
        ``LoadOptions.score_budget_bytes`` (but at least one row)."""

    def score_variants(
        self,
        contexts: Sequence[Sequence[int]],
        continuation: Sequence[int],
        watch: Watch = UNWATCHED,
    ) -> Iterator[VariantRows]:
        """Rows of the continuation's tokens behind each context, as ``score`` gives them.

        Row i of a variant predicts ``continuation[i]`` from the context and
        ``continuation[:i]``. Variants come in any order and one may come in several chunks, its
        rows in order; a chunk is valid until the next one is asked for and takes at most
        ``LoadOptions.score_budget_bytes`` (but at least one row). All variants of one call are
        evaluated alike; other calls may come between the chunks. Nothing comes for an empty
        continuation. ``watch.report`` gets tokens. Raises ValueError for a context without ids or
        an id outside the vocabulary, ContextOverflow; while iterating Cancelled, BackendError.
        The backend stays usable after each of them."""

    def score_cuts(
        self,
        context: Sequence[int],
        cuts: Sequence[Sequence[tuple[int, int]]],
        continuation: Sequence[int],
        watch: Watch = UNWATCHED,
    ) -> Iterator[VariantRows]:
        """The same behind ``context`` less the ranges ``(start, stop)`` of each cut.

        With the capability ``cut_cache`` the context is read once, and keys and values of what
        stays were computed with everything present: an approximation, best compared with an
        empty cut of the same call. Otherwise exact. Raises what ``score_variants`` raises, and
        ValueError for a range outside of the context."""

    def forget(self) -> None:
        """Empty the cache: what is read next gives the same rows as in a backend just loaded."""

    def close(self) -> None:
        """Free weights and caches; twice is harmless."""


class WithHiddenState(Protocol):
    """What a backend with the capability ``hidden_state`` can do besides."""

    def unembed(self, ids: Sequence[int], token_id: int, watch: Watch = UNWATCHED) -> Unembedding:
        """The logit of ``token_id`` in the row behind ``ids``, taken to pieces.

        Uses the cache as ``next_logits`` does, and raises what it raises; the parts add up to the
        row's own logit within 1e-3 in float32."""


class WithNumbers(Protocol):
    """What a backend with the capability ``numbers`` can do besides."""

    def score_numbers(
        self, ids: Sequence[int], start: int, stop: int, watch: Watch = UNWATCHED
    ) -> Iterator[TokenNumbers]:
        """Numbers of the tokens ``ids[start:stop]``, in order, in chunks: those that
        ``surprisal.token_numbers`` finds in the rows of ``score``.

        Tokens of a chunk from the first whose row is no distribution on are left out of it. Raises
        what ``score`` raises."""


class WithGradients(Protocol):
    """What a backend with the capability ``gradients`` can do besides."""

    def attribute(
        self,
        ids: Sequence[int],
        target: int,
        method: GradientMethod,
        steps: int = 50,
        watch: Watch = UNWATCHED,
    ) -> TokenAttribution:
        """What each of ``ids`` adds to the log-probability of ``target`` behind them, to first
        order (gradient x input) or along a path of ``steps`` points (integrated gradients).

        ``watch.report`` gets (points done, points in all). Raises ContextOverflow, Cancelled,
        NotEnoughMemory; ValueError for no ids or an id outside the vocabulary. The cache is left
        as it is."""


class Loader(Protocol):
    """What an entry point of group ``logitscope.backends`` names."""

    def __call__(self, path: Path, options: LoadOptions, watch: Watch = UNWATCHED) -> Backend:
        """Load a model. ``watch.report`` gets (per mille done, 1000).

        Raises ModelFileError, MissingBackend, NotEnoughMemory, Cancelled."""
