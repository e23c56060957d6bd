"""Finding ids in a vocabulary: by text, by bytes in hexadecimal, by number.

A search is a few passes of numpy over the bytes of all tokens end to end: at 262,144 entries
(2 to 3 MB) some milliseconds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from logitscope.vocabulary import Vocabulary

Ids = NDArray[np.int64]

DEFAULT_LIMIT = 1000
CHUNK = 16_384
"""Tokens searched at once: a search for a frequent letter ends with the first chunk."""


class Match(StrEnum):
    """Where in a token the bytes looked for must stand."""

    CONTAINS = "contains"
    PREFIX = "prefix"
    EXACT = "exact"


@dataclass(frozen=True, slots=True)
class Query:
    """What a person looks for: an id, or bytes. Exactly one of the two is given.

    ``ignores_case``: the bytes are UTF-8 text, ASCII letters match in both cases, and any other
    letter matches its own upper and lower form where that is a single character.
    """

    piece: bytes = b""
    token_id: int | None = None
    match: Match = Match.CONTAINS
    ignores_case: bool = False


_HEX_PAIRS = re.compile(r"\s*[0-9a-fA-F]{2}(\s+[0-9a-fA-F]{2})+\s*")
_HEX_NUMBER = re.compile(r"\s*0[xX]((?:\s*[0-9a-fA-F]{2})+)\s*")
_ID = re.compile(r"\s*(?:#|id\s)\s*(\d+)\s*", re.IGNORECASE)


def parse_query(
    written: str, match: Match = Match.CONTAINS, *, ignores_case: bool = False
) -> Query:
    """Read what was typed: ``#563`` or ``id 563`` is an id, ``0xe28094`` and ``E2 80 94`` are
    bytes, everything else is text (as it is, spaces included)."""
    if (number := _ID.fullmatch(written)) is not None:
        return Query(token_id=int(number[1]))
    piece = parse_hex(written)
    if piece is not None:
        return Query(piece, match=match)
    return Query(written.encode(errors="replace"), match=match, ignores_case=ignores_case)


def parse_hex(written: str) -> bytes | None:
    """Bytes written as ``0xe28094`` or as at least two pairs of digits; None for other text."""
    if (number := _HEX_NUMBER.fullmatch(written)) is not None:
        return bytes.fromhex(number[1])
    return bytes.fromhex(written) if _HEX_PAIRS.fullmatch(written) else None


class VocabularySearch:
    """Searches in one vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._offsets = vocabulary.offsets
        self._bytes = np.frombuffer(vocabulary.blob, dtype=np.uint8)

    def find(self, query: Query, limit: int = DEFAULT_LIMIT) -> Ids:
        """Ids that match, ascending, at most ``limit`` of them. Nothing matches an empty piece."""
        if query.token_id is not None:
            is_known = 0 <= query.token_id < len(self._offsets) - 1
            return np.array([query.token_id] if is_known else [], dtype=np.int64)
        if not query.piece:
            return np.empty(0, dtype=np.int64)
        forms = _forms(query.piece) if query.ignores_case else [[query.piece]]
        found: list[Ids] = []
        count = 0
        for first in range(0, len(self._offsets) - 1, CHUNK):
            ids = self._find(self._offsets[first : first + CHUNK + 1], forms, query.match)
            found.append(first + ids)
            count += len(ids)
            if count >= limit:
                break
        return np.concatenate([np.empty(0, dtype=np.int64), *found])[:limit]

    def _find(self, offsets: Ids, forms: list[list[bytes]], match: Match) -> Ids:
        """Matches among the tokens between these offsets, counted from the first of them."""
        inside = match is Match.CONTAINS
        starts = self._first(offsets, forms[0]) if inside else offsets[:-1]
        starts, stops = self._follow(starts, forms)
        owners = np.searchsorted(offsets, starts, side="right") - 1
        ends = offsets[owners + 1]
        fits = stops == ends if match is Match.EXACT else stops <= ends
        owners = owners[fits]
        is_new = np.ones(len(owners), dtype=np.bool_)
        is_new[1:] = owners[1:] != owners[:-1]
        return owners[is_new]

    def _first(self, offsets: Ids, forms: list[bytes]) -> Ids:
        """Places of the first byte of any of these forms."""
        haystack = self._bytes[offsets[0] : offsets[-1]]
        found = np.zeros(len(haystack), dtype=np.bool_)
        for value in {form[0] for form in forms}:
            found |= haystack == value
        return np.flatnonzero(found) + int(offsets[0])

    def _follow(self, starts: Ids, forms: list[list[bytes]]) -> tuple[Ids, Ids]:
        """The places at which one of each forms stands after the other, and where they end."""
        stops = starts
        for choices in forms:
            kept = [self._matching(starts, stops, form) for form in choices]
            starts = np.concatenate([one for one, _ in kept])
            stops = np.concatenate([other for _, other in kept])
        if all(len(choices) == 1 for choices in forms):
            return starts, stops
        order = np.argsort(starts, kind="stable")
        return starts[order], stops[order]

    def _matching(self, starts: Ids, stops: Ids, form: bytes) -> tuple[Ids, Ids]:
        inside = stops <= len(self._bytes) - len(form)
        starts, stops = starts[inside], stops[inside]
        for value in form:
            fits = self._bytes[stops] == value
            starts, stops = starts[fits], stops[fits] + 1
        return starts, stops


def _forms(piece: bytes) -> list[list[bytes]]:
    """For each character the bytes of its cases."""
    text = piece.decode(errors="replace")
    return [[form.encode() for form in cases_of(character)] for character in text]


def cases_of(character: str) -> list[str]:
    """The character and its upper and lower form, as far as they are single characters.

    An ASCII letter stays ASCII (``k`` does not match the Kelvin sign).
    """
    forms = {character, character.lower(), character.upper()}
    return sorted(
        form for form in forms if len(form) == 1 and (form.isascii() or not character.isascii())
    )
