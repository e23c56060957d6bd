"""Bytes, characters and paragraphs of a text that is given as ids."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from logitscope.vocabulary import TokenKind, Vocabulary

_LINE_FEED = 0x0A


class TextUnits:
    """How many bytes, characters and line feeds each id of a vocabulary brings.

    A character is counted at its first byte, so that one that several tokens share counts once.
    Special tokens bring none. Takes 12 bytes an id.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        blob = np.frombuffer(vocabulary.blob, dtype=np.uint8)
        is_text = ~np.isin(vocabulary.kinds, (TokenKind.CONTROL, TokenKind.UNUSED))
        offsets = vocabulary.offsets
        # In UTF-8, bytes 10xxxxxx go on with a character; all others begin one.
        self._bytes = np.where(is_text, np.diff(offsets), 0).astype(np.int32)
        self._characters = _within(blob & 0xC0 != 0x80, offsets) * is_text
        self._line_feeds = _within(blob == _LINE_FEED, offsets) * is_text
        self._all_feeds = (self._line_feeds == self._bytes) & (self._bytes > 0)

    def count(self, ids: NDArray[np.integer]) -> tuple[int, int]:
        """Bytes and characters of a text."""
        return int(self._bytes[ids].sum(dtype=np.int64)), int(
            self._characters[ids].sum(dtype=np.int64)
        )

    def paragraph_starts(self, ids: NDArray[np.integer]) -> NDArray[np.int64]:
        """Positions of the first tokens behind blank lines; behind line ends where none is blank.

        A blank line is two line feeds in one token or in neighbouring ones.
        """
        if len(ids) == 0:
            return np.zeros(0, dtype=np.int64)
        feeds = self._line_feeds[ids]
        pair = (feeds[:-1] > 0) & self._all_feeds[ids][1:]
        blank = feeds > 1
        blank[1:] |= pair
        ends = blank if blank.any() else feeds > 0
        # The first token behind a run of such ends.
        behind = np.flatnonzero(ends[:-1] & ~self._all_feeds[ids][1:]) + 1
        return behind.astype(np.int64)


def _within(flags: NDArray[np.bool_], offsets: NDArray[np.int64]) -> NDArray[np.int32]:
    """How many flags are set within each token's bytes."""
    sums = np.zeros(len(flags) + 1, dtype=np.int32)
    np.cumsum(flags, out=sums[1:])
    counts: NDArray[np.int32] = np.diff(sums[offsets])
    return counts
