"""Sentences with names of files in them, which may hold anything but a slash and a zero byte."""

from __future__ import annotations

_CONTROL = frozenset(map(chr, (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)))
"""What ends a line, erases or, as U+009B, begins a command to the terminal."""


def in_one_line(sentence: str) -> str:
    """With control characters written out, such as ``\\n``."""
    return "".join(repr(c)[1:-1] if c in _CONTROL else c for c in sentence)
