"""A model that reads whole texts, in its own process, for callers that can wait."""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Iterable, Iterator
from types import TracebackType

from logitscope.backends.base import BackendError, LoadOptions, ModelInfo
from logitscope.backends.client import ModelClient
from logitscope.backends.messages import Ending, Finished, Loaded, Reply, Scored, Tokenized
from logitscope.backends.question import next_reply, wait_for
from logitscope.scoring_passes import ScoringPass
from logitscope.vocabulary import Vocabulary

IN_FLIGHT = 2
"""Passes that the model process has at a time: the one it reads, and the next."""


class ScoringModel:
    """A loaded model; leaving its ``with`` block ends the process, whatever it does.

    Every method raises BackendError with the sentence of what failed.
    """

    def __init__(self, model: str, backend: str = "", options: LoadOptions | None = None) -> None:
        self._replies: queue.SimpleQueue[Reply] = queue.SimpleQueue()
        self._client = ModelClient(self._replies.put)
        try:
            number = self._client.load(model, backend, options)
            self._loaded = wait_for(self._replies, number, Loaded)
        except BaseException:
            self._client.close()
            raise

    def __enter__(self) -> ScoringModel:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.close()

    @property
    def pid(self) -> int | None:
        """Process id of the model process."""
        return self._client.pid

    @property
    def info(self) -> ModelInfo:
        return self._loaded.info

    @property
    def vocabulary(self) -> Vocabulary:
        return self._loaded.vocabulary

    def tokenize(self, text: str, *, add_special: bool) -> tuple[int, ...]:
        """Ids of a text; special tokens written in it are read as text."""
        number = self._client.tokenize(text, add_special=add_special)
        return wait_for(self._replies, number, Tokenized).ids

    def score(self, passes: Iterable[ScoringPass]) -> Iterator[tuple[ScoringPass, Scored]]:
        """Numbers of all tokens that the passes score, in order, chunk by chunk.

        While the model reads one the next one waits with it: asked for behind the answer it would
        come 2 ms late, of 45 that a small model takes for 512 tokens. A caller that stops early
        cancels the rest.
        """
        asked: deque[tuple[ScoringPass, int]] = deque()
        try:
            for each in passes:
                asked.append((each, self._ask(each)))
                if len(asked) == IN_FLIGHT:
                    yield from self._answers(*asked[0])
                    asked.popleft()
            while asked:
                yield from self._answers(*asked[0])
                asked.popleft()
        finally:
            for _, number in asked:
                self._client.cancel(number)

    def _ask(self, each: ScoringPass) -> int:
        return self._client.score(each.ids, each.start, len(each.ids), follows=True)

    def _answers(self, each: ScoringPass, number: int) -> Iterator[tuple[ScoringPass, Scored]]:
        while not isinstance(reply := next_reply(self._replies, number), Finished):
            if isinstance(reply, Scored):
                yield each, reply
        if reply.ending is not Ending.DONE:
            raise BackendError("The model stopped before it had read the text: try again")
