"""A training document: text, and the stretches of it that carry no loss."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class Document:
    """``unscored`` are character ranges that are random by construction: no loss on them."""

    text: str
    unscored: tuple[tuple[int, int], ...] = ()


def join(documents: list[Document], separator: str) -> Document:
    """Several documents as one."""
    text = ""
    unscored: list[tuple[int, int]] = []
    for document in documents:
        if text:
            text += separator
        unscored += [(a + len(text), b + len(text)) for a, b in document.unscored]
        text += document.text
    return Document(text, tuple(unscored))


def weighted(rng: Random, choices: dict[str, float]) -> str:
    """A key, with probability in proportion to its weight."""
    return rng.choices(list(choices), weights=list(choices.values()))[0]


def is_held_out(*parts: object, share: float = 0.1) -> bool:
    """Whether a combination is kept for the evaluation and never trained on.

    A hash decides, so that the generator and the evaluation agree without a list.
    """
    digest = hashlib.sha256("|".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:4], "big") < share * 2**32
