"""Spans against Python's own decoder: whatever the cut into tokens, the text is the same."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logitscope.spans import MAX_GROUP, Segment, TokenSpans, split_group

TEXT = st.text("ab é中👍👩\u200d💻🏽🇩🇪\u0301\ufe0f\u20e31\n\ud7a3", max_size=12).map(str.encode)
DATA = TEXT | st.binary(max_size=12) | st.tuples(TEXT, st.binary(max_size=3)).map(b"".join)


@st.composite
def tokens(draw: st.DrawFn) -> list[bytes]:
    """A text cut at random places, empty tokens included."""
    data = draw(DATA)
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=8)))
    return [data[a:b] for a, b in pairwise([0, *cuts, len(data)])]


def spans_of(pieces: list[bytes], *, graphemes: bool = True) -> TokenSpans:
    spans = TokenSpans(joins_graphemes=graphemes)
    for piece in pieces:
        spans.append(piece)
    return spans


@given(tokens(), st.booleans())
def test_groups_hold_every_token_once_and_every_byte(pieces: list[bytes], graphemes: bool) -> None:
    spans = spans_of(pieces, graphemes=graphemes)
    groups = spans.groups()
    assert [i for g in groups for i in range(g.start, g.stop)] == list(range(len(pieces)))
    data = b"".join(pieces)
    assert b"".join(data[g.byte_start : g.byte_stop] for g in groups) == data
    for g in groups:
        assert data[g.byte_start : g.byte_stop] == b"".join(pieces[g.start : g.stop])


@given(tokens(), st.booleans())
def test_no_character_is_cut_by_a_group(pieces: list[bytes], graphemes: bool) -> None:
    groups = spans_of(pieces, graphemes=graphemes).groups()
    data = b"".join(pieces)
    for errors in ("replace", "backslashreplace"):
        shown = "".join(data[g.byte_start : g.byte_stop].decode(errors=errors) for g in groups)
        assert shown == data.decode(errors=errors)


@given(tokens())
def test_tokens_that_need_no_other_stand_alone(pieces: list[bytes]) -> None:
    for group in spans_of(pieces, graphemes=False).groups():
        for index in range(group.start, group.stop - 1):
            before = b"".join(pieces[group.start : index + 1])
            with pytest.raises(UnicodeDecodeError):
                before.decode()


@given(tokens())
def test_segments_of_a_group_are_its_bytes_and_its_tokens(pieces: list[bytes]) -> None:
    spans = spans_of(pieces)
    for index, group in enumerate(spans.groups()):
        segments = spans.segments(index)
        assert b"".join(s.piece for s in segments) == b"".join(pieces[group.start : group.stop])
        covered = {i for s in segments for i in range(s.start, s.stop)}
        assert covered == set(range(group.start, group.stop))
        assert all(one.start <= other.start for one, other in pairwise(segments))


@given(tokens())
def test_ranges_point_at_the_characters_that_a_token_touches(pieces: list[bytes]) -> None:
    spans = spans_of(pieces)
    data = b"".join(pieces)
    text = data.decode(errors="surrogateescape")
    ends = [0]
    for character in text:
        ends.append(ends[-1] + len(character.encode(errors="surrogateescape")))
    at = 0
    for index, piece in enumerate(pieces):
        place = spans.range_of(index)
        assert (place.byte_start, place.byte_stop) == (at, at + len(piece))
        touched = [
            i
            for i in range(len(text))
            if ends[i] < place.byte_stop and ends[i + 1] > place.byte_start
        ]
        if piece:
            assert list(range(place.char_start, place.char_stop)) == touched
        else:
            assert place.char_start == place.char_stop
        at += len(piece)


@given(tokens(), st.integers(0, 9), tokens())
def test_cutting_back_and_growing_is_as_growing_at_once(
    pieces: list[bytes], keep: int, more: list[bytes]
) -> None:
    spans = spans_of(pieces)
    spans.truncate(keep)
    for piece in more:
        spans.append(piece)
    fresh = spans_of(pieces[:keep] + more)
    assert spans.groups() == fresh.groups()
    assert [spans.range_of(i) for i in range(len(spans))] == [
        fresh.range_of(i) for i in range(len(fresh))
    ]


@given(tokens(), st.booleans())
def test_appending_tells_the_first_group_that_changed(pieces: list[bytes], graphemes: bool) -> None:
    spans = TokenSpans(joins_graphemes=graphemes)
    for piece in pieces:
        before = spans.groups()
        changed = spans.append(piece)
        assert spans.groups()[:changed] == before[:changed]
        assert changed >= spans.group_count - 2


@pytest.mark.parametrize(
    ("pieces", "groups"),
    [
        ([b"\xe2", b"\x82", b"\xac"], [(0, 3)]),
        ([b"a\xe2", b"\x82\xac b", b"c"], [(0, 2), (2, 3)]),
        ([b"\xe2\x82", b"a"], [(0, 1), (1, 2)]),
        ([b"\xe2", b"", b"\x82\xac"], [(0, 3)]),
        (["👩".encode(), "\u200d".encode(), "💻".encode(), b"!"], [(0, 3), (3, 4)]),
        (["👍".encode(), b"\xf0\x9f", b"\x8f\xbd", b" "], [(0, 3), (3, 4)]),
        (["🇩".encode(), "🇪".encode(), "🇫".encode(), "🇷".encode()], [(0, 2), (2, 4)]),
        ([b"e", "\u0301".encode()], [(0, 2)]),
        ([b"a", "\u200d".encode(), b"b"], [(0, 1), (1, 2), (2, 3)]),
        ([b"\r", b"\n"], [(0, 1), (1, 2)]),
        ([b"1", "\ufe0f".encode(), "\u20e3".encode()], [(0, 3)]),
    ],
)
def test_known_cuts(pieces: list[bytes], groups: list[tuple[int, int]]) -> None:
    assert [(g.start, g.stop) for g in spans_of(pieces).groups()] == groups


def test_a_character_shared_by_tokens_is_set_apart_from_what_one_token_has_alone() -> None:
    assert split_group([b"a \xe2", b"\x82", b"\xac b"], 5) == (
        Segment(5, 6, b"a "),
        Segment(5, 8, b"\xe2\x82\xac"),
        Segment(7, 8, b" b"),
    )


def test_a_token_without_bytes_among_broken_ones_has_a_segment_of_its_own() -> None:
    assert split_group([b"\xe0", b"", b"\xa0"]) == (
        Segment(0, 1, b"\xe0"),
        Segment(1, 2, b""),
        Segment(2, 3, b"\xa0"),
    )


def test_a_special_token_ends_a_group_and_takes_no_room() -> None:
    spans = TokenSpans()
    spans.append(b"\xe2")
    spans.append(b"<eos>", is_special=True)
    spans.append(b"\x82\xac")
    assert [(g.start, g.stop, g.is_special) for g in spans.groups()] == [
        (0, 1, False),
        (1, 2, True),
        (2, 3, False),
    ]
    assert spans.range_of(1).byte_start == spans.range_of(1).byte_stop == 1
    assert spans.range_of(2).byte_start == 1
    assert spans.range_of(2).char_start == 1


def test_a_chain_without_end_is_cut() -> None:
    spans = TokenSpans()
    spans.append(b"\xe2")
    for _ in range(3 * MAX_GROUP):
        spans.append(b"\x82\xac\xe2")
    assert max(g.stop - g.start for g in spans.groups()) == MAX_GROUP
    assert sum(g.stop - g.start for g in spans.groups()) == len(spans)


def test_long_texts_in_single_bytes_decode_to_themselves() -> None:
    generator = random.Random(7)
    text = "".join(generator.choice("ab é中👍ع\n") for _ in range(5000))
    spans = spans_of([bytes([value]) for value in text.encode()])
    data = text.encode()
    groups = spans.groups()
    assert "".join(data[g.byte_start : g.byte_stop].decode() for g in groups) == text
    assert spans.range_of(len(spans) - 1).char_stop == len(text)


def test_tokens_outside_the_text_have_no_place() -> None:
    with pytest.raises(IndexError):
        spans_of([b"a"]).range_of(1)
