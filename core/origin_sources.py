"""Where in the sources a word comes from: spans, words within them, copied or derived."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from logitscope.origin import TAU, chosen_words, replaced
from logitscope.origin_contexts import WordScores, less, with_only
from logitscope.origin_places import comparable, places_of, span_units, words_key
from logitscope.origin_spans import LEAST_EVIDENCE, evidence_of, listed, span_scores
from logitscope.origin_swap import swap
from logitscope.origin_types import (
    Flag,
    Label,
    OriginModel,
    OriginReport,
    Range,
    SourceEvidence,
    WordOrigin,
)

DEPENDENT = frozenset({Label.PROMPT, Label.COPIED, Label.DERIVED})
COPY_PART = 0.5
"""Of the top word's need: what an occurrence needs to be what was copied."""
MOST_PLACES = 3
"""A word that stands in the sources more often is one of any text: it is swapped on demand only."""
_CONFIRMED = 4
"""Words of a span whose approximate need is the greatest: they are scored again exactly."""


def sources(
    model: OriginModel, report: OriginReport, words: Sequence[int] | None = None
) -> Iterator[OriginReport]:
    """Work out the sources of the wanted words (all if None); the last report is complete.

    ``report`` comes from ``labels``. First need and hold of every span, for all words up to the
    last wanted one; then the words within the listed spans, which turns PROMPT into COPIED or
    DERIVED; then the swap test of weights-words that occur in the sources, at most three times,
    which may turn WEIGHTS into BOTH. Uncertain words are taken to the words of their sources only
    if they are named in ``words``, and stay uncertain. Raises IndexError for a word that is not
    there and whatever the model raises.
    """
    wanted = chosen_words(report, words)
    if not wanted:
        return
    if any(report.words[i].sources is None for i in wanted):
        report = yield from _with_spans(model, report, wanted)
    refined = DEPENDENT if words is None else DEPENDENT | {Label.UNCERTAIN}
    dependent = [i for i in wanted if report.words[i].label in refined]
    if dependent:
        report = yield from _with_words(model, report, dependent)
    for index in wanted:
        word = report.words[index]
        if word.label is Label.WEIGHTS and not word.swaps and _may_be_both(model, report, word):
            report = swap(model, report, index)
            yield report


def listed_spans(word: WordOrigin) -> tuple[SourceEvidence, ...]:
    """The spans worth showing for a word: at least 0.5 nat of evidence and a quarter of the top
    span's; the strongest first."""
    found = word.sources or ()
    return tuple(found[i] for i in listed([each.evidence for each in found]))


def is_redundant(spans: Sequence[SourceEvidence], threshold: float = TAU) -> bool:
    """Whether no span is needed (0.5 nat is noise) while two or more would do alone."""
    if any(each.need >= LEAST_EVIDENCE for each in spans):
        return False
    return sum(each.hold > threshold for each in spans) >= 2


def _with_spans(
    model: OriginModel, report: OriginReport, wanted: Sequence[int]
) -> Generator[OriginReport, None, OriginReport]:
    ranges = [word.tokens for word in report.words[: wanted[-1] + 1]]
    scores = WordScores(model, report.case.answer_ids[: ranges[-1][1]], ranges)
    dependent = [i for i in wanted if report.words[i].label is not Label.WEIGHTS]
    for need, hold in span_scores(scores, report.case, len(ranges), dependent):
        for index in range(len(ranges)):
            found = evidence_of(need, hold, index)
            report = replaced(report, index, _with_evidence(report, index, found))
        yield report
    return report


def _with_evidence(
    report: OriginReport, index: int, found: tuple[SourceEvidence, ...]
) -> WordOrigin:
    """A word whose sources were worked out before keeps them: more is known of them."""
    word = report.words[index]
    if word.sources is not None and any(each.word is not None for each in word.sources):
        return word
    flags = word.flags - {Flag.REDUNDANT}
    if is_redundant(found, report.threshold):
        flags |= {Flag.REDUNDANT}
    return replace(word, sources=found, flags=flags)


@dataclass(frozen=True, slots=True)
class _Base:
    """A span whose words are taken away one by one, from the whole prompt or, where other spans
    say the same, from the prompt with this span as its only source."""

    span: int
    alone: bool


def _with_words(
    model: OriginModel, report: OriginReport, wanted: Sequence[int]
) -> Generator[OriginReport, None, OriginReport]:
    """Go through the listed spans of all wanted words, each span once."""
    bases: dict[_Base, list[int]] = {}
    for index in wanted:
        word = report.words[index]
        for each in listed_spans(word):
            bases.setdefault(_Base(each.span, Flag.REDUNDANT in word.flags), []).append(index)
    needs: dict[int, dict[Range, float]] = {index: {} for index in wanted}
    for base, users in bases.items():
        _add_needs(model, report, base, users, needs)
        for index in users:
            inside = _inside(report.case.sources[base.span], needs[index])
            report = replaced(report, index, _with_top_word(report.words[index], base, inside))
        yield report
    for index in wanted:
        report = replaced(report, index, _told_apart(model, report, index, needs[index]))
    yield report
    return report


def _add_needs(
    model: OriginModel,
    report: OriginReport,
    base: _Base,
    users: Sequence[int],
    needs: dict[int, dict[Range, float]],
) -> None:
    """Exact need of the words of a span that may matter most to its users."""
    case = report.case
    texts = {words_key(report.words[i].text) for i in users}
    units = [
        unit
        for unit in span_units(model.vocabulary, case, base.span)
        if unit.key or comparable(unit.key, unit.text) in texts
    ]
    occurring = {i: _occurrences(model, report, i, base.span) for i in users}
    ranges = [(unit.start, unit.stop) for unit in units]
    if not ranges and not any(occurring.values()):
        return
    ends = [report.words[i].tokens for i in users]
    scores = WordScores(model, case.answer_ids[: ends[-1][1]], ends)
    prompt = with_only(case, [base.span]) if base.alone else case.prompt_ids
    shift = _shift(report, base)
    kept = _likely(scores, prompt, ranges, shift)
    # A word that stands twice is needed at neither place: both are taken away together, and the
    # place that is needed more by itself counts.
    cuts = [[r] for r in dict.fromkeys([*kept, *chain(*occurring.values())])]
    cuts += [places for places in occurring.values() if len(places) > 1]
    whole, *rest = scores.of([tuple(prompt), *(less(prompt, _moved(cut, shift)) for cut in cuts)])
    for cut, left in zip(cuts, rest, strict=True):
        for user, value in zip(users, (whole - left).tolist(), strict=True):
            if len(cut) == 1:
                needs[user][cut[0]] = value
            elif cut == occurring[user]:
                best = max(cut, key=needs[user].__getitem__)
                needs[user][best] = max(value, needs[user][best])


def _occurrences(model: OriginModel, report: OriginReport, index: int, span: int) -> list[Range]:
    text = report.words[index].text
    return [each.tokens for each in places_of(model.vocabulary, report.case, text, [span])]


def _likely(
    scores: WordScores, prompt: Sequence[int], ranges: Sequence[Range], shift: int
) -> list[Range]:
    """The ranges that may matter most to any word: all if they are few, else the best by the
    approximate numbers of a cut cache."""
    if len(ranges) <= _CONFIRMED:
        return list(ranges)
    cut = scores.of_cuts(prompt, _moved(ranges, shift))
    found: set[Range] = set()
    for values in zip(*(each.tolist() for each in cut), strict=True):
        order = sorted(range(len(values)), key=values.__getitem__)
        found.update(ranges[i] for i in order[:_CONFIRMED])
    return sorted(found)


def _moved(ranges: Sequence[Range], shift: int) -> list[Range]:
    return [(start - shift, stop - shift) for start, stop in ranges]


def _shift(report: OriginReport, base: _Base) -> int:
    """Tokens that are missing before the span where it is the only source."""
    if not base.alone:
        return 0
    return sum(stop - start for start, stop in report.case.sources[: base.span])


def _inside(span: Range, needs: dict[Range, float]) -> dict[Range, float]:
    start, stop = span
    return {tokens: need for tokens, need in needs.items() if start <= tokens[0] < stop}


def _with_top_word(word: WordOrigin, base: _Base, needs: dict[Range, float]) -> WordOrigin:
    if not needs or word.sources is None:
        return word
    made = list(word.sources)
    top = max(needs, key=lambda tokens: (needs[tokens], -tokens[0]))
    made[base.span] = replace(made[base.span], word=top, word_need=needs[top])
    return replace(word, sources=tuple(made))


def _told_apart(
    model: OriginModel, report: OriginReport, index: int, needs: dict[Range, float]
) -> WordOrigin:
    """COPIED or DERIVED in place of PROMPT."""
    word = report.words[index]
    if word.label not in DEPENDENT:
        return word
    spans = [each.span for each in listed_spans(word)]
    places = [p.tokens for p in places_of(model.vocabulary, report.case, word.text, spans)]
    best = max(places, key=lambda tokens: needs.get(tokens, 0.0), default=None)
    least = COPY_PART * max(needs.values(), default=0.0)
    if best is None or not 0.0 < needs.get(best, 0.0) >= least:
        return replace(word, label=Label.DERIVED, copied_from=None)
    return replace(word, label=Label.COPIED, copied_from=best)


def _may_be_both(model: OriginModel, report: OriginReport, word: WordOrigin) -> bool:
    if not any(map(str.isalnum, word.text)):
        return False
    return 0 < len(places_of(model.vocabulary, report.case, word.text)) <= MOST_PLACES
