"""Prompts of the benchmarks. Imports nothing, as the peers' memory and start are measured."""

from __future__ import annotations

OPENING = "Once upon a time, there was a"
"""Gemma 3 270M, greedy, goes on behind it for hundreds of tokens without an end token."""

_WORDS = (
    "The river runs north past the old mill, and every {n}th boat that leaves the harbour "
    "carries salt, letters and a lamp.\n"
)
_WORDS_TOKENS = 30


def long_text(tokens: int) -> str:
    """About so many tokens of Gemma's vocabulary."""
    return "".join(_WORDS.format(n=n) for n in range(100, 100 + tokens // _WORDS_TOKENS))


def common_prefix(before: list[int], after: list[int]) -> int:
    """How many ids stay; the last one of ``after`` is always read, for its row."""
    most = min(len(before), len(after) - 1)
    return next((i for i in range(most) if before[i] != after[i]), most)
