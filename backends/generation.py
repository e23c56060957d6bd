"""The generation loop of the model process.

Choosing comes first and decoding goes on at once; the numbers of a step (softmax, rank, entropy,
top 10: about 1 ms at 262,144 entries, where a decode of a small model takes 15 ms) are worked
out in a second thread while the library, which releases the interpreter lock, decodes. Where the
library computes on every core, this would cost more than it saves: its threads work in step, so
that all of them wait for the one that shares its core (2.2 ms a token instead of 1.6). Steps are
worked out several together, which takes 0.5 ms each instead of 0.8, because the weights that a
decode reads leave nothing else in the caches; and thread and window are woken less often.
"""

from __future__ import annotations

import threading
import time
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from logitscope.backends.base import NO_PASS, Cancelled, PassStats
from logitscope.backends.messages import Ending, Finished, Generate, RowRef, Stepped
from logitscope.backends.rows import RowRing
from logitscope.ranking import refuse_peak
from logitscope.sampling import Choice, SamplerSettings, Stage, draw, shape
from logitscope.steps import Origin, StepRecord
from logitscope.surprisal import summarise
from logitscope.vocabulary import Vocabulary

Row = NDArray[np.float32]
_TOP = 10
_HOLD, _HOLD_APART = 0.1, 0.05
"""Seconds between two deliveries of steps: where no core is free, and by a thread of its own."""
_HELD_BYTES = 16 << 20
"""Of rows that wait for it."""


@dataclass(frozen=True, slots=True)
class Made:
    """A chosen token, with the row, shape (V,), that it was chosen from."""

    position: int
    row: Row
    choice: Choice
    seconds: float
    cost: PassStats


class StepWriter:
    """Turns chosen tokens into Stepped replies, in order, several of them together; ``apart`` in a
    thread of its own."""

    def __init__(
        self, number: int, ring: RowRing, send: Callable[[Sequence[Stepped]], None], *, apart: bool
    ) -> None:
        self._number = number
        self._ring = ring
        self._send = send
        self._hold = _HOLD_APART if apart else _HOLD
        self._held: list[Made] = []
        self._sent = -self._hold
        """When steps were sent last."""
        self._changed = threading.Condition()
        """What is held, by or for the thread."""
        self._is_over = False
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None
        if apart:
            self._thread = threading.Thread(target=self._run, name="step numbers", daemon=True)
            self._thread.start()

    def put(self, made: Made) -> None:
        """Hand over a step; waits while too many are held. Raises what went wrong before."""
        if self._thread is None:
            self._held.append(made)
            if self._is_full() or self._left() <= 0:
                self._send_held(self._taken())
            return
        if self._error is not None:
            raise self._error
        with self._changed:
            self._changed.wait_for(lambda: not self._is_full())
            self._held.append(made)
            # A thread that is woken at each step takes the interpreter lock for 40 us.
            if len(self._held) == 1 or self._is_full():
                self._changed.notify_all()

    def finish(self) -> None:
        """Wait until every step is sent. Raises what went wrong."""
        if self._thread is None:
            self._send_held(self._taken())
            return
        with self._changed:
            self._is_over = True
            self._changed.notify_all()
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _is_full(self) -> bool:
        return len(self._held) * (self._held[0].row.nbytes if self._held else 0) >= _HELD_BYTES

    def _left(self) -> float:
        """Seconds until the next delivery."""
        return self._sent + self._hold - time.monotonic()

    def _taken(self) -> list[Made]:
        held, self._held = self._held, []
        return held

    def _send_held(self, held: Sequence[Made]) -> None:
        if held:
            # The window shows the newest row only, and 1 MB each is 0.4 % of what a decode of a
            # small model moves.
            *older, newest = held
            steps = [self._stepped(made, None) for made in older]
            self._send([*steps, self._stepped(newest, self._ring.write(newest.row))])
            self._sent = time.monotonic()

    def _run(self) -> None:
        while held := self._due():
            try:
                if self._error is None:
                    self._send_held(held)
            except Exception as error:
                self._error = error

    def _due(self) -> list[Made]:
        """What is to be sent, once it is due; nothing at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._held or self._is_over)
            self._changed.wait_for(lambda: self._is_full() or self._is_over, self._left())
            held = self._taken()
            self._changed.notify_all()
            return held

    def _stepped(self, made: Made, row: RowRef | None) -> Stepped:
        choice = made.choice
        raw = summarise(made.row, choice.token_id, top=_TOP)
        step = StepRecord(
            token_id=choice.token_id,
            origin=Origin.SAMPLED,
            log_probability=raw.log_probability,
            rank=raw.rank,
            entropy=raw.entropy,
            shaped_probability=choice.probability,
            draw=choice.draw,
            top_ids=raw.top_ids,
            top_log_probabilities=raw.top_log_probabilities,
            seconds=made.seconds,
        )
        return Stepped(self._number, made.position, step, row, made.cost)


class StopTexts:
    """Looks for texts in generated bytes, over the borders of tokens."""

    def __init__(self, texts: Sequence[str], vocabulary: Vocabulary, ids: Sequence[int]) -> None:
        self._texts = [text.encode("utf-8", "surrogatepass") for text in texts if text]
        self._vocabulary = vocabulary
        self._keep = max(map(len, self._texts), default=1) - 1
        self._tail = vocabulary.text_bytes(ids)[-self._keep :] if self._keep else b""

    def ends_with(self, token_id: int) -> bool:
        """Add a token; whether a stop text ends within its bytes."""
        if not self._texts:
            return False
        piece = self._vocabulary.text_bytes([token_id])
        window = self._tail + piece
        self._tail = window[-self._keep :] if self._keep else b""
        # Of the older bytes one less than the text is long: a text that an earlier run has
        # already stopped at does not stop this one.
        return any(text in window[-(len(piece) + len(text) - 1) :] for text in self._texts if piece)


def choose(
    row: Row, settings: SamplerSettings, ids: Sequence[int], position: int | None = None
) -> Choice:
    """Shape the row and draw from it with the random number of a position, ``len(ids)`` if None.

    Raises NoDistribution for a row that is none.
    """
    if settings.greedy and not settings.is_active(Stage.PENALTIES):
        # What the chain gives too, without its tables: one pass over the row.
        best = int(row.argmax())
        refuse_peak(float(row[best]))
        return Choice(best, 1.0, None)
    place = len(ids) if position is None else position
    return draw(shape(row, settings, ids), settings.seed, place)


class Generation:
    """One Generate request. Deterministic: the same ids, settings and seed give the same ids."""

    def __init__(
        self,
        request: Generate,
        vocabulary: Vocabulary,
        context_length: int,
        ring: RowRing,
        send: Callable[[Sequence[Stepped]], None],
        *,
        has_free_core: bool = True,
    ) -> None:
        """``has_free_core``: whether the library leaves a core to the numbers of the steps."""
        self._request = request
        self._vocabulary = vocabulary
        self._context_length = context_length
        self._ring = ring
        self._send = send
        self._has_free_core = has_free_core
        # Not a list: what goes over all its ids, as the backend does for each token, need not find
        # every one in memory.
        self._ids = array("i", request.ids)
        self._stops = StopTexts(
            request.stop_texts, vocabulary, request.ids[request.prompt_length :]
        )

    def run(
        self,
        next_row: Callable[[Sequence[int]], Row],
        between: Callable[[], None],
        cost: Callable[[], PassStats] = lambda: NO_PASS,
    ) -> Finished:
        """Choose and append until a limit. ``between`` is called before each token; ``cost`` tells
        what the last ``next_row`` cost.

        Every Stepped has been sent when this returns or raises. Raises NoDistribution, and what
        ``next_row`` raises but Cancelled: what was generated until then stays, and the reply has
        no row.
        """
        writer = StepWriter(self._request.number, self._ring, self._send, apart=self._has_free_core)
        try:
            ending, row = self._loop(writer, next_row, between, cost)
        except Cancelled:
            ending, row = Ending.CANCELLED, None
        finally:
            writer.finish()
        number, position = self._request.number, len(self._ids)
        if row is None:
            return Finished(number, ending)
        refuse_peak(float(row.max()))
        return Finished(number, ending, self._ring.write(row), position, cost())

    def _loop(
        self,
        writer: StepWriter,
        next_row: Callable[[Sequence[int]], Row],
        between: Callable[[], None],
        cost: Callable[[], PassStats],
    ) -> tuple[Ending, Row]:
        request = self._request
        started = time.perf_counter()
        row = next_row(self._ids)
        for _ in range(request.max_tokens):
            if len(self._ids) >= self._context_length:
                return Ending.CONTEXT_FULL, row
            position = len(self._ids)
            choice = choose(row, request.settings, self._ids)
            now = time.perf_counter()
            writer.put(Made(position, row, choice, now - started, cost()))
            started = now
            self._ids.append(choice.token_id)
            between()
            row = next_row(self._ids)
            ending = self._ending(choice.token_id)
            if ending is not None:
                return ending, row
        return Ending.LENGTH, row

    def _ending(self, token_id: int) -> Ending | None:
        if token_id in self._vocabulary.end_ids and not self._request.ignore_end:
            return Ending.END_TOKEN
        return Ending.STOP_TEXT if self._stops.ends_with(token_id) else None
