"""Marking sources: spans against plain string surgery, and where they lie among tokens."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logitscope import sources
from logitscope.blocks import edited, shifted, with_text
from logitscope.document import Block, Document, State
from logitscope.placed_spans import place_spans
from logitscope.session_file import SavedSession, SessionFileError, dumps, loads
from logitscope.sources import Place
from logitscope.vocabulary import TokenKind, Vocabulary

TEXT = "One. Two is here.\n\nThree? Four."
ONE, TWO, THREE, FOUR = (0, 5), (5, 19), (19, 26), (26, 31)


def texts(blocks: tuple[Block, ...], index: int = 0) -> list[str]:
    block = blocks[index]
    return [block.text[start:stop] for start, stop in sources.spans_of(block)]


# -- ranges under edits -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "ranges", "kept"),
    [
        ("abcdef", "XXabcdef", ((2, 4),), ["cd"]),
        ("abcdef", "abXcdef", ((2, 4),), ["cd"]),
        ("abcdef", "abcXdef", ((2, 4),), ["cXd"]),
        ("abcdef", "abcdXef", ((2, 4),), ["cd"]),
        ("abcdef", "abcdefX", ((2, 4),), ["cd"]),
        ("abcdef", "adef", ((2, 4),), ["d"]),
        ("abcdef", "abcf", ((2, 4),), ["c"]),
        ("abcdef", "abef", ((2, 4),), []),
        ("abcdef", "f", ((2, 4),), []),
        ("abcdef", "abcXdef", ((1, 3), (3, 5)), ["bcX", "de"]),
        ("abcdef", "", ((0, 6),), []),
    ],
)
def test_ranges_stay_on_what_they_were_on(
    old: str, new: str, ranges: tuple[tuple[int, int], ...], kept: list[str]
) -> None:
    found = with_text(Block(old, sources=ranges), new)
    assert [new[start:stop] for start, stop in found.sources] == kept


@st.composite
def cut_texts(draw: st.DrawFn) -> tuple[str, tuple[tuple[int, int], ...]]:
    text = draw(st.text("abc", max_size=12))
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=6)))
    return text, tuple(pair for pair in pairwise(cuts) if draw(st.booleans()))


@given(cut_texts(), st.text("abc", max_size=12))
def test_ranges_stay_disjoint_ascending_and_inside(
    cut: tuple[str, tuple[tuple[int, int], ...]], new: str
) -> None:
    (block,) = edited((Block(cut[0], sources=cut[1]),), new)
    ends = [0, *(end for pair in block.sources for end in pair), len(new)]
    assert ends == sorted(ends)
    assert all(start < stop for start, stop in block.sources)


@given(cut_texts(), st.data())
def test_untouched_characters_stay_inside_or_outside(
    cut: tuple[str, tuple[tuple[int, int], ...]], data: st.DataObject
) -> None:
    text, ranges = cut
    start = data.draw(st.integers(0, len(text)))
    stop = data.draw(st.integers(start, len(text)))
    added = data.draw(st.integers(0, 3))
    moved = shifted(ranges, start, stop, start + added)

    def inside(of: tuple[tuple[int, int], ...], index: int) -> bool:
        return any(first <= index < last for first, last in of)

    for index in (*range(start), *range(stop, len(text))):
        now = index if index < start else index + added - (stop - start)
        assert inside(ranges, index) == inside(moved, now)


# -- marking ------------------------------------------------------------------------------------


def test_a_marked_range_is_split_into_its_sentences() -> None:
    blocks = sources.mark((Block(TEXT),), Place(0, 0, 19))
    assert texts(blocks) == ["One. ", "Two is here.\n\n"]
    blocks = sources.mark(blocks, Place(0, 26, 31))
    assert blocks[0].sources == (ONE, TWO, FOUR)
    assert sources.mark(blocks, Place(0, 0, 19)) == blocks


def test_marking_over_a_border_cuts_what_was_there() -> None:
    blocks = sources.mark((Block(TEXT),), Place(0, 0, 19))
    assert texts(sources.mark(blocks, Place(0, 2, 8))) == ["On", "e. ", "Two", " is here.\n\n"]


def test_unmarking_a_range_and_at_a_cursor() -> None:
    blocks = sources.mark((Block(TEXT),), Place(0, 0, 31))
    assert sources.unmark(blocks, Place(0, 5, 26))[0].sources == (ONE, FOUR)
    assert sources.unmark(blocks, Place(0, 7, 7))[0].sources == (ONE, THREE, FOUR)
    assert sources.unmark(blocks, Place(0, 31, 31))[0].sources == (ONE, TWO, THREE)
    assert sources.unmark(blocks, Place(0, 7, 9))[0].sources == (
        ONE, (5, 7), (9, 19), THREE, FOUR,
    )  # fmt: skip


def test_spans_are_split_and_joined_at_the_cursor() -> None:
    blocks = sources.mark((Block(TEXT),), Place(0, 0, 19))
    cut = sources.split(blocks, Place(0, 9, 9))
    assert texts(cut) == ["One. ", "Two ", "is here.\n\n"]
    assert sources.split(blocks, Place(0, 5, 5)) == blocks
    assert sources.merge(cut, Place(0, 6, 6))[0].sources == (ONE, TWO)
    assert texts(sources.merge(cut, Place(0, 0, 12))) == ["One. Two is here.\n\n"]
    assert sources.merge(blocks, Place(0, 18, 18)) == blocks


def test_a_block_as_a_whole_grows_with_its_text_until_its_spans_are_edited() -> None:
    blocks = sources.mark_block((Block("A. B.", "system"), Block("Q?")), 0, is_source=True)
    assert texts(blocks) == ["A. ", "B."]
    assert texts(edited(blocks, "A. B. C.Q?")) == ["A. ", "B. ", "C."]
    split = sources.unmark(blocks, Place(0, 0, 1))
    assert not split[0].is_source
    assert texts(split) == [". ", "B."]
    assert not sources.has_sources(sources.mark_block(blocks, 0, is_source=False))


@pytest.mark.parametrize(
    ("place", "paragraph", "sentence"),
    [
        ((0, 0), (0, 19), ONE),
        ((5, 5), (0, 19), TWO),
        ((3, 7), (0, 19), (0, 19)),
        ((20, 20), (19, 31), THREE),
        ((31, 31), (19, 31), FOUR),
        ((0, 31), (0, 31), (0, 31)),
    ],
)
def test_the_paragraph_and_the_sentence_at_a_place(
    place: tuple[int, int], paragraph: tuple[int, int], sentence: tuple[int, int]
) -> None:
    assert sources.paragraph_at(TEXT, *place) == paragraph
    assert sources.sentence_at(TEXT, *place) == sentence


def test_a_selection_over_blocks_is_a_place_in_each() -> None:
    blocks = (Block("ab"), Block("cde"), Block("f"))
    assert sources.places_in(blocks, 1, 4) == (Place(0, 1, 2), Place(1, 0, 2))
    assert sources.places_in(blocks, 2, 2) == (Place(0, 2, 2),)
    assert sources.places_in(blocks, 6, 6) == (Place(2, 1, 1),)


def test_a_chat_begins_with_its_system_message_as_source() -> None:
    blocks = (Block("Rules.", "system"), Block("Hello", "user"))
    assert [block.is_source for block in sources.with_defaults(blocks)] == [True, False]
    chosen = (blocks[0], replace(blocks[1], is_source=True))
    assert sources.with_defaults(chosen) == chosen


# -- document and file --------------------------------------------------------------------------


def test_marking_keeps_ids_and_continuations() -> None:
    document = Document(State(blocks=(Block(TEXT),), prompt_ids=(1, 2, 3)))
    document.set_blocks(sources.mark(document.state.blocks, Place(0, 0, 5)))
    assert document.state.prompt_ids == (1, 2, 3)


def test_sources_come_back_from_a_file() -> None:
    state = State(blocks=(Block(TEXT, sources=(ONE, FOUR)), Block("x", "system", True)))
    assert loads(dumps(SavedSession(state, None))).state.blocks == state.blocks


def test_a_file_of_before_has_no_ranges() -> None:
    whole = json.loads(dumps(SavedSession(State(blocks=(Block("a", is_source=True),)), None)))
    del whole["document"]["blocks"][0]["sources"]
    assert loads(json.dumps(whole)).state.blocks == (Block("a", is_source=True),)


@pytest.mark.parametrize("ranges", [[[0, 99]], [[3, 1]], [[0, 3], [2, 4]], [[0]], ["ab"]])
def test_ranges_that_do_not_fit_are_refused(ranges: list[object]) -> None:
    whole = json.loads(dumps(SavedSession(State(blocks=(Block(TEXT),)), None)))
    whole["document"]["blocks"][0]["sources"] = ranges
    with pytest.raises(SessionFileError, match="damaged"):
        loads(json.dumps(whole))


# -- tokens -------------------------------------------------------------------------------------

PIECES = (b"<bos>", b"<turn>", b"One", b".", b" ", b" Two", b" is", b"\xc3", b"\xa9", b"system\n",
          b"One. T", b"wo", b"</turn>")  # fmt: skip


@pytest.fixture
def vocabulary() -> Vocabulary:
    kinds = np.zeros(len(PIECES), dtype=np.uint8)
    kinds[[0, 1, 12]] = TokenKind.CONTROL
    return Vocabulary.from_pieces(list(PIECES), kinds, bos=0, eos=None)


def test_spans_become_tokens(vocabulary: Vocabulary) -> None:
    blocks = (Block("One. Two isé", sources=((0, 5), (5, 8), (8, 12))),)
    placed = place_spans(blocks, (0, 2, 3, 5, 6, 7, 8), vocabulary)
    # " Two" has three of its four bytes in the second span.
    assert [span.tokens for span in placed.spans] == [(1, 3), (3, 4), (4, 7)]
    assert placed.blocks == ((1, 7),)


def test_a_token_over_a_border_belongs_to_the_larger_part(vocabulary: Vocabulary) -> None:
    blocks = (Block("One. Two", sources=((0, 5), (5, 8))),)
    placed = place_spans(blocks, (0, 10, 11), vocabulary)
    assert [span.tokens for span in placed.spans] == [(1, 2), (2, 3)]


def test_a_template_may_write_around_the_text_and_trim_it(vocabulary: Vocabulary) -> None:
    blocks = (Block(" One.\n", "system", is_source=True), Block("Two", "user"))
    placed = place_spans(blocks, (0, 1, 9, 2, 3, 12, 1, 5, 12), vocabulary)
    assert [span.tokens for span in placed.spans] == [(3, 5)]
    assert placed.is_complete
    assert placed.blocks == ((3, 5), (7, 8))


def test_a_text_that_the_template_has_changed_is_not_found(vocabulary: Vocabulary) -> None:
    blocks = (Block("ONE.", "system", is_source=True), Block(" Two", "user"))
    placed = place_spans(blocks, (0, 2, 3, 5), vocabulary)
    assert placed.spans == ()
    assert placed.blocks == (None, (3, 4))


def test_the_first_token_stays_in_the_frame(vocabulary: Vocabulary) -> None:
    placed = place_spans((Block("One. Two", is_source=True),), (2, 3, 5), vocabulary)
    assert [span.tokens for span in placed.spans] == [(1, 2), (2, 3)]
