"""Prov-120: the cases as prompts, and on which of them the gold label holds for a model."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from logitscope.origin_sentences import sentence_spans, token_ranges
from logitscope.origin_types import OriginCase, OriginModel, Range
from logitscope.vocabulary import Vocabulary

FILE = Path(__file__).parents[1] / "benchmarks" / "prov120.json"
GOLD = {
    "copied": "copied",
    "against": "copied",
    "derived": "derived",
    "weights": "weights",
    "chance": "weights",
    "both": "both",
    "twice": "copied",
}
"""Kind of case -> label."""
HALF = math.log(2)
_NEEDED = 2
"""Swaps that have to behave."""


@dataclass(frozen=True)
class Prov:
    """One case."""

    record: dict[str, Any]

    @property
    def kind(self) -> str:
        return str(self.record["kind"])

    @property
    def gold(self) -> str:
        return GOLD[self.kind]

    @property
    def answer(self) -> str:
        return str(self.record["answer"])

    def sentences(self, word: str | None = None) -> list[str]:
        """Of the document, with the source word or another one."""
        filled = self.record["source_word"] if word is None else word
        return [sentence.replace("{}", filled) for sentence in self.record["sentences"]]

    def document(self, word: str | None = None) -> str:
        return " ".join(self.sentences(word))

    def without_key(self) -> str:
        """The document less the sentences that decide."""
        keys = set(self.record["key"])
        return " ".join(s for i, s in enumerate(self.sentences()) if i not in keys)

    def swapped(self) -> list[tuple[str, str]]:
        """(document, answer that is right with it) for every swap that a person has chosen."""
        made = []
        for swap in self.record["swaps"]:
            if "sentence" in swap:
                changed = list(self.sentences())
                changed[self.record["key"][0]] = swap["sentence"]
                made.append((" ".join(changed), self.answer))
            else:
                made.append((self.document(swap["word"]), swap["answer"]))
        return made

    def place(self, document: str) -> list[Range]:
        """Characters of the source word in the sentences that decide."""
        word, found, at = self.record["source_word"], [], 0
        for index, sentence in enumerate(self.sentences()):
            if word and index in self.record["key"]:
                start = at + self.record["sentences"][index].index("{}")
                found.append((start, start + len(word)))
            at += len(sentence) + 1
        assert all(document[a:b] == word for a, b in found)
        return found


def read_cases() -> list[Prov]:
    """All cases, the kinds taking turns, so that a part of them holds all kinds."""
    records = json.loads(FILE.read_text(encoding="utf-8"))["cases"]
    order = sorted(range(len(records)), key=lambda i: (int(records[i]["id"][-2:]), i))
    return [Prov(records[i]) for i in order]


@dataclass(frozen=True)
class Prompt:
    """A case for one model."""

    case: OriginCase
    key_spans: tuple[int, ...]
    word_tokens: tuple[Range, ...]
    """Where the source word stands."""


class Maker:
    """Prompts on the ids of one model."""

    def __init__(self, model: OriginModel) -> None:
        self._model = model
        bos = model.vocabulary.bos
        self._front = [bos] if bos is not None else model.tokenize("\n")

    @property
    def vocabulary(self) -> Vocabulary:
        return self._model.vocabulary

    def ids(self, document: str, frame: str) -> tuple[int, ...]:
        return (*self._front, *self._model.tokenize(document + frame))

    def prompt(self, case: Prov) -> Prompt:
        document = case.document()
        ids = self.ids(document, case.record["frame"])
        text = document + case.record["frame"]
        behind = ids[len(self._front) :]

        def tokens(ranges: Sequence[Range]) -> tuple[Range, ...]:
            found = token_ranges(self.vocabulary, behind, text, ranges)
            return tuple((a + len(self._front), b + len(self._front)) for a, b in found)

        spans = sentence_spans(text, [(0, len(document))])
        places = case.place(document)
        inside = [i for i, (a, b) in enumerate(spans) if any(a <= start < b for start, _ in places)]
        answer = tuple(self._model.tokenize(case.answer))
        return Prompt(OriginCase(ids, tokens(spans), answer), tuple(inside), tokens(places))


def is_kept(model: OriginModel, maker: Maker, case: Prov) -> bool:
    """Whether the model treats the case as its label says: interventions that a person has chosen.

    copied, derived: in at least two swapped documents the answer that is right there is likelier
    than the first one, and less likely than it in the first document; copied against the weights:
    without the deciding sentence the answer of the weights is likelier, too. Weights: in at least
    two changed documents the probability stays within a factor of two (and, by chance, above that
    of the swapped-in word). Both: swaps are followed, and without the deciding sentence at least
    half of the probability stays.
    """
    frame = case.record["frame"]
    documents = [case.document(), case.without_key(), *(d for d, _ in case.swapped())]
    contexts = [maker.ids(document, frame) for document in documents]
    own = _logs(model, contexts, case.answer)
    swaps = list(zip(contexts[2:], own[2:], (a for _, a in case.swapped()), strict=True))
    if case.gold == "weights":
        good = sum(
            abs(own[0] - log) < HALF
            and (answer == case.answer or log > _logs(model, [context], answer)[0])
            for context, log, answer in swaps
        )
        return good >= _NEEDED
    followed = 0
    for context, log, answer in swaps:
        at_first, at_swapped = _logs(model, [contexts[0], context], answer)
        followed += at_swapped > log and own[0] > at_first
    if followed < _NEEDED:
        return False
    if case.gold == "both":
        return own[1] > own[0] - HALF
    known = case.record.get("without")
    return known is None or _logs(model, [contexts[1]], known)[0] > own[1]


def _logs(model: OriginModel, contexts: Sequence[Sequence[int]], answer: str) -> list[float]:
    scored = model.score_variants(contexts, model.tokenize(answer))
    return [float(numbers.log_probability.sum()) for numbers in scored]
