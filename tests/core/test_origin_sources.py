"""Spans, words within them, copied, derived and both: against a model that is written down."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from origin_model import WrittenModel

from logitscope.origin import labels
from logitscope.origin_sources import listed_spans, sources
from logitscope.origin_spans import estimate, first_groups, listed
from logitscope.origin_swap import shape_of, swap
from logitscope.origin_types import Flag, Label, OriginReport

LN = math.log
PIECES = (
    " key", " other", " red", " blue", " green", " Spain", " Germany", " Spanish", " German",
    " asked", ".", " so", " the", " days", " weeks",
)  # fmt: skip


def analysed(
    model: WrittenModel, spans: Sequence[str], answer: str, words: Sequence[int] | None = None
) -> OriginReport:
    report = labels(model, model.case(spans, " asked", answer))
    *_, last = [report, *sources(model, report, words)]
    return last


probability = st.floats(0.01, 0.9)


@given(probability, probability, probability, probability)
def test_two_spans_have_the_shapley_value(
    neither: float, first: float, second: float, both: float
) -> None:
    by_presence = {(0, 0): neither, (1, 0): first, (0, 1): second, (1, 1): both}
    model = WrittenModel(
        PIECES, lambda text: {" red": by_presence[" key" in text, " other" in text]}
    )
    (word,) = analysed(model, [" key", " other"], " red").words
    assert word.sources is not None
    value = {presence: LN(p) for presence, p in by_presence.items()}
    one = 0.5 * (value[1, 1] - value[0, 1] + value[1, 0] - value[0, 0])
    two = 0.5 * (value[1, 1] - value[1, 0] + value[0, 1] - value[0, 0])
    assert [each.evidence for each in word.sources] == pytest.approx([one, two], abs=1e-5)
    assert one + two == pytest.approx(value[1, 1] - value[0, 0])
    assert word.sources[0].need == pytest.approx(value[1, 1] - value[0, 1], abs=1e-5)
    assert word.sources[0].hold == pytest.approx(value[1, 0] - value[0, 0], abs=1e-5)


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        ([0.1, 4.0, 1.0, 0.9], (1, 2)),
        ([0.4, 0.5], (1,)),
        ([0.49, -3.0], ()),
        ([1.0, 2.0], (1, 0)),
        ([], ()),
    ],
)
def test_spans_listed(evidence: list[float], expected: tuple[int, ...]) -> None:
    assert listed(evidence) == expected


def key_model() -> WrittenModel:
    return WrittenModel(PIECES, lambda text: {" red": 0.8 if " key" in text else 0.02})


def test_a_fact_that_is_said_twice_is_redundant() -> None:
    (word,) = analysed(key_model(), [" so key", " the", " key"], " red").words
    assert word.sources is not None
    assert [each.need for each in word.sources] == pytest.approx([0, 0, 0], abs=1e-5)
    holds = [LN(40), 0.0, LN(40)]
    assert [each.hold for each in word.sources] == pytest.approx(holds, abs=1e-5)
    assert word.flags == {Flag.REDUNDANT}
    assert word.label is Label.DERIVED
    # Within each span alone the word is needed in full.
    first, _, last = word.sources
    assert (first.word, last.word) == ((2, 3), (4, 5))
    assert [first.word_need, last.word_need] == pytest.approx([LN(40), LN(40)], abs=1e-5)


def test_one_span_of_two_is_not_redundant() -> None:
    (word,) = analysed(key_model(), [" key", " the"], " red").words
    assert Flag.REDUNDANT not in word.flags


def test_a_copied_word_is_found_where_it_stands() -> None:
    model = WrittenModel(PIECES, lambda text: {" red": 0.8 if " red" in text else 0.02})
    (word,) = analysed(model, [" the other", " so Red. so red."], " red").words
    assert (word.label, word.sources and word.sources[1].word) == (Label.COPIED, word.copied_from)
    case = model.case([" the other", " so Red. so red."], " asked", " red")
    assert word.copied_from is not None
    found = model.vocabulary.text_bytes(case.prompt_ids[slice(*word.copied_from)])
    assert found == b" red"


def test_a_word_that_stands_twice_in_one_span_is_taken_away_at_both_places() -> None:
    model = WrittenModel(PIECES, lambda text: {" red": 0.8 if " red" in text else 0.02})
    (word,) = analysed(model, [" so red. so red."], " red").words
    assert word.sources is not None
    assert (word.label, word.copied_from) == (Label.COPIED, (2, 3))
    assert word.sources[0].word == (2, 3)
    assert word.sources[0].word_need == pytest.approx(LN(40), abs=1e-5)


def test_an_occurrence_that_is_not_needed_is_not_copied() -> None:
    (word,) = analysed(key_model(), [" so red key"], " red").words
    assert (word.label, word.copied_from) == (Label.DERIVED, None)


def test_words_of_a_long_span_are_found_by_cuts_and_scored_exactly() -> None:
    span = " so the other so the other key so the other"
    (word,) = analysed(key_model(), [span, " blue"], " red").words
    assert word.sources is not None
    assert word.sources[0].word == (7, 8)
    assert word.sources[0].word_need == pytest.approx(LN(40), abs=1e-5)


@given(st.permutations([" so", " the", " other", " blue"]), st.integers(0, 4))
def test_order_of_irrelevant_spans_changes_nothing(order: list[str], place: int) -> None:
    spans = [*order[:place], " key", *order[place:]]
    (word,) = analysed(key_model(), spans, " red").words
    assert word.label is Label.DERIVED
    assert [each.span for each in listed_spans(word)] == [place]
    assert word.deltas == pytest.approx((LN(40), LN(40)), abs=1e-5)
    assert word.sources is not None
    evidence = [each.evidence for each in word.sources]
    assert evidence == pytest.approx([LN(40) * (i == place) for i in range(5)], abs=1e-5)


def test_only_the_wanted_words_are_worked_out() -> None:
    model = key_model()
    report = labels(model, model.case([" key"], " asked", " red red blue"))
    *_, first = sources(model, report, [0])
    assert [word.sources is None for word in first.words] == [False, True, True]
    assert [word.label for word in first.words] == [Label.DERIVED, Label.PROMPT, Label.WEIGHTS]
    *_, both = sources(model, first, [1])
    assert both.words[0] == first.words[0]
    assert both.words[1].label is Label.DERIVED
    with pytest.raises(IndexError):
        list(sources(model, report, [3]))


def test_reports_come_in_steps() -> None:
    model = key_model()
    report = labels(model, model.case([" key", " so"], " asked", " red"))
    steps = list(sources(model, report))
    assert steps[0].words[0].label is Label.PROMPT
    assert steps[0].words[0].sources is not None
    assert steps[-1].words[0].label is Label.DERIVED


def test_an_empty_answer_has_nothing_to_work_out() -> None:
    model = key_model()
    report = labels(model, model.case([" key"], " asked", ""))
    assert list(sources(model, report)) == []


def test_uncertain_words_stay_uncertain_but_show_their_sources_when_asked() -> None:
    model = WrittenModel(PIECES, lambda text: {" red": 0.4 if " key" in text else 0.2})
    case = model.case([" key", " so"], " asked", " red")
    report = labels(model, case)
    assert report.words[0].label is Label.UNCERTAIN
    *_, unasked = sources(model, report)
    *_, asked = sources(model, report, [0])
    assert [r.words[0].label for r in (unasked, asked)] == [Label.UNCERTAIN, Label.UNCERTAIN]
    assert unasked.words[0].sources is not None and unasked.words[0].sources[0].word is None
    assert asked.words[0].sources is not None and asked.words[0].sources[0].word == (1, 2)


# -- many spans -----------------------------------------------------------------------------------


@pytest.mark.parametrize("place", [0, 37, 150, 199])
def test_one_of_200_spans_is_found_by_halving(place: int) -> None:
    model = key_model()
    spans = [" key" if i == place else " so" for i in range(200)]
    case = model.case(spans, " asked", " red")
    report = labels(model, case)
    *_, last = sources(model, report)
    evidence = [each.evidence for each in last.words[0].sources or ()]
    assert evidence == pytest.approx([LN(40) * (i == place) for i in range(200)], abs=1e-5)
    assert len(model.scored) < estimate(case).passes < 200
    assert sum(map(len, model.scored)) + len(model.scored) < estimate(case).tokens


def test_two_of_100_spans_that_need_each_other_are_found() -> None:
    model = WrittenModel(
        PIECES, lambda text: {" red": 0.8 if " key" in text and " other" in text else 0.02}
    )
    spans = [{20: " key", 80: " other"}.get(i, " so") for i in range(100)]
    (word,) = analysed(model, spans, " red").words
    assert {each.span for each in listed_spans(word)} == {20, 80}


def test_up_to_30_spans_are_taken_one_by_one() -> None:
    assert first_groups(30) == [(i, i + 1) for i in range(30)]
    groups = first_groups(31)
    assert len(groups) == 16
    assert list(itertools.chain(*(range(*g) for g in groups))) == list(range(31))
    assert first_groups(0) == []


def test_the_estimate_of_few_spans_is_what_is_asked_of_the_model() -> None:
    model = WrittenModel(PIECES, lambda _text: {})
    case = model.case([" so the", " blue", " key other red"], " asked", " red so")
    list(sources(model, labels(model, case)))
    found = estimate(case)
    assert len(model.scored) == found.passes
    assert sum(len(context) + 2 for context in model.scored) == found.tokens


# -- swaps ----------------------------------------------------------------------------------------

COLOURS = (" red", " blue", " green")


def copying_model(without: float) -> WrittenModel:
    """Says the colour that stands in the text; the sources offer other colours at their place."""

    def rule(text: str) -> Mapping[str, float]:
        if text.endswith(" so"):
            return {" red": 0.3, " blue": 0.15, " green": 0.1, "X": 0.12}
        said = next((colour for colour in COLOURS if colour in text), None)
        others = dict.fromkeys(COLOURS, 0.01)
        return others | ({said: 0.9} if said else {" red": without})

    return WrittenModel((*PIECES, "X"), rule)


def test_a_weights_word_that_follows_the_sources_is_both() -> None:
    (word,) = analysed(copying_model(0.85), [" so red"], " red").words
    assert word.label is Label.BOTH
    assert [(s.original, s.replacement, s.says, s.follows) for s in word.swaps] == [
        (" red", " blue", " blue", True),
        (" red", " green", " green", True),
    ]
    assert word.swaps[0].place == (2, 3)


def test_a_weights_word_that_stands_there_by_chance_stays() -> None:
    def rule(text: str) -> Mapping[str, float]:
        if text.endswith(" so"):
            return {" blue": 0.15, " green": 0.1}
        return {" red": 0.9}

    (word,) = analysed(WrittenModel(PIECES, rule), [" so red"], " red").words
    assert word.label is Label.WEIGHTS
    assert [(s.says, s.follows) for s in word.swaps] == [(" red", False)] * 2


def test_a_copied_word_is_swapped_on_demand() -> None:
    model = copying_model(0.01)
    report = analysed(model, [" so red. so red."], " red")
    assert (report.words[0].label, report.words[0].swaps) == (Label.COPIED, ())
    word = swap(model, report, 0).words[0]
    # Both places are replaced, or the other one would still be followed.
    assert word.label is Label.COPIED
    assert [s.follows for s in word.swaps] == [True, True]


def test_a_derived_word_shows_what_another_source_gives() -> None:
    def rule(text: str) -> Mapping[str, float]:
        if text.endswith(" the"):
            return {" Germany": 0.5, " Spain": 0.1, " blue": 0.1}
        if " Spain" in text:
            return {" Spanish": 0.9}
        return {" German": 0.9} if " Germany" in text else {" German": 0.05}

    model = WrittenModel(PIECES, rule)
    report = analysed(model, [" the Germany.", " so"], " German")
    assert report.words[0].label is Label.DERIVED
    word = swap(model, report, 0).words[0]
    assert word.label is Label.DERIVED
    # " blue" is as likely, but no capitalised word: it does not stand for a country.
    found = word.swaps[0]
    assert (found.original, found.replacement, found.says) == (" Germany", " Spain", " Spanish")
    assert found.follows


def test_a_number_is_replaced_by_one_of_as_many_figures() -> None:
    def rule(text: str) -> Mapping[str, float]:
        if text.endswith(" so "):
            return {"3": 0.15, "7": 0.1, "4": 0.3}
        if text.endswith((" so 3", " so 7")):
            return {"0": 0.5}
        for number in ("45", "30", "70"):
            for size in range(len(number)):
                if f" so {number}" in text and text.endswith(f" asked {number[:size]}"):
                    return {number[size]: 0.9}
        return {" ": 0.9} if text.endswith(" asked") else {".": 0.9}

    model = WrittenModel((*PIECES, " ", "3", "4", "5", "7", "0"), rule)
    report = analysed(model, [" so 45"], " 45")
    assert report.words[0].label is Label.COPIED
    word = swap(model, report, 0).words[0]
    assert [(s.replacement, s.says, s.follows) for s in word.swaps] == [
        (" 30", " 30", True),
        (" 70", " 70", True),
    ]


def test_nothing_to_swap_changes_nothing() -> None:
    model = key_model()
    report = labels(model, model.case([" key"], " asked", " blue"))
    assert swap(model, report, 0) == report
    with pytest.raises(IndexError):
        swap(model, report, 1)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (" 45", " 30", True),
        (" 45", " 3", False),
        (" 3.5", " 2.7", True),
        (" Spain", " France", True),
        (" Spain", " blue", False),
        ("Spain", " Spain", False),
        (" NATO", " Spain", False),
        (" NATO", " USA", True),
        ("東", "京", True),
        ("東", "は", False),
    ],
)
def test_shapes(one: str, other: str, same: bool) -> None:
    assert (shape_of(one) == shape_of(other)) is same


def test_a_part_of_a_run_without_spaces_is_found() -> None:
    def rule(text: str) -> Mapping[str, float]:
        return {"東京": 0.8 if "東" in text else 0.01}

    model = WrittenModel(("東", "京", "東京", "都は", "大きい", "。"), rule)
    ids = model.tokenize("東京")
    case = model.case(["大きい。"], "", "東京")
    # The source spells it with other tokens than the answer does.
    spelled = (*model.tokenize("東"), *model.tokenize("京"), *model.tokenize("都は。"))
    prompt = (*case.prompt_ids[:1], *spelled, *case.prompt_ids[1:])
    report = labels(model, type(case)(prompt, ((1, 1 + len(spelled)),), tuple(ids)))
    *_, last = sources(model, report)
    assert (last.words[0].label, last.words[0].copied_from) == (Label.COPIED, (1, 3))


def test_evidence_is_a_plain_number() -> None:
    (word,) = analysed(key_model(), [" key"], " red").words
    assert word.sources is not None
    assert not isinstance(word.sources[0].need, np.floating)
