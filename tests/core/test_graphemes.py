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


@given(st.sampled_from([chr(code) for code in range(0x2000, 0x1FB00)]))
def test_emoji_are_pictographs_and_letters_are_none(character: str) -> None:
    # Modifiers and the letters of flags are emoji that join by rules of their own.
    is_own_kind = regex.fullmatch(r"[\p{Emoji_Modifier}\p{Regional_Indicator}]", character)
    if regex.fullmatch(r"\p{Emoji_Presentation}", character) and not is_own_kind:
        assert is_pictographic(character)
    if regex.fullmatch(r"[\p{L}\p{M}\p{N}--\p{Emoji}]", character, regex.V1):
        assert not is_pictographic(character)
