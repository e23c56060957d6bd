"""Asks the model process: the one thing the window knows of a loaded model. No Qt."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from logitscope.attribution_units import GradientMethod
from logitscope.backends.base import LoadOptions
from logitscope.backends.inbox import Work
from logitscope.backends.messages import (
    Attribute,
    Channel,
    Evaluate,
    Generate,
    Load,
    PromptText,
    Reply,
    RowRef,
    Score,
    Tokenize,
    Unembed,
)
from logitscope.backends.origin_messages import Task
from logitscope.backends.supervisor import POLITE_SECONDS, Supervisor, no_model
from logitscope.origin_types import OriginCase, OriginReport
from logitscope.sampling import SamplerSettings

STOP_GRACE = 10.0
"""Seconds a model gets to honour a stop before `ModelClient.stop_hard` ends its process. On a busy
machine a single decode was seen to take more than three."""


class ModelClient:
    """One model process at a time, started by `load` and started again by the next one.

    Every method returns at once, but `close`. Each request has a number, from 1 on, and ends in
    one closing reply: Loaded, Evaluated, Tokenized, Unembedded, Finished or Failed.
    Finished(CANCELLED) closes whatever was cancelled in time. A newer request of a channel replaces
    the older ones: a replaced Evaluate or Unembed vanishes without a reply, a replaced Generate,
    Score or Attribute still gets its Finished or Failed and nothing else. Died closes everything
    that is open.

    ``on_reply`` is called in the order of the replies from a thread of the client, never from
    two at once; a request without a process to answer it is failed from the calling thread. It
    should hand the reply over and return. Its exceptions are logged and do no harm.
    """

    def __init__(self, on_reply: Callable[[Reply], None]) -> None:
        self._on_reply = on_reply
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._supervisor: Supervisor | None = None
        self._timers: list[threading.Timer] = []

    @property
    def pid(self) -> int | None:
        """Process id of the model process, if there has been one."""
        supervisor = self._supervisor
        return None if supervisor is None else supervisor.pid

    def load(self, path: str, backend: str = "", options: LoadOptions | None = None) -> int:
        """Load a model into a fresh process and end the old one first.

        What the old one had not answered is closed with Finished(CANCELLED).
        """
        with self._lock:
            self._stop_timers()
            load = Load(next(self._numbers), path, backend, options or LoadOptions())
            previous = self._supervisor
            if previous is not None:
                previous.retire()
            self._supervisor = Supervisor(load, self._on_reply, previous)
            return load.number

    def evaluate(
        self,
        prompt: PromptText | Sequence[int],
        tail: Sequence[int] = (),
        channel: Channel = Channel.LIVE,
    ) -> int:
        """Ask for the row behind prompt and tail; see `Evaluate`."""
        given = prompt if isinstance(prompt, PromptText) else tuple(prompt)
        return self._ask(lambda number: Evaluate(number, given, tuple(tail), channel))

    def generate(
        self,
        ids: Sequence[int],
        settings: SamplerSettings,
        max_tokens: int,
        *,
        stop_texts: Sequence[str] = (),
        ignore_end: bool = False,
        prompt_length: int = 0,
    ) -> int:
        """Ask for tokens; see `Generate`."""
        return self._ask(
            lambda number: Generate(
                number,
                tuple(ids),
                settings,
                max_tokens,
                tuple(stop_texts),
                ignore_end,
                prompt_length,
            )
        )

    def score(self, ids: Sequence[int], start: int, stop: int, *, follows: bool = False) -> int:
        """Ask for the numbers of tokens ``start <= p < stop``; see `Score`."""
        return self._ask(lambda number: Score(number, tuple(ids), start, stop, follows))

    def tokenize(self, text: str, *, add_special: bool = False, parse_special: bool = False) -> int:
        """Ask for the ids of a text; see `Tokenize`."""
        return self._ask(lambda number: Tokenize(number, text, add_special, parse_special))

    def unembed(self, ids: Sequence[int], token_id: int) -> int:
        """Ask where the logit of a token behind ``ids`` comes from; see `Unembed`."""
        return self._ask(lambda number: Unembed(number, tuple(ids), token_id))

    def attribute(
        self,
        case: OriginCase,
        task: Task,
        report: OriginReport | None = None,
        *,
        words: Sequence[int] = (),
        settings: SamplerSettings | None = None,
        threshold: float | None = None,
        method: GradientMethod = GradientMethod.GRADIENT_X_INPUT,
    ) -> int:
        """Ask where an answer came from; see `Attribute`."""
        chosen = settings or SamplerSettings()
        return self._ask(
            lambda number: Attribute(
                number, case, task, report, tuple(words), chosen, threshold, method
            )
        )

    def cancel(self, number: int) -> None:
        """Ask a request to stop; nothing happens if it has ended."""
        if self._supervisor is not None:
            self._supervisor.requests.cancel(number)

    def cancel_channel(self, channel: Channel) -> None:
        """Ask the request of a channel to stop."""
        if self._supervisor is not None:
            self._supervisor.requests.cancel_channel(channel)

    def stop_hard(self, grace: float = STOP_GRACE) -> None:
        """Ask everything to stop, loading too, and end the process if ``grace`` seconds later
        something of it still runs. Died then tells so."""
        with self._lock:
            supervisor = self._supervisor
            if supervisor is None:
                return
            supervisor.requests.cancel_channel(None)
            waiting = set(supervisor.requests.numbers())
            timer = threading.Timer(grace, _end_if_stuck, (supervisor, waiting, grace))
            timer.daemon = True
            self._timers.append(timer)
            timer.start()

    def row(self, ref: RowRef) -> NDArray[np.float32] | None:
        """A copy of a row, shape (V,), float32; None where a newer row has taken its place.

        Rows stay readable after a death, until the next `load` or `close`.
        """
        ring = None if self._supervisor is None else self._supervisor.ring
        return None if ring is None else ring.copy(ref)

    def close(self, timeout: float = 1.0) -> None:
        """End the process within ``timeout`` seconds, whatever it does; nothing is delivered
        afterwards. The client can be used again with `load`."""
        with self._lock:
            self._stop_timers()
            supervisor, self._supervisor = self._supervisor, None
        if supervisor is not None:
            supervisor.end(min(POLITE_SECONDS, timeout / 2))

    def _ask(self, make: Callable[[int], Work]) -> int:
        with self._lock:
            work = make(next(self._numbers))
            supervisor = self._supervisor
            taken = supervisor is not None and supervisor.requests.add(work)
        if not taken:
            self._on_reply(no_model(work.number))
        return work.number

    def _stop_timers(self) -> None:
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()


def _end_if_stuck(supervisor: Supervisor, waiting: set[int], grace: float) -> None:
    if waiting & set(supervisor.requests.numbers()):
        supervisor.kill(
            f"The model did not stop within {grace:g} seconds and was ended; "
            "load it again to go on, nothing of your text is lost."
        )
