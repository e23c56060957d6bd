"""Requests to the model process and its replies: small frozen records over a pipe.

Rows of logits do not travel here but through shared memory; a reply names them by ``RowRef``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from logitscope.attribution_units import GradientMethod
from logitscope.backends.base import NO_PASS, ChatMessage, LoadOptions, ModelInfo, PassStats
from logitscope.backends.origin_messages import (
    Attributed,
    Calibrated,
    FreeRun,
    SecondOpinion,
    Task,
)
from logitscope.origin_types import OriginCase, OriginReport
from logitscope.sampling import SamplerSettings
from logitscope.steps import StepRecord
from logitscope.unembedding import Unembedding
from logitscope.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class PromptText:
    """A prompt without ids yet. Plain: the contents of ``messages`` end to end. Chat: the model's
    own template over them."""

    messages: tuple[ChatMessage, ...]
    chat: bool = False
    add_special: bool = True
    parse_special: bool = False


@dataclass(frozen=True, slots=True)
class RowRef:
    """A row of logits in the shared ring: slot and the stamp it carried when it was written.

    The reader copies the slot, then compares the stamp: another one belongs to a newer row.
    """

    slot: int
    stamp: int


# -- requests -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Load:
    """Load a model into a fresh process."""

    number: int
    path: str
    backend: str
    """A name of the registry, or "" to tell it from the path."""
    options: LoadOptions


class Channel(StrEnum):
    """Requests of one channel replace each other: the newest wins."""

    LIVE = "live"
    """The prompt as it is typed, and the end of the current path."""
    INSPECT = "inspect"
    """The distribution at a position the person looks at."""
    EXPLORE = "explore"
    """Rows for expanding the tree."""
    COMPARE = "compare"
    """Rows to be set against another model's."""
    GAME = "game"
    """The row of a token that somebody is about to guess."""
    GENERATE = "generate"
    SCORE = "score"
    UNEMBED = "unembed"
    """Where the logit of the token comes from that the person looks at."""
    ORIGIN = "origin"
    """Prompt or weights: many small passes, which give way to everything but scoring."""
    AUXILIARY = "auxiliary"
    """Tokenize, render: quick, never replaced by the others."""


@dataclass(frozen=True, slots=True)
class Evaluate:
    """The row that follows ``prompt`` and ``tail``.

    ``prompt`` as a PromptText is tokenized first; the reply carries the ids. ``tail`` are ids
    behind the prompt (the current continuation).
    """

    number: int
    prompt: PromptText | tuple[int, ...]
    tail: tuple[int, ...] = ()
    channel: Channel = Channel.LIVE


@dataclass(frozen=True, slots=True)
class Generate:
    """Choose and append tokens until a limit; one Stepped reply a token, then Finished."""

    number: int
    ids: tuple[int, ...]
    settings: SamplerSettings
    max_tokens: int
    stop_texts: tuple[str, ...] = ()
    ignore_end: bool = False
    """Go on after EOS and end-of-turn tokens."""
    prompt_length: int = 0
    """``ids[:prompt_length]`` is the prompt; stop texts are looked for behind it only."""
    channel: Channel = Channel.GENERATE


@dataclass(frozen=True, slots=True)
class Score:
    """Score tokens ``start <= p < stop`` of ``ids``; Scored replies, then Finished. One that
    ``follows`` waits for older ones, where others replace them, and starts with an empty cache."""

    number: int
    ids: tuple[int, ...]
    start: int
    stop: int
    follows: bool = False
    channel: Channel = Channel.SCORE


@dataclass(frozen=True, slots=True)
class Tokenize:
    """Ids of a text; answered by Tokenized."""

    number: int
    text: str
    add_special: bool = False
    parse_special: bool = False
    channel: Channel = Channel.AUXILIARY


@dataclass(frozen=True, slots=True)
class Unembed:
    """The logit of a token in the row behind ``ids``, taken to pieces; answered by Unembedded.

    Fails where the model has not the capability ``hidden_state``.
    """

    number: int
    ids: tuple[int, ...]
    token_id: int
    channel: Channel = Channel.UNEMBED


@dataclass(frozen=True, slots=True)
class Attribute:
    """Work out where an answer came from; Attributed, FreeRun or Calibrated replies, then Finished.

    Anything but scoring is served between two passes of it.
    """

    number: int
    case: OriginCase
    task: Task
    report: OriginReport | None = None
    """What is known already; None only for LABELS, FREE and THRESHOLD."""
    words: tuple[int, ...] = ()
    """Numbers of words in ``report``; SWAP, LEANS and GRADIENTS take the first."""
    settings: SamplerSettings = field(default_factory=SamplerSettings)
    """Of a FREE answer."""
    threshold: float | None = None
    """For LABELS, where the model's own is known."""
    method: GradientMethod = GradientMethod.GRADIENT_X_INPUT
    channel: Channel = Channel.ORIGIN


Request = Load | Evaluate | Generate | Score | Tokenize | Unembed | Attribute


# -- replies ------------------------------------------------------------------------------------


class Phase(StrEnum):
    """What the process is doing; shown in the model bar."""

    LOAD = "load"
    PREFILL = "prefill"
    DECODE = "decode"
    SCORE = "score"
    ORIGIN = "origin"


@dataclass(frozen=True, slots=True)
class Progress:
    """Tokens (for LOAD: per mille; for ORIGIN: passes) done of all."""

    number: int
    phase: Phase
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Loaded:
    """The model is ready. ``shared_rows`` names the shared memory block of the ring."""

    number: int
    info: ModelInfo
    vocabulary: Vocabulary
    shared_rows: str
    slots: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The row behind ``prompt_ids + tail`` is in the ring."""

    number: int
    channel: Channel
    prompt_ids: tuple[int, ...]
    tail: tuple[int, ...]
    rendered: str
    """The text that was tokenized ("" where ids were given): for chat, the template's output."""
    row: RowRef
    cached: int
    evaluated: int
    seconds: float
    kv_bytes: int
    """Bytes of the KV cache that hold this sequence."""


@dataclass(frozen=True, slots=True)
class Stepped:
    """One generated token at index ``position`` of the sequence.

    ``row`` is the row the token was chosen from (position ``position``), of the last step that
    comes in a message only; ``cost`` what it took to have it.
    """

    number: int
    position: int
    step: StepRecord
    row: RowRef | None
    cost: PassStats = NO_PASS


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """Numbers of tokens at positions ``start …``, n of them, from raw distributions."""

    number: int
    start: int
    log_probability: NDArray[np.float64]
    """(n,), nats."""
    rank: NDArray[np.int32]
    """(n,), 1 = likeliest."""
    entropy: NDArray[np.float64]
    """(n,), nats."""
    logit: NDArray[np.float32]
    """(n,), the true token's."""
    top_ids: NDArray[np.int32]
    """(n, 10)."""
    top_log_probability: NDArray[np.float32]
    """(n, 10), nats."""


@dataclass(frozen=True, slots=True)
class Tokenized:
    """Ids of the text asked for."""

    number: int
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Unembedded:
    """Where the logit asked for comes from."""

    number: int
    ids: tuple[int, ...]
    parts: Unembedding


class Ending(StrEnum):
    """Why a stream of replies ended."""

    LENGTH = "length"
    END_TOKEN = "end_token"
    STOP_TEXT = "stop_text"
    CANCELLED = "cancelled"
    CONTEXT_FULL = "context_full"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Finished:
    """A Generate, Score or Attribute has ended, or any request was cancelled in time.

    ``row`` is the row behind the last token, if there is one.
    """

    number: int
    ending: Ending
    row: RowRef | None = None
    position: int = 0
    """Number of ids that ``row`` was computed from."""
    cost: PassStats = NO_PASS
    """What it took to have ``row``."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A request failed; the process lives on unless Died follows."""

    number: int
    sentence: str
    detail: str = ""
    expected: bool = True
    """False for a bug: the window offers "copy details"."""
    blames_model: bool = False
    """Its numbers are no logits."""
    no_model: bool = False
    """There is none, or its process died; Died says why, if so."""
    prompt_ids: tuple[int, ...] | None = None
    """Of an Evaluate that does not fit into the context: they can still be shown and scored."""


@dataclass(frozen=True, slots=True)
class Died:
    """The process is gone, and with it every open request. Made by the client."""

    number: int
    """The request it was busy with, or 0."""
    sentence: str
    detail: str
    """The last lines of its standard error."""


Reply = (
    Progress
    | Loaded
    | Evaluated
    | Stepped
    | Scored
    | Tokenized
    | Unembedded
    | Attributed
    | FreeRun
    | SecondOpinion
    | Calibrated
    | Finished
    | Failed
    | Died
)
