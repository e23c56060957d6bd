"""Where an answer came from, worked out in the model process between more urgent requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from typing import cast

import numpy as np
from numpy.typing import NDArray

from logitscope import origin
from logitscope.backends.base import Backend, BackendError, Watch, WithGradients
from logitscope.backends.generation import choose
from logitscope.backends.messages import Attribute, Reply
from logitscope.backends.origin_messages import Attributed, Calibrated, FreeRun, SecondOpinion, Task
from logitscope.backends.variants import VariantModel
from logitscope.origin_contexts import without_sources
from logitscope.origin_leans import leans
from logitscope.origin_sources import sources
from logitscope.origin_spans import estimate
from logitscope.origin_swap import swap
from logitscope.origin_threshold import threshold
from logitscope.origin_types import OriginModel, OriginReport, Range
from logitscope.surprisal import TokenNumbers
from logitscope.vocabulary import Vocabulary

_LABEL_PASSES = 4
_SWAP_PASSES = 24
"""Two alternatives of a few tokens each, looked for among a dozen."""


def attribute(
    work: Attribute,
    backend: Backend,
    watch: Watch,
    between: Callable[[], None],
    workers: Executor | None = None,
) -> Iterator[Reply]:
    """The replies to a request, but the closing one.

    ``between`` is called between passes and may use the backend for anything else. Raises
    BackendError where the case cannot be worked out, and what the backend raises.
    """
    quiet = Watch(watch.is_cancelled, flag_address=watch.flag_address)
    inner = VariantModel(backend, quiet, between, workers)
    model = _Counted(inner, watch.report, _passes(work))
    match work.task:
        case Task.LABELS:
            least = origin.TAU if work.threshold is None else work.threshold
            yield Attributed(work.number, _labels(model, work, least))
        case Task.SOURCES:
            for report in sources(model, _known(work), work.words):
                yield Attributed(work.number, report)
        case Task.SWAP:
            yield Attributed(work.number, swap(model, _known(work), work.words[0]))
        case Task.LEANS:
            yield Attributed(work.number, leans(model, _known(work), work.words[0]))
        case Task.FREE:
            yield from _free_run(work, backend, watch, between)
        case Task.GRADIENTS:
            yield _second_opinion(work, backend, watch, between)
        case Task.THRESHOLD:
            yield Calibrated(work.number, threshold(inner, watch.report))


def _labels(model: OriginModel, work: Attribute, least: float) -> OriginReport:
    try:
        origin.check_case(work.case)
    except ValueError as error:
        raise BackendError(f"{error}.") from error
    return origin.labels(model, work.case, threshold=least)


def _known(work: Attribute) -> OriginReport:
    if work.report is None:
        raise ValueError(f"{work.task} goes on from a report")
    return work.report


def _free_run(
    work: Attribute, backend: Backend, watch: Watch, between: Callable[[], None]
) -> Iterator[FreeRun]:
    """As many tokens as the answer has, drawn with the same settings and, for each place in the
    answer, the same random number: only the distributions differ."""
    ids = list(without_sources(work.case))
    made: list[int] = []
    for place, _ in enumerate(work.case.answer_ids):
        between()
        row = backend.next_logits(ids, Watch(watch.is_cancelled, flag_address=watch.flag_address))
        watch.report(place, len(work.case.answer_ids))
        choice = choose(row, work.settings, ids, len(work.case.prompt_ids) + place)
        ids.append(choice.token_id)
        made.append(choice.token_id)
        yield FreeRun(work.number, tuple(made))
        if choice.token_id in backend.vocabulary.end_ids:
            return


def _second_opinion(
    work: Attribute, backend: Backend, watch: Watch, between: Callable[[], None]
) -> SecondOpinion:
    """The log-probability of a word is the sum over its tokens, and so is its attribution."""
    if not backend.info.capabilities.gradients:
        raise BackendError(f"{backend.info.name} gives no gradients with this backend.")
    able, number = cast(WithGradients, backend), work.words[0]
    start, stop = _known(work).words[number].tokens
    before = [*work.case.prompt_ids, *work.case.answer_ids[:start]]
    values = np.zeros(len(before))

    def report(done: int, total: int) -> None:
        watch.report(done, total)
        between()

    inner = Watch(watch.is_cancelled, report, watch.flag_address)
    for place in range(start, stop):
        ids = [*work.case.prompt_ids, *work.case.answer_ids[:place]]
        target = work.case.answer_ids[place]
        found = able.attribute(ids, target, work.method, watch=inner)
        values += found.values[: len(before)]
        between()
    return SecondOpinion(work.number, number, work.method, values)


def _passes(work: Attribute) -> int:
    """About how many passes a task takes."""
    if work.task is Task.SOURCES:
        return max(1, estimate(work.case).passes - _LABEL_PASSES)
    return _LABEL_PASSES if work.task is Task.LABELS else _SWAP_PASSES


class _Counted:
    """An OriginModel that tells how many passes it has made."""

    def __init__(self, model: OriginModel, report: Callable[[int, int], None], total: int) -> None:
        self._model = model
        self._report = report
        self._done, self._total = 0, total
        report(0, total)

    @property
    def vocabulary(self) -> Vocabulary:
        return self._model.vocabulary

    def tokenize(self, text: str) -> list[int]:
        return self._model.tokenize(text)

    def next_numbers(
        self, ids: Sequence[int], top: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        found = self._model.next_numbers(ids, top)
        self._count(1)
        return found

    def score_variants(
        self, contexts: Sequence[Sequence[int]], continuation: Sequence[int]
    ) -> list[TokenNumbers]:
        found = self._model.score_variants(contexts, continuation)
        self._count(len(contexts))
        return found

    def score_cuts(
        self,
        context: Sequence[int],
        cuts: Sequence[Sequence[Range]],
        continuation: Sequence[int],
    ) -> list[TokenNumbers]:
        found = self._model.score_cuts(context, cuts, continuation)
        self._count(len(cuts))
        return found

    def _count(self, passes: int) -> None:
        self._done += passes
        self._report(min(self._done, self._total), self._total)
