"""How bytes are shown: compared with the bytes themselves and with Unicode's own names."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from logitscope.display import (
    Part,
    PartKind,
    character_name,
    decoded,
    hex_of,
    label_of_bytes,
    parts_of,
    token_label,
    token_parts,
)
from logitscope.vocabulary import TokenKind, Vocabulary

HARD = (
    "a é\t\n\r\u00a0\u200b\u200d\u200e\u202e\ufe0f\ufeff\u0000\u007f\u0085\u0301"
    "👩💻🏽🇩🇪中ع\ufffd\U000e0067"
)
PIECES = st.text(HARD, max_size=8).map(str.encode) | st.binary(max_size=8)


def written(parts: tuple[Part, ...]) -> bytes:
    """The bytes that a list of parts stands for."""
    return b"".join(
        bytes.fromhex(part.mark.strip("‹›"))
        if part.kind is PartKind.BYTES
        else part.source.encode()
        for part in parts
    )


@given(PIECES)
@example(b"\xed\xa0\x80")
@example(b"\xf0\x9f\x91")
@example(b"\xe2\x80 \x94\xff")
def test_parts_say_exactly_which_bytes_they_stand_for(piece: bytes) -> None:
    assert written(parts_of(piece)) == piece


@given(PIECES)
def test_runs_are_what_python_decodes(piece: bytes) -> None:
    runs = list(decoded(piece))
    text = "".join(
        run if isinstance(run, str) else run.decode(errors="surrogateescape") for run in runs
    )
    assert text == piece.decode(errors="surrogateescape")
    assert all(type(one) is not type(other) for one, other in pairwise(runs))


@given(PIECES)
def test_a_replacement_character_is_shown_only_where_the_bytes_have_one(piece: bytes) -> None:
    assert label_of_bytes(piece).count("\ufffd") == piece.count(b"\xef\xbf\xbd")


@given(PIECES)
def test_every_mark_is_visible(piece: bytes) -> None:
    for part in parts_of(piece):
        assert part.mark
        if part.kind is not PartKind.TEXT:
            assert part.mark.isprintable()
            assert not part.mark.isspace()


@given(st.text(HARD, min_size=1, max_size=8))
def test_without_marks_whitespace_is_as_it_is_and_controls_stay_marked(text: str) -> None:
    for part in parts_of(text.encode()):
        if part.kind is PartKind.SPACE or part.kind is PartKind.INVISIBLE:
            assert part.shown(marks=False) == part.source
        if part.kind is PartKind.CONTROL:
            assert part.shown(marks=False) == part.mark


@pytest.mark.parametrize(
    ("text", "label"),
    [
        (" the", "·the"),
        ("a\tb", "a→b"),
        ("\r\n\n", "␍⏎⏎"),
        ("\u00a0", "⍽"),
        ("\u3000", "‹IDSP›"),
        ("a\u200db", "a‹ZWJ›b"),
        ("\u202eabc", "‹RLO›abc"),
        ("\u0000\u001b\u007f", "␀␛␡"),
        ("\u0085", "‹NEL›"),
        ("a\ufe0f", "a‹VS16›"),
        ("\ufeff", "‹BOM›"),
        ("\ufdd0", "‹U+FDD0›"),
        ("\u0301", "\u25cc\u0301"),
        ("e\u0301", "e\u0301"),
        ("नमस्ते", "नमस्ते"),
        ("مرحبا", "مرحبا"),
    ],
)
def test_what_cannot_be_seen_gets_a_mark(text: str, label: str) -> None:
    assert label_of_bytes(text.encode()) == label


@pytest.mark.parametrize(
    "picture",
    [
        "👩\u200d💻",
        "❤\ufe0f\u200d🔥",
        "👍🏽",
        "1\ufe0f\u20e3",
        "🇩🇪",
        "🏴\U000e0067\U000e0062\U000e007f",
        "葛\U000e0100",
    ],
)
def test_emoji_and_variants_keep_the_joiners_that_make_them(picture: str) -> None:
    assert parts_of(picture.encode()) == (Part(PartKind.TEXT, picture, picture),)


def test_bytes_that_are_no_text_are_written_in_hexadecimal() -> None:
    assert label_of_bytes(b"\xe2\x80") == "‹E2 80›"
    assert label_of_bytes(b" a\xff") == "·a‹FF›"
    assert hex_of("—".encode()) == "E2 80 94"


def test_special_tokens_are_shown_by_their_name() -> None:
    kinds = [
        TokenKind.CONTROL,
        TokenKind.NORMAL,
        TokenKind.UNUSED,
        TokenKind.NORMAL,
        TokenKind.BYTE,
    ]
    pieces = [b"<bos>", b"<bos>", b"", b"", b"\xe4"]
    vocabulary = Vocabulary.from_pieces(pieces, np.array(kinds), bos=0, eos=None)
    assert token_parts(vocabulary, 0) == (Part(PartKind.NAME, "<bos>"),)
    assert token_parts(vocabulary, 1) == (Part(PartKind.TEXT, "<bos>", "<bos>"),)
    assert [token_label(vocabulary, i) for i in range(5)] == [
        "<bos>", "<bos>", "<id 2>", "‹empty›", "‹E4›",
    ]  # fmt: skip


@given(st.characters(exclude_categories=["Cs"]))
def test_names_are_unicodes_own(character: str) -> None:
    name = character_name(character)
    assert name.startswith(f"U+{ord(character):04X}")
    official = unicodedata.name(character, "")
    if official:
        assert name.endswith(official)


def test_control_characters_have_names_too() -> None:
    assert character_name("\u200d") == "U+200D ZERO WIDTH JOINER"
    assert character_name("\x00") == "U+0000 NULL"
    assert character_name("\x7f") == "U+007F DELETE"
    assert character_name("\x1b") == "U+001B ESCAPE"
    assert character_name("\x85") == "U+0085 CONTROL NEL"
