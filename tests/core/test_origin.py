"""Labels against a model whose probabilities are written down; expected values by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from origin_model import BOS, WrittenModel

from logitscope.origin import MARGIN, TAU, label_of, labels, unlabelled
from logitscope.origin_contexts import without_sources
from logitscope.origin_fill import filled, filler_ids
from logitscope.origin_leans import leans
from logitscope.origin_threshold import irrelevant_cases, threshold
from logitscope.origin_totals import evidence_matrix, totals
from logitscope.origin_types import Condition, Flag, Label, OriginCase, SourceEvidence
from logitscope.origin_words import words

LN = math.log
PIECES = (" secret", " red", " blue", " asked", " then", ".", " so")


def colour_model(with_it: float, without: float) -> WrittenModel:
    """ " red" has one probability behind a text with "secret", and another behind any other."""
    return WrittenModel(
        PIECES, lambda text: {" red": with_it if "secret" in text else without, " blue": 0.05}
    )


def test_log_probabilities_deltas_and_share_are_those_of_the_definition() -> None:
    model = colour_model(0.5, 0.05)
    (word,) = labels(model, model.case([" secret"], " asked", " red")).words
    expected = dict.fromkeys(Condition, LN(0.05)) | {Condition.WITH: LN(0.5)}
    assert word.log_probability == pytest.approx(expected, abs=1e-6)
    assert word.deltas == pytest.approx((LN(10), LN(10)), abs=1e-6)
    assert word.share == pytest.approx(0.9, abs=1e-6)
    assert (word.label, word.flags, word.text) == (Label.PROMPT, frozenset(), " red")


def test_the_top_of_each_condition_stands_at_the_first_token_of_the_word() -> None:
    model = colour_model(0.5, 0.02)
    (word,) = labels(model, model.case([" secret"], " asked", " red")).words
    red, blue = (model.tokenize(piece)[0] for piece in (" red", " blue"))
    tops = {each.condition: each for each in word.expected}
    assert list(tops) == list(Condition)
    assert tops[Condition.WITH].ids[:2] == (red, blue)
    assert {tops[c].ids[:2] for c in Condition if c is not Condition.WITH} == {(blue, red)}
    assert tops[Condition.WITH].log_probabilities[:2] == pytest.approx((LN(0.5), LN(0.05)))
    assert {len(each.ids) for each in word.expected} == {10}


def test_given_numbers_save_a_pass_and_change_nothing() -> None:
    model = colour_model(0.5, 0.05)
    case = model.case([" secret"], " asked", " red then")
    (numbers,) = model.score_variants([case.prompt_ids], case.answer_ids)
    model.scored.clear()
    assert labels(model, case, numbers) == labels(model, case)
    assert [len(context) for context in model.scored] == [2, 3, 3, 3, 2, 3, 3]
    with pytest.raises(ValueError, match="2 numbers for 1"):
        labels(model, replace(case, answer_ids=case.answer_ids[:1]), numbers)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (TAU + MARGIN, 5.0, Label.PROMPT),
        (TAU + 0.24, 5.0, Label.UNCERTAIN),
        (TAU - 0.24, TAU - 0.01, Label.UNCERTAIN),
        (TAU - MARGIN, TAU - 0.01, Label.WEIGHTS),
        (-3.0, TAU, Label.UNCERTAIN),
        (-3.0, 0.0, Label.WEIGHTS),
    ],
)
def test_labels_by_deltas(low: float, high: float, expected: Label) -> None:
    assert label_of((low, high)) is expected


ORDER = [Label.WEIGHTS, Label.UNCERTAIN, Label.PROMPT]


@given(st.floats(-8, 8), st.floats(0, 8), st.floats(0, 4), st.floats(0, 4))
def test_labels_are_monotone_in_the_deltas(
    low: float, spread: float, more_low: float, more_high: float
) -> None:
    less = (low, low + spread)
    more = (low + min(more_low, spread + more_high), low + spread + more_high)
    assert ORDER.index(label_of(less)) <= ORDER.index(label_of(more))


@given(st.floats(0.01, 0.5), st.floats(0.0, 0.4))
def test_a_likelier_word_with_the_sources_is_never_less_of_the_prompt(
    low: float, more: float
) -> None:
    found = []
    for with_it in (low, low + more):
        model = colour_model(with_it, 0.2)
        (word,) = labels(model, model.case([" secret"], " asked", " red")).words
        found.append(ORDER.index(word.label))
    assert found[0] <= found[1]


def test_flags() -> None:
    lowered = colour_model(0.2, 0.5)
    (word,) = labels(lowered, lowered.case([" secret"], " asked", " red")).words
    assert (word.label, word.flags, word.share) == (Label.WEIGHTS, {Flag.LOWERED}, 0.0)
    weak = colour_model(0.09, 0.01)
    (word,) = labels(weak, weak.case([" secret"], " asked", " red")).words
    assert (word.label, word.flags) == (Label.PROMPT, {Flag.WEAK})


def test_a_higher_threshold_needs_a_greater_gain() -> None:
    model = colour_model(0.5, 0.05)
    case = model.case([" secret"], " asked", " red")
    assert labels(model, case, threshold=LN(10) + 0.3).words[0].label is Label.WEIGHTS


def test_tokens_of_a_word_are_taken_together() -> None:
    def rule(text: str) -> Mapping[str, float]:
        known = "secret" in text
        if text.endswith("4"):
            return {"5": 0.5 if known else 0.25}
        return {"4": 0.5 if known else 0.125} if text.endswith(" ") else {" ": 0.5}

    model = WrittenModel((" ", "4", "5", " secret"), rule)
    (word,) = labels(model, model.case([" secret"], "days:", " 45")).words
    assert (word.text, word.tokens) == (" 45", (0, 3))
    # The space is as likely without; "4" gains ln 4 and "5" gains ln 2.
    assert word.deltas == pytest.approx((LN(8), LN(8)), abs=1e-6)


def test_an_empty_answer_costs_nothing() -> None:
    model = colour_model(0.5, 0.05)
    report = labels(model, model.case([" secret"], " asked", ""))
    assert (report.words, model.calls) == ((), 0)
    assert totals(report) == ()


def test_a_source_that_is_the_answer() -> None:
    def rule(text: str) -> Mapping[str, float]:
        return {" red": 0.6} if " red" in text else {" red": 0.01}

    model = WrittenModel(PIECES, rule)
    (word,) = labels(model, model.case([" red"], " asked", " red")).words
    assert word.label is Label.PROMPT
    assert word.deltas[0] == pytest.approx(LN(60), abs=1e-6)


def test_a_word_of_split_characters() -> None:
    smile = "🙂".encode()
    model = WrittenModel((" secret",), lambda _text: {})
    case = model.case([" secret"], "a", "🙂")
    assert len(case.answer_ids) == len(smile)
    report = labels(model, case)
    assert [(word.text, word.tokens) for word in report.words] == [("🙂", (0, 4))]
    assert report.words[0].label is Label.WEIGHTS


@pytest.mark.parametrize("answer", ["東京は高い", "巴黎是法国的首都", "ภาษาไทยดี"])
def test_answers_in_scripts_without_spaces_have_words(answer: str) -> None:
    model = WrittenModel((" secret", *answer), lambda _text: {})
    report = labels(model, model.case([" secret"], "a", answer))
    assert len(report.words) > 2
    assert "".join(word.text for word in report.words) == answer


def test_what_cannot_be_compared_is_refused() -> None:
    model = colour_model(0.5, 0.05)
    with pytest.raises(ValueError, match="mark one"):
        labels(model, model.case([], " asked", " red"))
    with pytest.raises(ValueError, match="All of the prompt"):
        labels(model, OriginCase((5, 6), ((0, 2),), (7,)))


def test_the_prompt_without_the_sources() -> None:
    assert without_sources(OriginCase((9, 1, 2, 3, 4, 5), ((1, 3), (4, 5)), ())) == (9, 3, 5)


# -- fillers --------------------------------------------------------------------------------------


@given(st.integers(0, 40), st.integers(0, 40))
def test_fillers_take_exactly_the_room_of_each_source(first: int, second: int) -> None:
    model = WrittenModel((), lambda _text: {})
    case = model.case(["x" * first, "y" * second], "frame", "zebra")
    for condition in (Condition.FILL_A, Condition.FILL_B):
        ids = filled(model, case, condition)
        assert len(ids) == len(case.prompt_ids)
        assert ids[0] == BOS
        assert ids[1 + first + second :] == case.prompt_ids[1 + first + second :]


@pytest.mark.parametrize("condition", [Condition.FILL_A, Condition.FILL_B])
@pytest.mark.parametrize("avoided", ["wool", "hedges", "the", "leaves", "wood"])
def test_fillers_hold_no_word_of_the_answer(condition: Condition, avoided: str) -> None:
    model = WrittenModel((), lambda _text: {})
    size = 4000
    ids = filler_ids(model, condition, size, {avoided})
    assert len(ids) == size
    text = model.vocabulary.text_bytes(ids).decode()
    found = {unit.key for unit in words(model.vocabulary, ids[: size - 20])}
    assert avoided not in found
    assert not any(char.isdigit() for char in text)


def test_a_word_that_nearly_every_sentence_holds_is_allowed_last() -> None:
    model = WrittenModel((), lambda _text: {})
    filler = words(model.vocabulary, filler_ids(model, Condition.FILL_A, 1500))
    everything = {unit.key for unit in filler} - {""}
    assert len(filler_ids(model, Condition.FILL_A, 200, everything)) == 200


def test_the_two_fillers_have_no_sentence_in_common() -> None:
    model = WrittenModel((), lambda _text: {})
    a, b = (
        model.vocabulary.text_bytes(filler_ids(model, condition, 900)).decode()
        for condition in (Condition.FILL_A, Condition.FILL_B)
    )
    assert not {s.strip() for s in a.split(".")[:-1]} & {s.strip() for s in b.split(".")[:-1]}


# -- threshold, leaning, totals -------------------------------------------------------------------


def test_the_threshold_is_ln_2_for_a_model_that_irrelevant_text_does_not_move() -> None:
    seen: list[tuple[int, int]] = []
    model = WrittenModel((), lambda _text: {})
    assert threshold(model, lambda done, total: seen.append((done, total))) == TAU
    assert seen == [(i, 20) for i in range(21)]


def test_the_threshold_is_raised_for_a_model_that_everything_moves() -> None:
    model = WrittenModel((), lambda _text: {})
    sources = {
        model.vocabulary.text_bytes(case.prompt_ids[slice(*case.sources[0])]).decode()
        for case in irrelevant_cases(model)
    }
    # One byte of each answer, the space in front, is e times likelier behind any of the sources.
    moved = WrittenModel(
        (), lambda text: {" ": 0.5 if any(s in text for s in sources) else 0.5 / math.e}
    )
    # In words of more bytes, every byte that is no space is a little less likely instead.
    longest = max(len(model.vocabulary.text_bytes(c.answer_ids)) for c in irrelevant_cases(model))
    cost = LN((1 - 0.5 / math.e) / 0.5)
    found = threshold(moved)
    assert 1.0 - (longest - 1) * cost <= found <= 1.0
    assert found == max(TAU, found)


def test_irrelevant_cases_hold_no_answer_in_their_sources() -> None:
    model = WrittenModel((), lambda _text: {})
    cases = irrelevant_cases(model)
    assert len(cases) == 20
    for case in cases:
        source = words(model.vocabulary, case.prompt_ids[slice(*case.sources[0])])
        answer = words(model.vocabulary, case.answer_ids)
        assert not {unit.key for unit in source} & {unit.key for unit in answer}


def test_a_word_leans_on_an_earlier_word_of_the_prompt() -> None:
    def rule(text: str) -> Mapping[str, float]:
        red = 0.5 if "secret" in text else 0.05
        return {" blue": 0.8} if " red" in text else {" blue": 0.1, " red": red}

    model = WrittenModel(PIECES, rule)
    report = labels(model, model.case([" secret"], " asked", " red then blue"))
    assert report.words[0].label is Label.PROMPT
    found = leans(model, report, 2).words[2].leans
    assert found is not None
    # Taking " then" away changes nothing, so that it is not listed.
    assert [(each.word, each.need) for each in found] == [(0, pytest.approx(LN(8), abs=1e-5))]


def test_leaning_is_shown_only_where_the_top_word_comes_from_the_prompt() -> None:
    def rule(text: str) -> Mapping[str, float]:
        if text.endswith(" then"):
            return {" blue": 0.8 if " red" in text else 0.1}
        return {" red": 0.5 if "secret" in text else 0.05, " then": 0.4, " blue": 0.7 * 0.1}

    model = WrittenModel(PIECES, rule)
    report = labels(model, model.case([" secret"], " asked", " red then blue"))
    # Behind " red" alone 0.07, so that " then" is worth ln(80/7), more than the ln 8 of " red".
    assert leans(model, report, 2).words[2].leans == ()
    assert leans(model, report, 0).words[0].leans == ()
    with pytest.raises(IndexError):
        leans(model, report, 3)


def test_totals_count_words_and_bits() -> None:
    model = colour_model(0.5, 0.125)
    report = labels(model, model.case([" secret"], " asked", " red red blue"))
    prompt, weights = totals(report)
    assert (prompt.label, prompt.words) == (Label.PROMPT, 2)
    assert prompt.bits == pytest.approx(2.0, abs=1e-5)
    assert prompt.saved_bits == pytest.approx(4.0, abs=1e-5)
    assert (weights.label, weights.words, weights.saved_bits) == (Label.WEIGHTS, 1, 0.0)
    assert weights.bits == pytest.approx(math.log2(20), abs=1e-5)


def test_the_matrix_has_evidence_where_it_is_known() -> None:
    model = colour_model(0.5, 0.125)
    report = unlabelled(model.vocabulary, model.case([" secret", " so"], "", " red blue"))
    known = replace(report.words[1], sources=(SourceEvidence(0, 1.0, 2.0), SourceEvidence(1, 0, 0)))
    matrix = evidence_matrix(replace(report, words=(report.words[0], known)))
    np.testing.assert_array_equal(matrix, [[np.nan, np.nan], [1.5, 0.0]])
