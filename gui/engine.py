"""The model process as a Qt object: replies arrive as signals in the window's thread."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Qt, Signal

from logitscope.attribution_units import GradientMethod
from logitscope.backends.base import LoadOptions
from logitscope.backends.client import ModelClient
from logitscope.backends.messages import (
    Channel,
    Died,
    Failed,
    Finished,
    Loaded,
    Phase,
    Progress,
    PromptText,
    Reply,
    RowRef,
    Stepped,
)
from logitscope.backends.origin_messages import Task
from logitscope.origin_types import OriginCase, OriginReport
from logitscope.sampling import SamplerSettings


@dataclass(frozen=True, slots=True)
class Activity:
    """What the model process is doing now; ``phase`` is None when it waits."""

    phase: Phase | None = None
    done: int = 0
    total: int = 0
    number: int = 0


IDLE = Activity()
STEPS_SECONDS = 0.1
"""Between two tellings of a run that goes on: most who listen only ask whether it does, and of 60
tokens a second each cost them 0.4 ms."""


class Engine(QObject):
    """Asks the model process; every answer comes through a signal in the window's thread."""

    replied = Signal(object)
    """Any answer but a step."""
    stepped = Signal(object)
    """A step of a run: a hundred a second, of which a dozen who hear ``replied`` want nothing."""
    activity_changed = Signal(object)
    _arrived = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._arrived.connect(self._take, Qt.ConnectionType.QueuedConnection)
        self._client = ModelClient(self._arrived.emit)
        self.activity = IDLE
        self._wanted = 0
        """Tokens that the newest run may make."""
        self._scored_before = 0, 0
        """Tokens known before the current scoring request, and all."""
        self._told = 0.0
        """When a change of ``activity`` was told last."""

    # -- asking -----------------------------------------------------------------------------

    def load(self, path: str, backend: str, options: LoadOptions) -> int:
        number = self._client.load(path, backend, options)
        self._set_activity(Activity(Phase.LOAD, 0, 1000, number))
        return number

    def evaluate(
        self,
        prompt: PromptText | tuple[int, ...],
        tail: tuple[int, ...] = (),
        channel: Channel = Channel.LIVE,
    ) -> int:
        return self._client.evaluate(prompt, tail, channel=channel)

    def generate(
        self,
        ids: tuple[int, ...],
        settings: SamplerSettings,
        max_tokens: int,
        *,
        prompt_length: int,
        stop_texts: tuple[str, ...] = (),
        ignore_end: bool = False,
    ) -> int:
        number = self._client.generate(
            ids,
            settings,
            max_tokens,
            prompt_length=prompt_length,
            stop_texts=stop_texts,
            ignore_end=ignore_end,
        )
        self._wanted = max_tokens
        self._set_activity(Activity(Phase.DECODE, 0, max_tokens, number))
        return number

    def score(
        self, ids: tuple[int, ...], start: int, stop: int, *, known: int = 0, of: int | None = None
    ) -> int:
        """``known`` tokens ``of`` so many have been scored by requests before this one: progress
        is told of the whole text, not of each of its windows."""
        number = self._client.score(ids, start, stop)
        whole = stop - start if of is None else of
        self._scored_before = known, whole
        self._set_activity(Activity(Phase.SCORE, known, whole, number))
        return number

    def tokenize(self, text: str, *, add_special: bool = False, parse_special: bool = False) -> int:
        return self._client.tokenize(text, add_special=add_special, parse_special=parse_special)

    def unembed(self, ids: tuple[int, ...], token_id: int) -> int:
        return self._client.unembed(ids, token_id)

    def attribute(
        self,
        case: OriginCase,
        task: Task,
        report: OriginReport | None = None,
        *,
        words: tuple[int, ...] = (),
        settings: SamplerSettings | None = None,
        threshold: float | None = None,
        method: GradientMethod = GradientMethod.GRADIENT_X_INPUT,
    ) -> int:
        return self._client.attribute(
            case, task, report, words=words, settings=settings, threshold=threshold, method=method
        )

    def cancel(self, number: int) -> None:
        self._client.cancel(number)

    def cancel_channel(self, channel: Channel) -> None:
        self._client.cancel_channel(channel)

    def stop_hard(self) -> None:
        """Stop everything, loading too; a process that does not obey within seconds is ended."""
        self._client.stop_hard()

    def row(self, ref: RowRef) -> NDArray[np.float32] | None:
        """A copy of a row, or None where a newer one has taken its place."""
        return self._client.row(ref)

    def close(self) -> None:
        """End the process; returns within a second."""
        self._client.close()

    # -- answers ----------------------------------------------------------------------------

    def _take(self, reply: Reply) -> None:
        self._follow(reply)
        (self.stepped if isinstance(reply, Stepped) else self.replied).emit(reply)

    def _follow(self, reply: Reply) -> None:
        match reply:
            case Progress(number, Phase.SCORE, done, _):
                known, whole = self._scored_before
                self._set_activity(Activity(Phase.SCORE, known + done, whole, number))
            case Progress(number, phase, done, total):
                self._set_activity(Activity(phase, done, total, number))
            case Stepped(number):
                self._stepped(number)
            case Loaded() | Died():
                self._set_activity(IDLE)
            case Finished(number) | Failed(number):
                if number == self.activity.number:
                    self._set_activity(IDLE)
            case _:
                if self.activity.phase is Phase.PREFILL:
                    self._set_activity(IDLE)

    def _stepped(self, number: int) -> None:
        before = self.activity
        if before.phase is not Phase.DECODE or before.number != number:
            # Before it the text may have been read, which told a number of its own.
            self._set_activity(Activity(Phase.DECODE, 1, self._wanted, number))
            return
        after = Activity(Phase.DECODE, before.done + 1, before.total, number)
        if time.monotonic() - self._told >= STEPS_SECONDS:
            self._set_activity(after)
        else:
            self.activity = after

    def _set_activity(self, activity: Activity) -> None:
        if activity != self.activity:
            self.activity = activity
            self._told = time.monotonic()
            self.activity_changed.emit(activity)
