"""Search against the plainest possible one: every token's bytes, one by one."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logitscope.vocabulary import Vocabulary
from logitscope.vocabulary_search import Match, Query, VocabularySearch, parse_hex, parse_query

ALPHABET = "aAbBkK éÉßẞñſ€中👍"
TEXTS = st.text(ALPHABET, max_size=4).map(str.encode)
PIECES = st.lists(TEXTS | st.binary(max_size=3), max_size=30)
NEEDLES = st.text(ALPHABET, min_size=1, max_size=3).map(str.encode) | st.binary(
    min_size=1, max_size=2
)
TESTS: dict[Match, Callable[[bytes, bytes], bool]] = {
    Match.CONTAINS: lambda token, piece: piece in token,
    Match.PREFIX: bytes.startswith,
    Match.EXACT: bytes.__eq__,
}


def searcher(pieces: list[bytes]) -> VocabularySearch:
    return VocabularySearch(
        Vocabulary.from_pieces(pieces, np.zeros(len(pieces)), bos=None, eos=None)
    )


@given(PIECES, NEEDLES, st.sampled_from(Match))
def test_bytes_are_found_in_every_token_that_has_them(
    pieces: list[bytes], piece: bytes, match: Match
) -> None:
    expected = [i for i, token in enumerate(pieces) if TESTS[match](token, piece)]
    assert searcher(pieces).find(Query(piece, match=match)).tolist() == expected


@given(PIECES, st.text("abkAB k", min_size=1, max_size=3), st.sampled_from(Match))
def test_ascii_letters_match_in_both_cases(pieces: list[bytes], text: str, match: Match) -> None:
    piece = text.encode()
    expected = [i for i, token in enumerate(pieces) if TESTS[match](token.lower(), piece.lower())]
    query = Query(piece, match=match, ignores_case=True)
    assert searcher(pieces).find(query).tolist() == expected


@pytest.mark.parametrize(
    ("written", "found"),
    [("é", {"É", "é", "café", "CAFÉ"}), ("café", {"café", "CAFÉ"}), ("ß", {"ß"}), ("中", {"中"})],
)
def test_other_letters_match_their_upper_and_lower_form(written: str, found: set[str]) -> None:
    tokens = ["É", "é", "café", "CAFÉ", "cafe", "ß", "SS", "中", "e"]
    ids = searcher([t.encode() for t in tokens]).find(parse_query(written, ignores_case=True))
    assert {tokens[i] for i in ids} == found


def test_a_place_across_two_tokens_is_none_and_hides_none() -> None:
    search = searcher([b"\xc3", b"\xa9\xc3", "éé".encode(), b"x"])
    assert search.find(parse_query("é", ignores_case=True)).tolist() == [2]
    assert search.find(parse_query("éé")).tolist() == [2]


@pytest.mark.parametrize("match", [Match.PREFIX, Match.EXACT])
def test_prefix_and_whole_token_with_letters_outside_ascii(match: Match) -> None:
    tokens = ["Éa", "éa", "xéa", "ÉA", "éab"]
    query = parse_query("éa", match, ignores_case=True)
    expected = [0, 1, 3] if match is Match.EXACT else [0, 1, 3, 4]
    assert searcher([t.encode() for t in tokens]).find(query).tolist() == expected


@pytest.mark.parametrize(
    ("written", "query"),
    [
        ("#563", Query(token_id=563)),
        ("id 563", Query(token_id=563)),
        ("0xe28094", Query(b"\xe2\x80\x94")),
        ("E2 80 94", Query(b"\xe2\x80\x94")),
        (" the", Query(b" the")),
        ("563", Query(b"563")),
        ("e2", Query(b"e2")),
        ("be fa", Query(b"\xbe\xfa")),
        ("#", Query(b"#")),
    ],
)
def test_what_is_typed_is_read_as_id_bytes_or_text(written: str, query: Query) -> None:
    assert parse_query(written) == query


def test_hexadecimal_with_an_odd_number_of_digits_is_text() -> None:
    assert parse_hex("0xe2809") is None


def test_an_id_outside_the_vocabulary_is_not_found() -> None:
    search = searcher([b"a", b"b"])
    assert search.find(Query(token_id=1)).tolist() == [1]
    assert search.find(Query(token_id=2)).tolist() == []


def test_nothing_matches_an_empty_text_and_limits_keep_the_lowest_ids() -> None:
    search = searcher([b"a"] * 10)
    assert search.find(Query(b"")).tolist() == []
    assert search.find(Query(b"a"), limit=3).tolist() == [0, 1, 2]


@pytest.fixture(scope="module")
def words() -> list[str]:
    """262,144 random words."""
    text = "".join(np.random.default_rng(0).choice(list("etaoinshrdlu éÉ中"), 262_144 * 8))
    return [text[i : i + 8] for i in range(0, len(text), 8)]


@pytest.fixture(scope="module")
def large(words: list[str]) -> VocabularySearch:
    return searcher([word.encode() for word in words])


@pytest.mark.parametrize("written", ["e", "the", "zzzz", "é"])
@pytest.mark.parametrize("match", list(Match))
def test_a_large_vocabulary_is_searched_within_fifty_milliseconds(
    large: VocabularySearch, words: list[str], written: str, match: Match
) -> None:
    query = parse_query(written, match, ignores_case=True)
    durations = []
    for _ in range(5):
        start = time.perf_counter()
        found = large.find(query)
        durations.append(time.perf_counter() - start)
    assert min(durations) < 0.05
    is_match = TESTS[match]
    expected = [i for i, w in enumerate(words) if is_match(w.lower().encode(), written.encode())]
    assert found.tolist() == expected[:1000]
