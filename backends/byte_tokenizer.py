"""A tokenizer of pieces, single bytes and marks: every text has ids, and comes back from them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from logitscope.piece_match import PieceMatcher, utf8
from logitscope.vocabulary import Vocabulary


class ByteTokenizer:
    """Greedy longest match from the left over UTF-8 bytes.

    The vocabulary holds every single byte; of two ids with the same bytes the later one is taken.
    ``marks`` are the names of ids 0, 1, … that a text may be asked to be read for.
    """

    def __init__(self, vocabulary: Vocabulary, marks: Sequence[str]) -> None:
        self._bos = vocabulary.bos
        text_ids = (i for i in range(len(vocabulary)) if not vocabulary.is_special(i))
        self._matcher = PieceMatcher({vocabulary.bytes_of(i): i for i in text_ids})
        self._marks = {mark: index for index, mark in enumerate(marks)}
        self._split = re.compile("(" + "|".join(map(re.escape, marks)) + ")")

    def tokenize(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        """Ids of a text; lone surrogates count as U+FFFD."""
        ids = [self._bos] if add_special and self._bos is not None else []
        for part in self._split.split(text) if parse_special else [text]:
            if parse_special and part in self._marks:
                ids.append(self._marks[part])
            else:
                ids.extend(self._matcher.match(utf8(part)))
        return ids
