"""Prompt or weights: the label of every word of an answer.

The definitions are in docs/origin.md. Everything is log-probability of the given answer, so that
nothing here depends on how it was sampled. Calls may raise what the model raises.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from logitscope.origin_contexts import without_sources, word_sums
from logitscope.origin_fill import filled
from logitscope.origin_types import (
    Condition,
    Expected,
    Flag,
    Label,
    OriginCase,
    OriginModel,
    OriginReport,
    Range,
    WordOrigin,
)
from logitscope.origin_words import words
from logitscope.surprisal import TokenNumbers
from logitscope.vocabulary import Vocabulary

TAU = math.log(2)
"""Nats: half of the word's probability disappears without the sources."""
MARGIN = 0.25
"""Nats: numeric noise between two ways to compute the same reaches 0.17."""
WEAK = math.log(0.1)
_TOP = 10


def unlabelled(vocabulary: Vocabulary, case: OriginCase, threshold: float = TAU) -> OriginReport:
    """The words of the answer, nothing worked out."""
    found = (
        WordOrigin((unit.start, unit.stop), unit.text, {})
        for unit in words(vocabulary, case.answer_ids)
    )
    return OriginReport(case, tuple(found), threshold)


def labels(
    model: OriginModel,
    case: OriginCase,
    given: TokenNumbers | None = None,
    threshold: float = TAU,
) -> OriginReport:
    """What depends on the sources: PROMPT, WEIGHTS or UNCERTAIN for each word.

    ``given`` holds the answer's numbers with the sources, as known from its generation; then three
    passes over the answer are made (without the sources, and with each filler), else four. Given
    numbers were computed token by token and differ from these by the numeric noise, which is
    smaller than the margin within which a word stays uncertain. Raises ValueError for a case
    without sources, or with nothing but sources.
    """
    check_case(case)
    report = unlabelled(model.vocabulary, case, threshold)
    if not report.words:
        return report
    contexts = {
        Condition.WITH: case.prompt_ids,
        Condition.DROP: without_sources(case),
        Condition.FILL_A: filled(model, case, Condition.FILL_A),
        Condition.FILL_B: filled(model, case, Condition.FILL_B),
    }
    known: dict[Condition, TokenNumbers] = {}
    if given is not None:
        if len(given.log_probability) != len(case.answer_ids):
            raise ValueError(f"{len(given.rank)} numbers for {len(case.answer_ids)} tokens")
        known[Condition.WITH] = given
        del contexts[Condition.WITH]
    scored = model.score_variants(list(contexts.values()), case.answer_ids)
    return _labelled(report, known | dict(zip(contexts, scored, strict=True)))


def label_of(deltas: tuple[float, float], threshold: float = TAU) -> Label:
    """The label by the least and the greatest gain, nats."""
    low, high = deltas
    if low < threshold <= high or abs(low - threshold) < MARGIN:
        return Label.UNCERTAIN
    return Label.PROMPT if low >= threshold else Label.WEIGHTS


def flags_of(word: WordOrigin, threshold: float = TAU) -> frozenset[Flag]:
    """LOWERED and WEAK, as the word's log-probabilities say."""
    found = set()
    if word.deltas[1] <= -threshold:
        found.add(Flag.LOWERED)
    if word.log_probability[Condition.WITH] < WEAK:
        found.add(Flag.WEAK)
    return frozenset(found)


def check_case(case: OriginCase) -> None:
    """Raise ValueError, with a sentence for people, where nothing can be compared."""
    if not case.sources:
        raise ValueError("No part of the prompt is marked as a source: mark one")
    if not without_sources(case):
        raise ValueError("All of the prompt is a source: leave at least one token unmarked")


def _labelled(report: OriginReport, known: dict[Condition, TokenNumbers]) -> OriginReport:
    ranges = [word.tokens for word in report.words]
    sums = {condition: word_sums(numbers, ranges) for condition, numbers in known.items()}
    made = []
    for index, word in enumerate(report.words):
        values = {condition: float(sums[condition][index]) for condition in Condition}
        place = _telling_token(known, word.tokens)
        expected = tuple(_expected(c, known[c], place) for c in Condition)
        scored = replace(word, log_probability=values, expected=expected)
        made.append(
            replace(
                scored,
                label=label_of(scored.deltas, report.threshold),
                flags=flags_of(scored, report.threshold),
            )
        )
    return replace(report, words=tuple(made))


def _expected(condition: Condition, numbers: TokenNumbers, position: int) -> Expected:
    ids = numbers.top_ids[position][:_TOP]
    there = ids >= 0
    logs = numbers.top_log_probability[position][:_TOP]
    return Expected(condition, tuple(ids[there].tolist()), tuple(logs[there].tolist()), position)


def _telling_token(known: dict[Condition, TokenNumbers], word: Range) -> int:
    """The token of a word with the greatest least gain, the first of equals."""
    start, stop = word
    logs = {condition: numbers.log_probability[start:stop] for condition, numbers in known.items()}
    base = logs.pop(Condition.WITH)
    gains = np.min([base - each for each in logs.values()], axis=0)
    return start + int(np.argmax(gains))


def replaced(report: OriginReport, index: int, word: WordOrigin) -> OriginReport:
    """The report with another record of one word."""
    return replace(report, words=(*report.words[:index], word, *report.words[index + 1 :]))


def chosen_words(report: OriginReport, wanted: Sequence[int] | None) -> tuple[int, ...]:
    """The wanted words by number, ascending; all if None. Raises IndexError for others."""
    found = range(len(report.words)) if wanted is None else sorted(set(wanted))
    for index in found:
        if not 0 <= index < len(report.words):
            raise IndexError(f"word {index} is outside the {len(report.words)} of the answer")
    return tuple(found)
