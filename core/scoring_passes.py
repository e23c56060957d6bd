"""What a model reads to score several texts, one after the other, each in windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from logitscope.surprisal import windows
from logitscope.window_ids import window_ids


@dataclass(frozen=True, slots=True)
class ScoringPass:
    """One pass over ``ids`` that scores ``ids[start:]``."""

    ids: tuple[int, ...]
    start: int
    position: int
    """Where ``ids[start]`` stands among the tokens of all texts, end to end."""


def scoring_passes(
    texts: Sequence[Sequence[int]], window: int, stride: int | None, bos: int | None
) -> Iterator[ScoringPass]:
    """Passes that score every token of every text once, but the first of each: it has no loss.

    See ``surprisal.windows`` for ``window`` and ``stride`` and what they raise, and
    ``window_ids`` for ``bos``.
    """
    offset = 0
    for ids in texts:
        for part in windows(len(ids), window, stride):
            first = max(part.score_from, 1)
            if first < part.end:
                read = window_ids(ids, part.begin, part.end, bos)
                yield ScoringPass(read, first - part.begin, offset + first)
        offset += len(ids)
