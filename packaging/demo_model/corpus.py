"""The endless corpus: which documents come how often, and when."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from context import CONTEXT, DRILLS
from documents import Document, join
from knowledge import knowledge
from stories import story

KINDS = ("story", "knowledge", "context", "drill")
EARLY = (20.0, 22.0, 28.0, 30.0)
"""Copying is learned first, from drills: without them it had not come by 4.7 million tokens."""
LATE = (18.0, 36.0, 36.0, 10.0)
JOINED = 0.18
"""Share of documents that are several items in a row."""


def one(rng: Random, kind: str) -> Document:
    """A single item of a kind."""
    if kind == "story":
        return story(rng)
    if kind == "knowledge":
        return knowledge(rng)
    makers, weights = zip(*(CONTEXT if kind == "context" else DRILLS), strict=True)
    maker = rng.choices(makers, weights=weights)[0]
    made: Document = maker(rng)
    return made


def document(rng: Random, progress: float) -> Document:
    """One training document at ``progress`` in [0, 1] of the training."""
    late = min(1.0, max(0.0, (progress - 0.4) / 0.2))
    weights = [a + (b - a) * late for a, b in zip(EARLY, LATE, strict=True)]
    kind = rng.choices(KINDS, weights=weights)[0]
    if kind == "story" or rng.random() >= JOINED:
        return one(rng, kind)
    kinds = rng.choices(("knowledge", "context", "story"), weights=(5, 4, 1), k=rng.randrange(2, 4))
    return join([one(rng, k) for k in kinds], "\n")


def sample_text(seed: int, characters: int) -> Iterator[str]:
    """Documents for training the tokenizer, about this many characters in all."""
    rng = Random(seed)
    done = 0
    while done < characters:
        made = document(rng, rng.random()).text
        done += len(made)
        yield made
