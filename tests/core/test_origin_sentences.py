"""Source spans: sentences of a text, and characters found as tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from origin_model import BOS, WrittenModel

from logitscope.origin_sentences import (
    against_bos,
    case_of,
    paragraphs,
    sentence_spans,
    sentences,
    token_ranges,
)
from logitscope.vocabulary import Vocabulary


def cut(text: str) -> list[str]:
    return [text[a:b] for a, b in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One. ", "Two! ", "Three?"]),
        ("It costs 3.5 euros. Fine.", ["It costs 3.5 euros. ", "Fine."]),
        ("Dr. Smith, e.g. Anna, left.", ["Dr. Smith, e.g. Anna, left."]),
        ("He said “No.” Then left.", ["He said “No.” ", "Then left."]),
        ("wait... what? yes", ["wait... what? yes"]),
        ("- one\n- two\n\nThree", ["- one\n", "- two\n\n", "Three"]),
        ("東京は高い。空は青い！はい", ["東京は高い。", "空は青い！", "はい"]),
        ("Title without end", ["Title without end"]),
        (" \n One. Two", [" \n One. ", "Two"]),
        ("", []),
        ("  ", ["  "]),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert cut(text) == expected


@given(st.text(alphabet="aB .!?\n。é", max_size=40))
def test_sentences_hold_all_of_the_text(text: str) -> None:
    assert "".join(cut(text)) == text


def test_paragraphs_end_at_blank_lines_or_else_at_line_ends() -> None:
    text = "a\nb\n\nc"
    assert [text[a:b] for a, b in paragraphs(text)] == ["a\nb\n\n", "c"]
    text = "a\nb"
    assert [text[a:b] for a, b in paragraphs(text)] == ["a\n", "b"]


def model(*pieces: str) -> WrittenModel:
    return WrittenModel(pieces, lambda _text: {})


def test_a_token_on_the_border_goes_where_most_of_its_bytes_are() -> None:
    fake = model("One.", " Two", ". ", "abcd")
    text = "One. Two. abcd"
    ids = [BOS, *fake.tokenize(text)]
    # "One. ", "Two. ", "abcd": the space of " Two" is one of its four bytes.
    spans = [(0, 5), (5, 10), (10, 14)]
    assert token_ranges(fake.vocabulary, ids, text, spans) == ((1, 2), (2, 4), (4, 5))
    # Half of "abcd" each: the later one has it. A quarter: the earlier one.
    assert token_ranges(fake.vocabulary, ids, text, [(5, 12), (12, 14)]) == ((2, 4), (4, 5))
    assert token_ranges(fake.vocabulary, ids, text, [(5, 13), (13, 14)]) == ((2, 5), (0, 0))


def test_white_space_decides_nothing_but_for_itself() -> None:
    fake = model("One", ". ", "  ", "x")
    ids = fake.tokenize("One.   x")
    assert token_ranges(fake.vocabulary, ids, "One.   x", [(0, 4), (4, 8)]) == ((0, 2), (2, 4))


def test_characters_are_counted_and_not_bytes() -> None:
    fake = model("é", " ü", "x")
    ids = fake.tokenize("é üx")
    assert token_ranges(fake.vocabulary, ids, "é üx", [(0, 1), (1, 3), (3, 4)]) == (
        (0, 1),
        (1, 2),
        (2, 3),
    )


def test_special_tokens_written_out_and_a_space_put_in_front() -> None:
    pieces = [b"<turn>", b" a", b"b"]
    vocabulary = Vocabulary.from_pieces(pieces, [2, 0, 0], bos=None, eos=None, adds_space=True)
    assert token_ranges(vocabulary, [1, 2], "ab", [(0, 2)]) == ((0, 2),)
    assert token_ranges(vocabulary, [0, 1, 2], "<turn> ab", [(6, 9)]) == ((1, 3),)


def test_ids_of_another_text_are_refused() -> None:
    fake = model("a", "b")
    with pytest.raises(ValueError, match="does not spell"):
        token_ranges(fake.vocabulary, fake.tokenize("ab"), "ba", [])
    with pytest.raises(ValueError, match="end before"):
        token_ranges(fake.vocabulary, fake.tokenize("a"), "ab", [])


@pytest.mark.parametrize("ranges", [[(2, 1)], [(0, 2), (1, 3)], [(2, 3), (0, 1)], [(0, 9)]])
def test_ranges_that_overlap_descend_or_leave_are_refused(ranges: list[tuple[int, int]]) -> None:
    with pytest.raises(ValueError, match="overlap, descend or leave"):
        sentence_spans("abc", ranges)


def test_sentences_of_several_sources() -> None:
    text = "A. B. C. D."
    assert sentence_spans(text, [(0, 6), (9, 11)]) == ((0, 3), (3, 6), (9, 11))


def test_a_case_keeps_the_first_token_and_leaves_empty_spans_out() -> None:
    fake = model("ab", "cd")
    ids = fake.tokenize("abcd")
    case = case_of(fake.vocabulary, ids, "abcd", [(0, 2), (2, 4)], [5])
    assert (case.sources, case.answer_ids) == (((1, 2),), (5,))


def test_the_whole_prompt_against_bos() -> None:
    fake = model("One.", " Two")
    ids = [BOS, *fake.tokenize("One. Two")]
    assert against_bos(fake.vocabulary, ids, []).sources == ((1, 2), (2, 3))
    # Without BOS the first token has to stay; half a character makes one span of all.
    assert against_bos(fake.vocabulary, ids[1:], []).sources == ((1, 2),)
    half = fake.vocabulary.ids_of_bytes(b"\xe4")[0]
    assert against_bos(fake.vocabulary, [BOS, ids[1], half], []).sources == ((1, 3),)
