"""Cutting bytes into known pieces: the longest that fits, from the left."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_SURROGATE = re.compile("[\ud800-\udfff]")


def utf8(text: str) -> bytes:
    """The bytes of a text; lone surrogates, which UTF-8 cannot hold, count as U+FFFD."""
    return _SURROGATE.sub("\ufffd", text).encode()


class PieceMatcher:
    """Greedy longest match over ``ids``, from the bytes of a piece to its id."""

    def __init__(self, ids: Mapping[bytes, int]) -> None:
        self._ids = ids
        self._longest = max(map(len, ids), default=0)

    def match(self, data: bytes) -> Iterator[int]:
        """Ids of pieces that join to ``data``. Raises ValueError where none fits."""
        place = 0
        while place < len(data):
            for length in range(min(self._longest, len(data) - place), 0, -1):
                token_id = self._ids.get(data[place : place + length])
                if token_id is not None:
                    break
            else:
                raise ValueError(f"no piece fits at byte {place}")
            yield token_id
            place += length
