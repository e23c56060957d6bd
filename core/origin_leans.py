"""Which earlier words of the answer a word leans on."""

from __future__ import annotations

from dataclasses import replace

from logitscope.origin import chosen_words, replaced
from logitscope.origin_contexts import WordScores, less
from logitscope.origin_spans import listed
from logitscope.origin_types import Label, Leaning, OriginModel, OriginReport

FROM_PROMPT = frozenset({Label.PROMPT, Label.COPIED, Label.DERIVED})


def leans(model: OriginModel, report: OriginReport, word: int) -> OriginReport:
    """Need of each earlier word: what the word loses in log-probability when it is taken away.

    Kept are those with at least 0.5 nat and a quarter of the top one, the strongest first, and only
    where the top one comes from the prompt itself: function words lean 5 to 15 nats on whatever
    stands before them, which says nothing. Raises IndexError for a word that is not there.
    """
    (index,) = chosen_words(report, [word])
    origin = report.words[index]
    start, stop = origin.tokens
    before = [each.tokens for each in report.words[:index]]
    if not before:
        return replaced(report, index, replace(origin, leans=()))
    size = len(report.case.prompt_ids)
    context = (*report.case.prompt_ids, *report.case.answer_ids[:start])
    scores = WordScores(model, report.case.answer_ids[start:stop], [(0, stop - start)])
    cut = [less(context, [(size + first, size + last)]) for first, last in before]
    whole, *rest = (float(sums[0]) for sums in scores.of([context, *cut]))
    needs = [whole - value for value in rest]
    found = tuple(Leaning(i, needs[i]) for i in listed(needs))
    if found and report.words[found[0].word].label not in FROM_PROMPT:
        found = ()
    return replaced(report, index, replace(origin, leans=found))
