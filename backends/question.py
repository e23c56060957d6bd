"""Replies of the model process, for callers that can wait."""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import TypeVar

from logitscope.backends.base import BackendError, ContextOverflow
from logitscope.backends.messages import (
    Died,
    Evaluated,
    Failed,
    Finished,
    Loaded,
    Progress,
    Reply,
    Tokenized,
)

T = TypeVar("T", Loaded, Evaluated, Tokenized)

POLL_SECONDS = 0.2
"""A wait without an end cannot be interrupted by Ctrl-C on Windows."""


Report = Callable[[int, int], None]
"""Takes how many tokens of how many are done."""


def unreported(_done: int, _total: int) -> None:
    """Nobody looks at the progress."""


class ModelDied(BackendError):
    """The model process is gone; asking it again is of no use."""


def next_reply(replies: queue.SimpleQueue[Reply], number: int) -> Reply:
    """The next reply to a request. Raises BackendError where it failed, ContextOverflow where
    the prompt is longer than the context, ModelDied."""
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
            failure = BackendError if reply.prompt_ids is None else ContextOverflow
            raise failure(reply.sentence, reply.detail)
        return reply


def wait_for(
    replies: queue.SimpleQueue[Reply],
    number: int,
    expected: type[T],
    report: Report = unreported,
) -> T:
    """The closing reply of a request. Raises BackendError as ``next_reply``."""
    while True:
        reply = next_reply(replies, number)
        if isinstance(reply, expected):
            return reply
        if isinstance(reply, Progress):
            report(reply.done, reply.total)
        if isinstance(reply, Finished):
            raise BackendError("The model stopped before it had answered: ask again")
