"""From tokens to the text they spell: exact ranges, and which tokens share one character.

A token is bytes; a character may need several tokens (split UTF-8), and so may what a reader
takes for one character (an emoji joined from several). ``TokenSpans`` keeps this for a growing
text at constant cost a token: only the last two groups can still change.

Characters are counted as Python does, each byte that is no UTF-8 as one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from logitscope.display import decoded
from logitscope.graphemes import clusters, is_seen_as_one

MAX_GROUP = 64
"""Tokens in a group: a text made to chain them without end is cut here."""
_TAIL_BYTES = 128
"""Enough for the longest joined emoji in use (35 bytes) and heaps of combining marks."""


@dataclass(frozen=True, slots=True)
class Group:
    """Neighbouring tokens that share characters; mostly a single one.

    Byte offsets count from the start of the text; special tokens take no room in it.
    """

    start: int
    stop: int
    """Tokens ``start <= i < stop``."""
    byte_start: int
    byte_stop: int
    is_special: bool = False


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a group that belongs to the same tokens.

    ``stop - start > 1``: one character, shared by these tokens. Otherwise a run of one token.
    """

    start: int
    stop: int
    piece: bytes


@dataclass(frozen=True, slots=True)
class TokenRange:
    """Where one token lies in the text: the bytes it brings and the characters they touch."""

    byte_start: int
    byte_stop: int
    char_start: int
    char_stop: int


class TokenSpans:
    """Groups of a text that grows at its end and can be cut back."""

    def __init__(self, joins_graphemes: bool = True) -> None:
        self._joins_graphemes = joins_graphemes
        self._pieces: list[bytes] = []
        self._special: list[bool] = []
        self._byte_starts: list[int] = [0]
        self._group_starts: list[int] = []
        self._char_starts: list[int] = []
        """Characters of the text before each group."""
        self._tail = b""
        """The end of the last group."""
        self._begins_open = False
        """The first character of the last group is not complete yet."""

    def __len__(self) -> int:
        return len(self._pieces)

    def append(self, piece: bytes, is_special: bool = False) -> int:
        """Add a token; returns the index of the first group that changed.

        The bytes of a special token are its name: they add nothing to the text and end a group.
        """
        if is_special or not self._goes_on_with(piece):
            self._start_group(piece, is_special)
        self._pieces.append(piece)
        self._special.append(is_special)
        self._byte_starts.append(self._byte_starts[-1] + (0 if is_special else len(piece)))
        self._tail = b"" if is_special else (self._tail + piece)[-_TAIL_BYTES:]
        if self._begins_open and not is_open(self._tail):
            self._begins_open = False
            self._join_previous()
        return len(self._group_starts) - 1

    def truncate(self, count: int) -> int:
        """Keep the first ``count`` tokens; returns the index of the first group that changed."""
        if count >= len(self):
            return len(self._group_starts)
        index = self.group_of(count)
        start = self._group_starts[index]
        again = list(zip(self._pieces[start:count], self._special[start:count], strict=True))
        del self._pieces[start:], self._special[start:], self._byte_starts[start + 1 :]
        del self._group_starts[index:], self._char_starts[index:]
        self._look_back()
        for piece, is_special in again:
            self.append(piece, is_special)
        return index

    # -- reading ----------------------------------------------------------------------------

    @property
    def group_count(self) -> int:
        return len(self._group_starts)

    @property
    def group_starts(self) -> Sequence[int]:
        """First token of each group."""
        return self._group_starts

    def group_of(self, token: int) -> int:
        """Index of the group that holds a token. Raises IndexError outside the text."""
        if not 0 <= token < len(self):
            raise IndexError(f"token {token} is outside the {len(self)} of this text")
        return bisect_right(self._group_starts, token) - 1

    def group(self, index: int) -> Group:
        """One group by its index."""
        start = self._group_starts[index]
        is_last = index + 1 == len(self._group_starts)
        stop = len(self) if is_last else self._group_starts[index + 1]
        starts = self._byte_starts
        return Group(start, stop, starts[start], starts[stop], self._special[start])

    def groups(self) -> list[Group]:
        """All groups in order: together they hold every token once."""
        return [self.group(index) for index in range(len(self._group_starts))]

    def segments(self, index: int) -> tuple[Segment, ...]:
        """The stretches of one group, in order; their bytes end to end are the group's."""
        group = self.group(index)
        return split_group(self._pieces[group.start : group.stop], group.start)

    def range_of(self, token: int) -> TokenRange:
        """Where a token lies; an empty range for a special token."""
        index = self.group_of(token)
        group = self.group(index)
        low, high = self._byte_starts[token], self._byte_starts[token + 1]
        base = self._char_starts[index]
        if group.is_special:
            return TokenRange(low, high, base, base)
        starts = character_starts(b"".join(self._pieces[group.start : group.stop]))
        first = base + bisect_right(starts, low - group.byte_start) - 1
        if low == high:
            return TokenRange(low, high, max(base, first), max(base, first))
        return TokenRange(
            low, high, first, base + bisect_right(starts, high - 1 - group.byte_start)
        )

    # -- growing ----------------------------------------------------------------------------

    def _goes_on_with(self, piece: bytes) -> bool:
        if not self._group_starts or self._special[-1]:
            return False
        if len(self) - self._group_starts[-1] >= MAX_GROUP:
            return False
        if self._tail[-1:] < b"\x80" and piece[:1] < b"\xcc":
            return False
        open_bytes = unfinished_end(self._tail)
        if open_bytes:
            return not piece or is_open(open_bytes + piece[:1]) or is_text(open_bytes + piece[:1])
        return self._joins_graphemes and shares_cluster(self._tail, piece)

    def _start_group(self, piece: bytes, is_special: bool) -> None:
        chars = 0
        if self._group_starts:
            start = self._group_starts[-1]
            text = b"" if self._special[start] else b"".join(self._pieces[start:])
            added = len(text) if text.isascii() else len(character_starts(text))
            chars = self._char_starts[-1] + added
        self._group_starts.append(len(self))
        self._char_starts.append(chars)
        self._tail = b""
        self._begins_open = self._joins_graphemes and not is_special and is_open(piece)

    def _look_back(self) -> None:
        """Know again how the last group ends."""
        self._tail, self._begins_open = b"", False
        if self._group_starts and not self._special[-1]:
            group = b"".join(self._pieces[self._group_starts[-1] :])
            self._tail = group[-_TAIL_BYTES:]
            self._begins_open = self._joins_graphemes and is_open(group)

    def _join_previous(self) -> None:
        """The first character is known now: it may belong to the character before the group."""
        if len(self._group_starts) < 2:
            return
        start, own_start = self._group_starts[-2:]
        if self._special[start] or len(self) - start > MAX_GROUP:
            return
        before = b"".join(self._pieces[start:own_start])[-_TAIL_BYTES:]
        if shares_cluster(before, self._tail):
            del self._group_starts[-1], self._char_starts[-1]
            self._tail = (before + self._tail)[-_TAIL_BYTES:]


def split_group(pieces: Sequence[bytes], first: int = 0) -> tuple[Segment, ...]:
    """Split the tokens of a group, of which the first has index ``first``, into segments."""
    if len(pieces) == 1:
        return (Segment(first, first + 1, pieces[0]),)
    stops = list(accumulate(len(piece) for piece in pieces))
    found: list[Segment] = []
    at, behind = 0, first
    for unit in _units(b"".join(pieces)):
        start = first + bisect_right(stops, at)
        at += len(unit)
        stop = first + bisect_right(stops, at - 1) + 1
        last = found[-1] if found else None
        if last is not None and stop - start == 1 and (last.start, last.stop) == (start, stop):
            found[-1] = Segment(start, stop, last.piece + unit)
        else:
            found.extend(Segment(i, i + 1, b"") for i in range(behind, start))
            found.append(Segment(start, stop, unit))
        behind = stop
    found.extend(Segment(i, i + 1, b"") for i in range(behind, first + len(pieces)))
    return tuple(found)


def _units(text: bytes) -> Iterator[bytes]:
    """Visible characters, and single bytes where there is no text."""
    for run in decoded(text):
        if isinstance(run, str):
            yield from (cluster.encode() for cluster in clusters(run))
        else:
            yield from (run[i : i + 1] for i in range(len(run)))


def character_starts(text: bytes) -> list[int]:
    """Byte offset of every character; a byte that is no UTF-8 counts as a character."""
    if text.isascii():
        return list(range(len(text)))
    sizes = [
        size
        for run in decoded(text)
        for size in ((len(c.encode()) for c in run) if isinstance(run, str) else (1 for _ in run))
    ]
    return [0, *accumulate(sizes)][:-1]


def shares_cluster(before: bytes, piece: bytes) -> bool:
    """Whether ``piece`` begins with what a reader takes for a part of the last character before.

    False where one of the two ends is not complete UTF-8.
    """
    if not before or not piece or piece[0] < 0xCC:
        return False
    length = 2 if piece[0] < 0xE0 else 3 if piece[0] < 0xF0 else 4
    *_, ending = decoded(before)
    if isinstance(ending, bytes) or not is_text(piece[:length]):
        return False
    *_, cluster = clusters(ending)
    return is_seen_as_one(cluster, piece[:length].decode())


def unfinished_end(text: bytes) -> bytes:
    """The bytes at the end that begin a UTF-8 sequence which is not complete; mostly none."""
    for length in range(1, min(3, len(text)) + 1):
        end = text[-length:]
        if not 0x80 <= end[0] < 0xC0:
            return end if is_open(end) else b""
    return b""


def is_open(piece: bytes) -> bool:
    """Whether these bytes are the beginning of one UTF-8 sequence and not all of it."""
    if piece[:1] < b"\x80":
        return False
    try:
        piece.decode()
    except UnicodeDecodeError as error:
        return error.start == 0 and error.reason == "unexpected end of data"
    return False


def is_text(piece: bytes) -> bool:
    """Whether these bytes are valid UTF-8."""
    try:
        piece.decode()
    except UnicodeDecodeError:
        return False
    return True
