"""One question to a model, asked through the model process, for callers that can wait."""

from __future__ import annotations

import queue
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from logitscope.backends.base import BackendError, ChatMessage, LoadOptions, ModelInfo
from logitscope.backends.client import ModelClient
from logitscope.backends.messages import (
    Died,
    Evaluated,
    Failed,
    Finished,
    Loaded,
    PromptText,
    Reply,
    Tokenized,
)
from logitscope.vocabulary import Vocabulary

T = TypeVar("T", Loaded, Evaluated, Tokenized)

POLL_SECONDS = 0.2
"""A wait without an end cannot be interrupted by Ctrl-C on Windows."""


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """The row that follows ``ids``, raw logits, shape (V,)."""

    info: ModelInfo
    vocabulary: Vocabulary
    ids: tuple[int, ...]
    rendered: str
    """The text that was tokenized: for chat, the template's output."""
    row: NDArray[np.float32]


def ask_next(
    model: str,
    prompt: str,
    backend: str = "",
    options: LoadOptions | None = None,
    *,
    add_special: bool = True,
    chat: bool = False,
) -> Answer:
    """Load the model in its own process, evaluate the prompt, end the process.

    ``chat`` sends the prompt as one user's message through the model's template. Raises
    BackendError with the sentence of whatever fails.
    """
    replies: queue.SimpleQueue[Reply] = queue.SimpleQueue()
    client = ModelClient(replies.put)
    try:
        loaded = wait_for(replies, client.load(model, backend, options), Loaded)
        messages = (ChatMessage("user", prompt),)
        text = PromptText(messages, chat=chat, add_special=add_special, parse_special=chat)
        evaluated = wait_for(replies, client.evaluate(text), Evaluated)
        row = client.row(evaluated.row)
        if row is None:
            raise BackendError("The answer of the model was lost: ask again")
        ids = evaluated.prompt_ids
        return Answer(loaded.info, loaded.vocabulary, ids, evaluated.rendered, row)
    finally:
        client.close()


class ModelDied(BackendError):
    """The model process is gone; asking it again is of no use."""


def next_reply(replies: queue.SimpleQueue[Reply], number: int) -> Reply:
    """The next reply to a request. Raises BackendError where it failed, ModelDied."""
    while True:
        try:
            reply = replies.get(timeout=POLL_SECONDS)
        except queue.Empty:
            continue
        if isinstance(reply, Died):
            raise ModelDied(reply.sentence, reply.detail)
        if reply.number != number:
            continue
        if isinstance(reply, Failed):
            raise BackendError(reply.sentence, reply.detail)
        return reply


def wait_for(replies: queue.SimpleQueue[Reply], number: int, expected: type[T]) -> T:
    """The closing reply of a request. Raises BackendError as ``next_reply``."""
    while True:
        reply = next_reply(replies, number)
        if isinstance(reply, expected):
            return reply
        if isinstance(reply, Finished):
            raise BackendError("The model stopped before it had answered: ask again")
