"""Tokens of a text in units of different sizes, to sum attributions over."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from logitscope.origin_sentences import paragraphs, sentences, token_ranges
from logitscope.origin_words import words
from logitscope.vocabulary import Vocabulary

Range = tuple[int, int]


class Grain(StrEnum):
    """How large the units are."""

    TOKEN = "token"
    WORD = "word"
    SENTENCE = "sentence"
    PARAGRAPH = "paragraph"


def ranges_of(vocabulary: Vocabulary, ids: Sequence[int], grain: Grain) -> tuple[Range, ...]:
    """The units of a text given as ids, in order, without those that have no token of their own.

    A text whose bytes are no UTF-8 has no sentences and paragraphs: it is one unit then.
    """
    if grain is Grain.TOKEN:
        return tuple((i, i + 1) for i in range(len(ids)))
    if grain is Grain.WORD:
        return tuple((unit.start, unit.stop) for unit in words(vocabulary, ids))
    data = vocabulary.text_bytes(ids)
    text = data.decode(errors="replace")
    if text.encode() != data:
        return ((0, len(ids)),)
    divide = sentences if grain is Grain.SENTENCE else paragraphs
    found = token_ranges(vocabulary, ids, text, divide(text))
    return tuple(unit for unit in found if unit[0] < unit[1])
