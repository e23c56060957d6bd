"""Units of an answer: what a reader calls words, from tokens that a model made."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from origin_model import BOS, WrittenModel

from logitscope.origin_words import word_key, words
from logitscope.vocabulary import Vocabulary

PIECES = (
    " ", " The", " un", "like", "ly", " don", "'", "'t", "t", "3", "0", "1", ".", ",", " 45",
    " days", "days", "\n", "\n\n", "  ", "東京", "タワ", "ー", "は", "高い", "。", "ภาษา", "ไทย",
    " C", "-", "…", "巴黎", "是", " été",
)  # fmt: skip


def model() -> WrittenModel:
    return WrittenModel(PIECES, lambda _text: {})


def texts(*pieces: str | bytes) -> list[str]:
    """The units of tokens given by their bytes; ``""`` stands for BOS."""
    vocabulary = model().vocabulary
    ids = []
    for piece in pieces:
        data = piece.encode() if isinstance(piece, str) else piece
        ids.append(max(vocabulary.ids_of_bytes(data)) if data else BOS)
    found = words(vocabulary, ids)
    assert [unit.start for unit in found] == [0, *(unit.stop for unit in found)][:-1]
    assert (found[-1].stop if found else 0) == len(ids)
    return [unit.text for unit in found]


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([" un", "like", "ly", " days"], [" unlikely", " days"]),
        ([" ", "3", "0", " days", "."], [" 30", " days", "."]),
        ([" The", " ", "days"], [" The", " days"]),
        ([" don", "'", "t"], [" don't"]),
        ([" don", "'t", " days"], [" don't", " days"]),
        ([" ", "3", ".", "1", "0"], [" 3.10"]),
        (["3", ".", "\n", "1"], ["3", ".", "\n", "1"]),
        (["1", ",", "0", "0", "0", ","], ["1,000", ","]),
        ([" C", "-", "3", "0"], [" C", "-", "30"]),
        ([" ", ".", " days"], [" ", ".", " days"]),
        (["days", "\n\n", "days"], ["days", "\n\n", "days"]),
        (["days", "  ", "days"], ["days", "  ", "days"]),
        ([".", ".", "…"], [".", ".", "…"]),
        (["", " The", "", "days"], ["<bos>", " The", "<bos>", "days"]),
        # Scripts without spaces: by class, and where tokens end; katakana is one word.
        (["東京", "タワ", "ー", "は", "高い", "。"], ["東京", "タワー", "は", "高い", "。"]),
        (["巴黎", "是", "東京"], ["巴黎", "是", "東京"]),
        (["ภาษา", "ไทย"], ["ภาษา", "ไทย"]),
        (["days", "東京"], ["days", "東京"]),
        ([" ", "東京"], [" 東京"]),
    ],
)
def test_words(pieces: list[str], expected: list[str]) -> None:
    assert texts(*pieces) == expected


def test_split_characters_are_never_cut() -> None:
    smile = "🙂".encode()
    assert texts(" days", smile[:1], smile[1:2], smile[2:3], smile[3:]) == [" days", "🙂"]
    han = "東".encode()
    assert texts(han[:1], han[1:2], han[2:], "京".encode()[:1]) == ["東", "�"]
    thai = [bytes([b]) for b in "ที่".encode()]
    assert texts(*thai) == ["ที่"]


def test_combining_marks_stay_with_their_letter() -> None:
    accent = [bytes([b]) for b in "e\u0301".encode()]
    assert texts(" days", *accent) == [" dayse\u0301"]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (" Days", "days"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        (" 45", "45"),
        (" don't", "don't"),
        ("...", ""),
        ("\n", ""),
        ("“Rome”", "rome"),
        ("e\u0301t\u00e9", "\u00e9t\u00e9"),
    ],
)
def test_keys(text: str, key: str) -> None:
    assert word_key(text) == key


@given(st.text(max_size=30))
def test_units_hold_every_token_once_and_spell_the_text(text: str) -> None:
    text = text.encode(errors="replace").decode()
    fake = model()
    ids = fake.tokenize(text)
    found = words(fake.vocabulary, ids)
    assert [i for unit in found for i in range(unit.start, unit.stop)] == list(range(len(ids)))
    assert "".join(unit.text for unit in found) == text


def test_an_empty_text_has_no_words() -> None:
    assert words(Vocabulary.from_pieces([b"a"], [0], bos=None, eos=None), []) == ()
