"""A session on a stub engine with a marked prompt and an answer, and hand-made reports of it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from stub_engine import BOS, Stage, vocabulary_of

from logitscope import sources
from logitscope.backends.messages import Channel, Ending, Finished
from logitscope.backends.origin_messages import Attributed, FreeRun, Task
from logitscope.gui.originating import Originator
from logitscope.origin_types import (
    Condition,
    Expected,
    Flag,
    Label,
    OriginCase,
    OriginReport,
    SourceEvidence,
    WordOrigin,
)
from logitscope.sources import Place
from logitscope.steps import Origin, StepRecord

SIZE = 300
PROMPT = (BOS, 20, 21, 22, 30, 31, 40, 41, 42)
"""BOS, two spans of three and two tokens, and a frame of three."""
SPANS = ((1, 4), (4, 6))
ANSWER = (21, 50, 51, 52)
VOCABULARY = vocabulary_of(SIZE)


def text_of(ids: tuple[int, ...]) -> str:
    return VOCABULARY.text_bytes(ids).decode()


def step_of(token_id: int) -> StepRecord:
    return StepRecord(token_id, Origin.SAMPLED, -1.0, 1, 1.0, 0.5, None, (), (), 0.01)


class OriginStage(Stage):
    """Everything the originator needs, without a process."""

    def __init__(self) -> None:
        super().__init__()
        self.load(SIZE)

    def write(self, ids: tuple[int, ...] = PROMPT) -> None:
        """Let the prompt be these ids."""
        self.session.set_prompt(text_of(ids))
        self._answer(ids, (), np.zeros(SIZE), Channel.LIVE)

    def mark(self, spans: tuple[tuple[int, int], ...] = SPANS) -> None:
        """Make these tokens of the prompt sources, a span each."""
        blocks = sources.mark_block(self.session.state.blocks, 0, is_source=False)
        for start, stop in spans:
            first = len(text_of(PROMPT[:start]))
            blocks = sources.mark(blocks, Place(0, first, len(text_of(PROMPT[:stop]))))
        self.session.set_sources(blocks)

    def answer(self, ids: tuple[int, ...] = ANSWER) -> None:
        """Let these ids be generated."""
        for token_id in ids:
            self.session.document.append(step_of(token_id))
        self.session.path_changed.emit()

    # -- the model's side -------------------------------------------------------------------

    @property
    def asked(self) -> list[Task]:
        return [task for task, *_ in self.engine.attributions]

    @property
    def case(self) -> OriginCase:
        return self.engine.attributions[-1][1]

    @property
    def number(self) -> int:
        """Of the last request for an origin."""
        requests = self.engine.requests
        return len(requests) - requests[::-1].index("attribute")

    def reply(self, report: OriginReport) -> None:
        self.engine.replied.emit(Attributed(self.number, report))

    def free(self, ids: tuple[int, ...]) -> None:
        self.engine.replied.emit(FreeRun(self.number, ids))

    def finish(self, ending: Ending = Ending.DONE) -> None:
        self.engine.replied.emit(Finished(self.number, ending))

    def work_out(self, originator: Originator) -> None:
        """Answer everything that is asked for."""
        self.reply(labelled(self.case))
        self.finish()
        while originator.is_working:
            if originator.task is Task.FREE:
                self.free((21, 60, 61, 62))
            else:
                report = self.engine.attributions[-1][2]
                assert report is not None
                self.reply(sourced(report))
            self.finish()


def labelled(case: OriginCase) -> OriginReport:
    """A copied word, a weights-word, an uncertain and a lowered one, as far as there are tokens."""
    none = frozenset[Flag]()
    kinds = (
        (Label.PROMPT, (3.0, 4.0), none),
        (Label.WEIGHTS, (0.01, 0.02), none),
        (Label.UNCERTAIN, (0.2, 2.0), frozenset({Flag.WEAK})),
        (Label.WEIGHTS, (-3.0, -2.0), frozenset({Flag.LOWERED})),
    )
    made = []
    for index, token_id in enumerate(case.answer_ids):
        label, gains, flags = kinds[index % len(kinds)]
        made.append(replace(word_of(index, token_id, *gains), label=label, flags=flags))
    words = tuple(made)
    return OriginReport(case, words, math.log(2))


def word_of(index: int, token_id: int, low: float, high: float) -> WordOrigin:
    """A word of one token that has probability e^-1 with the sources."""
    logs = {
        Condition.WITH: -1.0,
        Condition.DROP: -1.0 - low,
        Condition.FILL_A: -1.0 - high,
        Condition.FILL_B: -1.0 - (low + high) / 2,
    }
    ids = (token_id, 99, 98)
    expected = tuple(Expected(each, ids, (log, -2.0, -5.0), index) for each, log in logs.items())
    return WordOrigin((index, index + 1), text_of((token_id,)), logs, expected=expected)


def sourced(report: OriginReport) -> OriginReport:
    """The first word is copied from the second token of the first span; others need little."""
    made = []
    for index, word in enumerate(report.words):
        strong = 3.0 if index == 0 else 0.1
        evidence = (
            SourceEvidence(0, strong, strong, (2, 3), strong),
            SourceEvidence(1, 0.05, 0.15),
        )[: len(report.case.sources)]
        made.append(replace(word, sources=evidence))
    if made:
        made[0] = replace(made[0], label=Label.COPIED, copied_from=(2, 3))
    return replace(report, words=tuple(made))
