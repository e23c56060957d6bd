"""Where answers came from, asked of a model in its own process, for callers that can wait."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from logitscope.backends.messages import Finished, Progress, Stepped
from logitscope.backends.origin_messages import Attributed, Calibrated, FreeRun, Task
from logitscope.backends.question import next_reply
from logitscope.backends.scoring import ScoringModel
from logitscope.origin_types import OriginCase, OriginReport
from logitscope.sampling import SamplerSettings

Advance = Callable[[int], None]
"""Takes how many passes have been made since the last call."""

_GREEDY = SamplerSettings(temperature=0.0)


def _unwatched(_count: int) -> None:
    """Nobody looks at the progress."""


class OriginProcess(ScoringModel):
    """A loaded model; methods raise BackendError with the sentence of what failed."""

    def inner_ids(self, text: str, before: str) -> tuple[int, ...]:
        """Ids of a text that stands behind another, as far as that other's ids are not changed by
        it; else ids of the text alone."""
        front = self.tokenize(before, add_special=True)
        both = self.tokenize(before + text, add_special=True)
        if both[: len(front)] == front:
            return both[len(front) :]
        line_end = self.tokenize("\n", add_special=False)
        behind = self.tokenize(f"\n{text}", add_special=False)
        if behind[: len(line_end)] == line_end:
            return behind[len(line_end) :]
        return self.tokenize(text, add_special=False)

    def greedy(self, ids: Sequence[int], count: int) -> tuple[int, ...]:
        """The likeliest token again and again, at most ``count``; an end token is left out."""
        number = self._client.generate(ids, _GREEDY, count)
        made = []
        while not isinstance(reply := next_reply(self._replies, number), Finished):
            if isinstance(reply, Stepped):
                made.append(reply.step.token_id)
        ends = self.vocabulary.end_ids
        return tuple(token_id for token_id in made if token_id not in ends)

    def labels(
        self, case: OriginCase, threshold: float | None = None, advance: Advance = _unwatched
    ) -> OriginReport:
        """Labels of all words."""
        number = self._client.attribute(case, Task.LABELS, threshold=threshold)
        return self._report(number, advance)

    def more(
        self, report: OriginReport, task: Task, words: Sequence[int], advance: Advance = _unwatched
    ) -> OriginReport:
        """The report with the sources of words, or the swaps or the leaning of the first one."""
        number = self._client.attribute(report.case, task, report, words=words)
        return self._report(number, advance, report)

    def without_sources(self, case: OriginCase) -> tuple[int, ...]:
        """The greedy answer without the sources, as long as the answer is."""
        number = self._client.attribute(case, Task.FREE, settings=_GREEDY)
        made: tuple[int, ...] = ()
        while not isinstance(reply := next_reply(self._replies, number), Finished):
            if isinstance(reply, FreeRun):
                made = reply.ids
        return made

    def threshold(self) -> float:
        """Least gain (nats) that makes a word of this model depend on the prompt."""
        case = OriginCase((), (), ())
        number = self._client.attribute(case, Task.THRESHOLD)
        found = 0.0
        while not isinstance(reply := next_reply(self._replies, number), Finished):
            if isinstance(reply, Calibrated):
                found = reply.threshold
        return found

    def _report(
        self, number: int, advance: Advance, known: OriginReport | None = None
    ) -> OriginReport:
        done = 0
        report = known
        while not isinstance(reply := next_reply(self._replies, number), Finished):
            if isinstance(reply, Progress):
                advance(reply.done - done)
                done = reply.done
            elif isinstance(reply, Attributed):
                report = reply.report
        assert report is not None
        return report
