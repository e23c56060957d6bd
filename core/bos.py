"""Whether a prompt begins with BOS as its model was trained to see it."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from logitscope.vocabulary import Vocabulary


class BosTrouble(Enum):
    """What is wrong with the beginning of a prompt."""

    DOUBLED = "doubled"
    MISSING = "missing"


def bos_trouble(prompt_ids: Sequence[int], vocabulary: Vocabulary) -> BosTrouble | None:
    """None where all is well, or where there is no prompt yet."""
    bos = vocabulary.bos
    if bos is None or not prompt_ids:
        return None
    if tuple(prompt_ids[:2]) == (bos, bos):
        return BosTrouble.DOUBLED
    if vocabulary.adds_bos and prompt_ids[0] != bos:
        return BosTrouble.MISSING
    return None
