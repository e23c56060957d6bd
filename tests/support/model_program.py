"""A model process as the window starts it, worked without a window.

Program: ``main()``. The command ``work`` lets it read, generate and score, and tells the most
memory it has had.
"""

from __future__ import annotations

import queue
from typing import Any

from answering import Answer, peak_bytes, serve

from logitscope.backends.base import ChatMessage
from logitscope.backends.client import ModelClient
from logitscope.backends.messages import (
    Died,
    Evaluated,
    Failed,
    Finished,
    Loaded,
    PromptText,
    Reply,
)
from logitscope.sampling import SamplerSettings

PATIENCE_SECONDS = 600


def main() -> None:
    serve({}, {"work": work})


def work(path: str, text: str, generate: int, score: int) -> Answer:
    """Load, read ``text``, generate and score so many tokens, and measure."""
    replies: queue.SimpleQueue[Reply] = queue.SimpleQueue()
    client = ModelClient(replies.put)
    try:
        loaded = wait(replies, client.load(path), Loaded)
        ids = wait(replies, client.evaluate(PromptText((ChatMessage("user", text),))), Evaluated)
        settings = SamplerSettings(temperature=0.8, top_k=40, top_p=0.95)
        prompt = ids.prompt_ids
        wait(replies, client.generate(prompt, settings, generate, ignore_end=True), Finished)
        wait(replies, client.score(prompt, len(prompt) - score, len(prompt)), Finished)
        info = loaded.info
        return {
            "peak": peak_bytes(client.pid or 0),
            "weights": info.weight_bytes,
            "kv": round(info.kv_bytes_per_token * info.context_length),
            "vocabulary": info.n_vocab,
            "read": len(prompt),
        }
    finally:
        client.close()


def wait(replies: queue.SimpleQueue[Reply], number: int, kind: type[Any]) -> Any:
    """The reply that closes a request well."""
    while True:
        reply = replies.get(timeout=PATIENCE_SECONDS)
        if isinstance(reply, (Failed, Died)):
            raise RuntimeError(f"{reply.sentence} {reply.detail}")
        if isinstance(reply, kind) and reply.number == number:
            return reply
