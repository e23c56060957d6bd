"""What a guess costs: exact arithmetic on powers of two, and the laws of a proper score."""

from __future__ import annotations

import json
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logitscope import guess_file
from logitscope.distribution import Distribution
from logitscope.guessing import (
    CANDIDATES,
    PLAUSIBLE,
    Totals,
    Verdict,
    answer_ids,
    candidates,
    judge,
)
from logitscope.lesson_parts import LessonFileError
from logitscope.vocabulary import TokenKind, Vocabulary

HALVES = Distribution.of(np.log2([1 / 2, 1 / 4, 1 / 8, 1 / 8]).astype(np.float32) * math.log(2))
"""Probabilities 1/2, 1/4, 1/8, 1/8, up to the float32 of their logits."""


@pytest.mark.parametrize(
    ("truth", "guess", "confidence", "pool", "person", "model", "chance"),
    [
        # As sure as the model: the model's own bits.
        (0, [0], 0.5, None, 1, 1, 2),
        (2, [0], 0.5, None, 3, 3, 2),
        # 3/4 on the first: the rest, 1/4, is shared out as 1/8 of 1/2.
        (0, [0], 0.75, None, math.log2(4 / 3), 1, 2),
        (2, [0], 0.75, None, 4, 3, 2),
        # 1/2 on a set of 1/4 and 1/8, of which the second has a third.
        (2, [1, 2], 0.5, None, math.log2(6), 3, 2),
        # Among three tokens the model says 1/2, 1/4, 1/4.
        (1, [1], 0.75, [1, 2, 3], math.log2(4 / 3), 1, math.log2(3)),
        (3, [1], 0.75, [1, 2, 3], 3, 2, math.log2(3)),
        # A guess of everything leaves nothing for the rest.
        (0, [0, 1, 2, 3], 0.5, None, 2, 1, 2),
    ],
)
def test_bits_by_hand(*, truth, guess, confidence, pool, person, model, chance) -> None:
    verdict = judge(HALVES, truth, guess, confidence, pool)
    assert verdict.is_right is (truth in guess)
    assert verdict.person == pytest.approx(person, abs=1e-6)
    assert verdict.model == pytest.approx(model, abs=1e-6)
    assert verdict.chance == pytest.approx(chance, abs=1e-12)


ROWS = st.lists(st.floats(-30, 30, width=32), min_size=2, max_size=12)


@given(row=ROWS, data=st.data())
@settings(max_examples=80, deadline=None)
def test_every_guess_is_a_distribution(row: list[float], data: st.DataObject) -> None:
    size = len(row)
    guess = data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=size - 1))
    confidence = data.draw(st.floats(0.01, 0.99))
    distribution = Distribution.of(np.array(row, dtype=np.float32))
    verdicts = [judge(distribution, truth, guess, confidence) for truth in range(size)]
    covered = sum(2.0**-v.person for v in verdicts)
    assert covered == pytest.approx(1 if len(set(guess)) < size else confidence, rel=1e-9)
    assert sum(2.0**-v.person for v in verdicts if v.is_right) == pytest.approx(confidence)


@pytest.mark.parametrize("belief", [0.25, 0.5, 0.75, 0.9])
def test_saying_what_one_believes_is_best_on_the_average(belief: float) -> None:
    """The true token is the first with this probability, else one of the others as the model says:
    (1/4, 1/8, 1/8) of 1/2."""
    chances = [belief, (1 - belief) / 2, (1 - belief) / 4, (1 - belief) / 4]

    def expected(confidence: float) -> float:
        return sum(
            chance * judge(HALVES, truth, [0], confidence).person
            for truth, chance in enumerate(chances)
        )

    stated = np.arange(1, 100) / 100
    best = stated[int(np.argmin([expected(float(c)) for c in stated]))]
    assert best == pytest.approx(belief)
    # At the belief itself the expected cost is the entropy, which no distribution falls below.
    entropy = -sum(chance * math.log2(chance) for chance in chances)
    assert expected(belief) == pytest.approx(entropy, abs=1e-6)


def test_tokens_the_model_excludes_share_equally() -> None:
    row = np.array([0.0, -np.inf, -np.inf], dtype=np.float32)
    verdict = judge(Distribution.of(row), 2, [1, 2], 0.5)
    assert verdict.person == pytest.approx(2.0)
    assert verdict.model == math.inf


@pytest.mark.parametrize("confidence", [0.0, 1.0, -1.0, math.nan])
def test_nobody_is_certain(confidence: float) -> None:
    with pytest.raises(ValueError, match="confidence"):
        judge(HALVES, 0, [0], confidence)


@pytest.mark.parametrize(("truth", "guess"), [(0, [1]), (1, [0]), (1, [])])
def test_what_is_not_in_the_pool_cannot_be_judged(truth: int, guess: list[int]) -> None:
    with pytest.raises(ValueError, match="guess"):
        judge(HALVES, truth, guess, 0.5, [1, 2])


def test_totals_add_up_and_a_streak_ends() -> None:
    totals = Totals()
    for is_right in (True, True, False, True):
        totals = totals.plus(Verdict(is_right, 1.5, 1.0, 3.0))
    assert totals == Totals(4, 3, 1, 2, 6.0, 4.0, 12.0)


# -- candidates and answers ---------------------------------------------------------------------


def vocabulary_of(*pieces: bytes, marks: tuple[int, ...] = ()) -> Vocabulary:
    kinds = [TokenKind.CONTROL if i in marks else TokenKind.NORMAL for i in range(len(pieces))]
    return Vocabulary.from_pieces(pieces, kinds, bos=None, eos=None)


def test_candidates_are_the_true_token_among_likely_ones_in_any_order() -> None:
    size = 40
    vocabulary = vocabulary_of(*(b"t%d" % i for i in range(size)), marks=(0, 1))
    distribution = Distribution.of(-np.arange(size, dtype=np.float32))
    places = set()
    for seed in range(60):
        drawn = candidates(distribution, vocabulary, 35, random.Random(seed))
        assert len(drawn) == len(set(drawn)) == CANDIDATES
        # Ids 0 and 1 are marks; behind them the likeliest are 2, 3, …
        assert set(drawn) - {35} <= set(range(2, 2 + PLAUSIBLE))
        places.add(drawn.index(35))
    assert places == set(range(CANDIDATES))


def test_candidates_do_not_repeat_bytes_and_may_be_few() -> None:
    vocabulary = vocabulary_of(b"a", b"a", b"", b"b", b"b")
    drawn = candidates(Distribution.of(np.zeros(5)), vocabulary, 0, random.Random(1))
    assert sorted(drawn) == [0, 3]


PIECES = (b" ", b" b", b" bl", b" blue", b"b", b"blue", b"bl", b"lue", b"  ", b"Blue", b"blue sky")


@pytest.mark.parametrize(
    ("typed", "before", "pieces"),
    [
        ("blue", b"is", {b" b", b" bl", b" blue", b"b", b"bl", b"blue"}),
        ("blue", b"is ", {b"b", b"bl", b"blue"}),
        (" blue", b"is", {b" ", b" b", b" bl", b" blue"}),
        ("blue sky", b"x\n", {b"b", b"bl", b"blue", b"blue sky"}),
        ("  ", b"is", {b" ", b"  "}),
        ("Bl", b"is", set()),
        ("", b"is", set()),
        ("zzz", b"is", set()),
    ],
)
def test_answers_are_tokens_that_begin_what_was_typed(typed, before, pieces) -> None:
    vocabulary = vocabulary_of(*PIECES)
    found = answer_ids(vocabulary, typed, before)
    assert {vocabulary.bytes_of(i) for i in found} == pieces
    assert list(found) == sorted(found)


def test_a_mark_is_no_answer() -> None:
    assert answer_ids(vocabulary_of(b"<s>", b"<", marks=(0,)), "<s>", b" ") == (1,)


def test_texts_are_read_and_wrong_ones_are_named() -> None:
    whole = {"format": "logitscope-guess-texts", "version": 1}
    texts = guess_file.loads(json.dumps(whole | {"texts": [{"title": "A", "text": "b"}]}))
    assert [(one.title, one.text) for one in texts] == [("A", "b")]
    with pytest.raises(LessonFileError, match="text 1"):
        guess_file.loads(json.dumps(whole | {"texts": [{"title": "A"}]}))
    with pytest.raises(LessonFileError, match="guess-texts"):
        guess_file.loads(json.dumps(whole | {"format": "other"}))
