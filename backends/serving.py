"""Answers to requests, one at a time, from the one loaded backend."""

from __future__ import annotations

import time
import traceback
from array import array
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from logitscope.backends.base import (
    NO_PASS,
    Backend,
    BackendError,
    Cancelled,
    ContextOverflow,
    PassStats,
    Watch,
    WithHiddenState,
)
from logitscope.backends.flags import Flags
from logitscope.backends.generation import Generation
from logitscope.backends.inbox import Inbox, Work
from logitscope.backends.llamacpp_plan import physical_cores
from logitscope.backends.messages import (
    Attribute,
    Channel,
    Ending,
    Evaluate,
    Evaluated,
    Failed,
    Finished,
    Generate,
    Phase,
    Progress,
    PromptText,
    Reply,
    Score,
    Scored,
    Tokenize,
    Tokenized,
    Unembed,
    Unembedded,
)
from logitscope.backends.numbers import scored_numbers
from logitscope.backends.outbox import Outbox
from logitscope.backends.pinning import PINNING
from logitscope.backends.prompts import prompt_ids
from logitscope.backends.rows import RowRing
from logitscope.ranking import NoDistribution, refuse_peak
from logitscope.surprisal import TokenNumbers

Row = NDArray[np.float32]
NO_LOGITS = (
    "The model gave numbers that are no logits (NaN or infinity) for this text; "
    "its file may be damaged."
)
LONG_TEXT = 20_000
"""Characters: what takes milliseconds to be cut into tokens."""
MOST_WORKERS = 8
"""At 262,144 entries a row takes one of them 1 ms, and each holds 1 MB."""


class NoLogits(BackendError):
    """A row of the model had NaN or infinity."""


def failure(number: int, error: BaseException) -> Failed:
    """The reply for an error: the sentence of an expected one, the traceback of a bug."""
    if isinstance(error, BackendError):
        blames_model = isinstance(error, NoLogits)
        return Failed(number, str(error), error.detail, blames_model=blames_model)
    detail = "".join(traceback.format_exception(error))
    if isinstance(error, NoDistribution):
        return Failed(number, NO_LOGITS, detail, blames_model=True)
    if isinstance(error, MemoryError):
        sentence = "There was not enough memory for this; close other programs and try again."
        return Failed(number, sentence, detail)
    name = type(error).__name__
    sentence = f"The model process met an error it did not expect ({name}: {error})."
    return Failed(number, sentence, detail, expected=False)


class Server:
    """Runs every request to its closing reply.

    That is Evaluated, Tokenized, Unembedded, Finished, or Failed; Finished(CANCELLED) for any
    request that was asked to stop in time.
    """

    def __init__(
        self, backend: Backend, ring: RowRing, flags: Flags, inbox: Inbox, outbox: Outbox
    ) -> None:
        self._backend = backend
        self._ring = ring
        self._flags = flags
        self._inbox = inbox
        self._outbox = outbox
        self._last_ids = array("i")
        self._last_row: Row | None = None
        self._last_cost = NO_PASS
        """Of the newest row of a Generate."""
        count = min(physical_cores(), MOST_WORKERS)
        self._workers = ThreadPoolExecutor(count, "numbers", initializer=PINNING.unpin)
        """For the numbers of scored rows, while the model waits."""
        self._scored_from = (0, 0)
        """Number of the last Score and where it began."""

    def run(self) -> None:
        """Serve until the inbox ends."""
        with self._workers:
            while (work := self._inbox.take()) is not None:
                self.serve(work)

    def serve(self, work: Work) -> None:
        """Answer one request, whatever happens."""
        before, self._flags.busy = self._flags.busy, work.number
        try:
            if self._flags.cancelled(work.number):
                raise Cancelled
            self._answer(work)
        except Cancelled:
            self._outbox.send(Finished(work.number, Ending.CANCELLED))
        except Exception as error:
            self._outbox.send(failure(work.number, error))
        finally:
            self._flags.busy = before

    def _answer(self, work: Work) -> None:
        match work:
            case Evaluate():
                self._evaluate(work)
            case Generate():
                self._generate(work)
            case Score():
                self._score(work)
            case Tokenize():
                ids = self._backend.tokenize(
                    work.text, add_special=work.add_special, parse_special=work.parse_special
                )
                self._outbox.send(Tokenized(work.number, tuple(ids)))
            case Unembed():
                self._unembed(work)
            case Attribute():
                self._attribute(work)

    def _evaluate(self, work: Evaluate) -> None:
        started = time.perf_counter()
        if _is_long(work.prompt):
            # Libraries take up to minutes to cut one into tokens, and tell nothing meanwhile: who
            # is told that it is read can stop it.
            self._outbox.send(Progress(work.number, Phase.PREFILL, 0, 0))
        ids, rendered = prompt_ids(self._backend, work.prompt)
        sequence = [*ids, *work.tail]
        if not sequence:
            raise BackendError(
                "The prompt has no token, so there is nothing to read: write some text."
            )
        try:
            row, stats = self._row(sequence, self._watch(work.number, Phase.PREFILL))
        except ContextOverflow as error:
            reply = failure(work.number, error)
            self._outbox.send(replace(reply, prompt_ids=tuple(ids)))
            return
        refuse_peak(float(row.max()))
        self._outbox.send(
            Evaluated(
                number=work.number,
                channel=work.channel,
                prompt_ids=tuple(ids),
                tail=work.tail,
                rendered=rendered,
                row=self._ring.write(row),
                cached=stats.cached,
                evaluated=stats.evaluated,
                seconds=time.perf_counter() - started,
                kv_bytes=round(len(sequence) * self._backend.info.kv_bytes_per_token),
            )
        )

    def _unembed(self, work: Unembed) -> None:
        info = self._backend.info
        if not info.capabilities.hidden_state:
            raise BackendError(f"{info.name} does not give its hidden state with this backend.")
        able = cast(WithHiddenState, self._backend)
        parts = able.unembed(work.ids, work.token_id, self._watch(work.number, Phase.PREFILL))
        self._outbox.send(Unembedded(work.number, work.ids, parts))

    def _generate(self, work: Generate) -> None:
        watch = self._watch(work.number, Phase.PREFILL)
        quiet = replace(watch, report=Watch().report)

        def next_row(ids: Sequence[int]) -> Row:
            row, self._last_cost = self._row(ids, watch if len(ids) == len(work.ids) else quiet)
            return row

        generation = Generation(
            work,
            self._backend.vocabulary,
            self._backend.info.context_length,
            self._ring,
            self._outbox.send_all,
            has_free_core=self._backend.info.cpu_threads < physical_cores(),
        )
        between = self._between(Channel.GENERATE, watch)
        self._outbox.send(generation.run(next_row, between, lambda: self._last_cost))

    def _between(self, channel: Channel, watch: Watch) -> Callable[[], None]:
        """What a long request does between two passes: give way, and see whether to stop."""

        def between() -> None:
            watch.check()
            while (urgent := self._inbox.take_before(channel)) is not None:
                self.serve(urgent)

        return between

    def _attribute(self, work: Attribute) -> None:
        # What only this request needs is imported behind the first row: it takes 20 ms.
        from logitscope.backends.attributing import attribute

        watch = self._watch(work.number, Phase.ORIGIN)
        between = self._between(Channel.ORIGIN, watch)
        between()
        for reply in attribute(work, self._backend, watch, between, self._workers):
            self._outbox.send(reply)
            between()
        self._outbox.send(Finished(work.number, Ending.DONE))

    def _score(self, work: Score) -> None:
        """Score until the end, or until something more urgent comes; then the rest waits."""
        self._inbox.scoring_begins(work.number)
        done, last = work.start, list[Reply]()
        rest: Score | None = None
        if work.follows:
            self._backend.forget()
        try:
            watch = self._score_watch(work)
            for numbers in scored_numbers(
                self._backend, work.ids, done, work.stop, watch, workers=self._workers
            ):
                last.append(_scored(work.number, done, numbers))
                done += len(numbers.rank)
                if done < work.stop:
                    self._outbox.send(last.pop())
            if done < work.stop:
                raise NoLogits(NO_LOGITS)
            # With the last numbers: who reads is woken once, and takes a core from the next pass
            # once.
            last.append(Finished(work.number, Ending.DONE))
        except Cancelled:
            rest = replace(work, start=done)
        finally:
            paused = self._inbox.scoring_ends(rest)
            if last:
                self._outbox.send_all(last)
        if rest is not None and not paused:
            raise Cancelled

    def _score_watch(self, work: Score) -> Watch:
        """Progress of a resumed request goes on where it was."""
        number, first = self._scored_from
        if number != work.number:
            first = work.start
            self._scored_from = work.number, first
        # Passes that follow each other are told as often as one that takes long: each report takes
        # a core from the model, 1 % of the time of a small one.
        watch = self._watch(work.number, Phase.SCORE, at_once=not work.follows)
        before, total = work.start - first, work.stop - first
        return replace(watch, report=lambda done, _total: watch.report(before + done, total))

    def _row(self, ids: Sequence[int], watch: Watch) -> tuple[Row, PassStats]:
        """The row behind ids; the one asked for last is kept, since "step" asks for it again."""
        known = array("i", ids)
        if self._last_row is not None and self._last_ids == known:
            return self._last_row, replace(NO_PASS, cached=len(known))
        self._last_row = None
        row = self._backend.next_logits(known, watch)
        self._last_ids, self._last_row = known, row
        return row, self._backend.last_pass

    def _watch(self, number: int, phase: Phase, *, at_once: bool = True) -> Watch:
        return Watch(
            is_cancelled=lambda: self._flags.raised(number),
            report=self._outbox.progress(number, phase, at_once=at_once),
            flag_address=self._flags.address(number),
        )


def _is_long(prompt: PromptText | tuple[int, ...]) -> bool:
    if not isinstance(prompt, PromptText):
        return False
    return sum(len(message.content) for message in prompt.messages) >= LONG_TEXT


def _scored(number: int, start: int, numbers: TokenNumbers) -> Scored:
    return Scored(
        number=number,
        start=start,
        log_probability=numbers.log_probability,
        rank=numbers.rank,
        entropy=numbers.entropy,
        logit=numbers.logit,
        top_ids=numbers.top_ids,
        top_log_probability=numbers.top_log_probability,
    )
