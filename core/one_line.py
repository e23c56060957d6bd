"""Sentences with names of files in them, which may hold anything but a slash and a zero byte."""

from __future__ import annotations

_ENDS = frozenset("\x7f\x85\u2028\u2029")
"""Besides the control characters below the space, what ends a line or erases."""


def in_one_line(sentence: str) -> str:
    """With control characters written out, such as ``\\n``."""
    return "".join(repr(c)[1:-1] if c < " " or c in _ENDS else c for c in sentence)
