"""Ranges of two tokenizations: what must hold for any cut of any bytes."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logitscope.alignment import (
    NO_RANGE,
    Pairing,
    Tokens,
    differences,
    largest,
    pair_by_bytes,
    pair_by_ids,
    spread,
    tokens_of,
    totals,
)
from logitscope.matching import MOST_PAIRS, matching_blocks
from logitscope.model_pair import same_vocabulary, top_agreement
from logitscope.vocabulary import TokenKind, Vocabulary


def cut(pieces: list[bytes], ids: list[int] | None = None) -> Tokens:
    sizes = np.array([len(piece) for piece in pieces], dtype=np.int64)
    known = np.array(range(len(pieces)) if ids is None else ids, dtype=np.int32)
    return Tokens(known, sizes, b"".join(pieces))


@st.composite
def cuts(draw: st.DrawFn, text: bytes) -> Tokens:
    """Any cut of a text, with special tokens (no bytes) anywhere."""
    places = draw(st.lists(st.integers(0, len(text)), max_size=12))
    bounds = [0, *sorted(places), len(text)]
    return cut([text[a:b] for a, b in pairwise(bounds)])


@st.composite
def pairs_of_cuts(draw: st.DrawFn) -> tuple[Tokens, Tokens]:
    """Two cuts of one text, or of two that have a beginning and an end in common."""
    text = draw(st.binary(max_size=20))
    inserted = draw(st.sampled_from([b"", b"", b"?", b"\xef\xbf\xbd"]))
    place = draw(st.integers(0, len(text)))
    other = text[:place] + inserted + text[place:]
    return draw(cuts(text)), draw(cuts(other))


@st.composite
def pairs_of_texts(draw: st.DrawFn) -> tuple[Tokens, Tokens]:
    """Two texts of one small vocabulary, in which id 0 is special."""
    pieces = [b"", b"a", b"bc", b"\n", b"\xc3\xa4"]
    ids = st.lists(st.integers(0, len(pieces) - 1), max_size=24)
    left, right = draw(ids), draw(ids)
    return cut([pieces[i] for i in left], left), cut([pieces[i] for i in right], right)


def assert_covers(pairing: Pairing, left: Tokens, right: Tokens) -> None:
    for starts, sizes, tokens, ranges in (
        (pairing.left_start, pairing.left_bytes, left, pairing.left_range),
        (pairing.right_start, pairing.right_bytes, right, pairing.right_range),
    ):
        covered = [b for s, n in zip(starts, sizes, strict=True) for b in range(s, s + n)]
        assert covered == list(range(len(tokens.text)))
        brought = np.bincount(ranges[ranges != NO_RANGE], minlength=len(pairing))
        assert ((brought > 0) == (sizes > 0)).all()
        assert ((ranges == NO_RANGE) == (tokens.sizes == 0)).all()
        inside = tokens.sizes > 0
        first = tokens.ends[inside] - tokens.sizes[inside]
        assert (first >= starts[ranges[inside]]).all()
        assert (tokens.ends[inside] <= (starts + sizes)[ranges[inside]]).all()


def assert_keeps_losses(pairing: Pairing, left: Tokens, right: Tokens) -> None:
    # Quarters: sums of them are exact.
    losses = [np.arange(len(t.sizes), dtype=np.float64) / 4 + 0.25 for t in (left, right)]
    found = differences(pairing, *losses)
    assert np.nansum(found.left) + found.left_outside == losses[0].sum()
    assert np.nansum(found.right) + found.right_outside == losses[1].sum()


@given(pairs_of_cuts())
def test_ranges_hold_every_byte_once_and_every_loss(pair: tuple[Tokens, Tokens]) -> None:
    pairing = pair_by_bytes(*pair)
    assert_covers(pairing, *pair)
    assert_keeps_losses(pairing, *pair)
    for place in np.flatnonzero(pairing.is_paired):
        a, b = pairing.left_start[place], pairing.right_start[place]
        n, m = pairing.left_bytes[place], pairing.right_bytes[place]
        assert pair[0].text[a : a + n] == pair[1].text[b : b + m]


@given(st.binary(max_size=20).flatmap(lambda text: st.tuples(cuts(text), cuts(text))))
def test_same_text_is_split_at_every_common_boundary(pair: tuple[Tokens, Tokens]) -> None:
    pairing = pair_by_bytes(*pair)
    assert pairing.is_paired.all()
    stops = set((pairing.left_start + pairing.left_bytes).tolist())
    assert stops == (set(pair[0].ends.tolist()) & set(pair[1].ends.tolist())) - {0}


@given(pairs_of_texts())
def test_two_texts_keep_bytes_and_losses(pair: tuple[Tokens, Tokens]) -> None:
    pairing = pair_by_ids(*pair)
    assert_covers(pairing, *pair)
    assert_keeps_losses(pairing, *pair)


@given(pairs_of_texts())
def test_a_text_is_paired_with_itself_token_by_token(pair: tuple[Tokens, Tokens]) -> None:
    left = pair[0]
    pairing = pair_by_ids(left, left)
    assert pairing.is_paired.all()
    assert pairing.left_bytes.tolist() == left.sizes[left.sizes > 0].tolist()


def test_a_known_example() -> None:
    left, right = cut([b"", b"the", b" sky", b" is"]), cut([b"th", b"e sky", b" i", b"s"])
    pairing = pair_by_bytes(left, right)
    assert pairing.left_bytes.tolist() == [7, 3]
    found = differences(pairing, np.array([np.nan, 1, 2, 4.0]), np.array([0.5, 0.5, 1, 1.0]))
    assert found.left.tolist() == [3.0, 4.0]
    assert found.nats.tolist() == [2.0, 2.0]
    np.testing.assert_allclose(found.per_byte, [2 / 7, 2 / 3])
    sums = totals(pairing, found)
    assert sums.difference == pytest.approx(4 / 10 / math.log(2))
    assert (sums.left_better, sums.right_better) == (0.0, 1.0)


def test_an_unknown_loss_makes_its_range_unknown_and_no_other() -> None:
    left, right = cut([b"a", b"b", b"c"]), cut([b"ab", b"c"])
    pairing = pair_by_bytes(left, right)
    found = differences(pairing, np.array([np.nan, 1, 1.5]), np.array([1.0, 1.0]))
    assert np.isnan(found.nats).tolist() == [True, False]
    sums = totals(pairing, found)
    assert (sums.n_bytes, sums.unknown_bytes, sums.alone) == (1, 2, 0)
    assert sums.difference == pytest.approx(0.5 / math.log(2))


def test_what_one_text_has_alone_is_not_compared() -> None:
    left, right = cut([b"a", b"b", b"c"], [1, 2, 3]), cut([b"a", b"x", b"y", b"c"], [1, 8, 9, 3])
    pairing = pair_by_ids(left, right)
    assert pairing.left_bytes.tolist() == [1, 1, 0, 1]
    assert pairing.right_bytes.tolist() == [1, 0, 2, 1]
    found = differences(pairing, np.ones(3), np.array([1.0, 5.0, 5.0, 2.0]))
    assert found.nats[[0, 3]].tolist() == [0.0, -1.0]
    assert np.isnan(found.nats[[1, 2]]).all()
    assert totals(pairing, found).alone == 3
    assert totals(pairing, found).left_better == 0.5


def test_losses_must_fit_the_tokens() -> None:
    pairing = pair_by_bytes(cut([b"a"]), cut([b"a"]))
    with pytest.raises(ValueError, match="2 losses do not fit 1 tokens"):
        differences(pairing, np.zeros(2), np.zeros(1))


@given(st.lists(st.floats(-9, 9) | st.just(math.nan), max_size=20), st.integers(0, 22))
def test_the_largest_come_first(values: list[float], count: int) -> None:
    known = [i for i, value in enumerate(values) if not math.isnan(value)]
    expected = sorted(known, key=lambda i: -abs(values[i]))[:count]
    assert largest(np.array(values, dtype=np.float64), count).tolist() == expected


def test_values_go_to_the_tokens_of_their_range() -> None:
    spreaded = spread(np.array([-1, 0, 0, 1]), np.array([2.0, 3.0]))
    np.testing.assert_array_equal(spreaded, [np.nan, 2.0, 2.0, 3.0])
    assert np.isnan(spread(np.array([-1, -1]), np.zeros(0))).all()


PIECES = [b"<bos>", b" a", b"b", b"\n"]
KINDS = [TokenKind.CONTROL, TokenKind.NORMAL, TokenKind.NORMAL, TokenKind.NORMAL]


def vocabulary(pieces: list[bytes] = PIECES, *, adds_space: bool = False) -> Vocabulary:
    return Vocabulary.from_pieces(pieces, KINDS, bos=0, eos=None, adds_space=adds_space)


def test_special_tokens_bring_no_bytes_and_the_added_space_is_no_text() -> None:
    plain = tokens_of(vocabulary(), [0, 1, 2])
    assert (plain.sizes.tolist(), plain.text) == ([0, 2, 1], b" ab")
    spaced = tokens_of(vocabulary(adds_space=True), [0, 1, 2, 1])
    assert (spaced.sizes.tolist(), spaced.text) == ([0, 1, 1, 2], b"ab a")
    assert tokens_of(vocabulary(), []).text == b""


def test_the_same_vocabulary_means_the_same_bytes_of_all_ids() -> None:
    assert same_vocabulary(vocabulary(), vocabulary(adds_space=True))
    assert not same_vocabulary(vocabulary(), vocabulary([b"<bos>", b" ", b"ab", b"\n"]))


def test_agreement_counts_what_both_know() -> None:
    assert top_agreement(np.array([-1, 3, 4, 5]), np.array([-1, 3, 5, -1])) == (1, 2)


def test_long_texts_are_matched_line_by_line() -> None:
    """Beyond the bound single tokens are not looked at, equal lines still are."""
    size = math.isqrt(MOST_PAIRS) + 10
    line = np.arange(2, 12)
    left = np.concatenate((np.full(size, 100), line, [101]))
    right = np.concatenate((np.full(size, 200), line, [201]))
    stops = np.array([size, size + len(line)])
    assert matching_blocks(left, right, stops, stops) == [(size, size, len(line))]
    assert matching_blocks(left, right, stops[:1], stops[:1]) == []
