"""Clusters against the `regex` library's \\X, on the alphabets the rules here cover."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logitscope.graphemes import clusters, is_pictographic

regex = pytest.importorskip("regex", reason="comes with the extra `torch`")

ALPHABET = (
    "ae\u0301\u200d\u200c\ufe0f👩💻👍🏽🇩🇪🇫1\u20e3\r\n"
    "กำ한ᄒ\u1161\u11abÀ©❤\U000e0067\U000e007f\u00ad\u2028🏴中عא\u05b0"
)


@given(st.text(ALPHABET, max_size=12))
def test_clusters_are_those_of_uax_29(text: str) -> None:
    assert list(clusters(text)) == regex.findall(r"\X", text)


@given(st.text(max_size=20))
def test_clusters_end_to_end_are_the_text(text: str) -> None:
    assert "".join(clusters(text)) == text
    assert all(clusters(text))


@given(st.characters(exclude_categories=["Cs", "Cn"]))
def test_pictographs_are_unicodes_extended_pictographic(character: str) -> None:
    known = regex.fullmatch(r"\p{Extended_Pictographic}", character) is not None
    assert is_pictographic(character) == known
