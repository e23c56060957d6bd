"""Unrelated neutral text that takes the place of sources, token for token.

Removing a document also changes how the rest is written; a filler of exactly as many tokens does
not, so it is the better control (docs/origin.md). There are two, so that one unlucky word in one of
them decides nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from itertools import cycle, islice

from logitscope.origin_types import Condition, OriginCase, OriginModel
from logitscope.origin_words import UNSPACED, character_class, word_key, words

_LEAST_SENTENCES = 3
"""Fewer, repeated, read like a stutter, and a model begins to copy it."""

_TEXTS = {
    Condition.FILL_A: (
        "Soft wool was sorted by hand before anyone thought of spinning it.",
        "Each basket stood beside its own bench, and nobody hurried.",
        "Old looms creak when damp air settles over them.",
        "Some weavers hum quietly while their shuttles fly past.",
        "Thick yarn makes warm blankets; thin yarn makes light scarves.",
        "They rinse every skein twice, then hang it up to dry.",
        "Careful hands can mend almost any torn edge.",
        "Dyes fade slowly if cloth hangs far from bright windows.",
        "Patterns repeat themselves, row after row, until somebody changes them.",
        "A loose thread is tied off with a small, flat knot.",
        "Folded cloth smells faintly of soap, cedar wood, or dust.",
        "Good scissors stay sharp when they cut nothing but fabric.",
        "Finished pieces go onto wide shelves near that side door.",
        "Beginners often pull too hard, so their borders curl inward.",
        "With patience, rough fibre turns smooth between two fingers.",
        "Later on, someone sweeps up scraps and stuffs cushions with them.",
    ),
    Condition.FILL_B: (
        "Low hedges run along a narrow lane that few people use.",
        "Fallen leaves gather where wind cannot reach them.",
        "After rain, snails cross wet stones without any haste.",
        "Moss covers most of an old wall, mainly on its shaded side.",
        "Beetles hide under loose bark and come out at dusk.",
        "Every spring, nettles return to this same damp corner.",
        "Birds drop seeds everywhere; only some of those seeds sprout.",
        "Tall grass bends, sways, then straightens again.",
        "A wooden gate hangs crooked but still swings freely.",
        "Puddles shrink slowly during calm, cloudy afternoons.",
        "Brambles spread wherever nobody cuts them back.",
        "Footprints dry out and crumble before evening.",
        "Spiders stretch fine webs between thin, bare twigs.",
        "Pebbles lie scattered along both edges of that path.",
        "Sometimes mist drifts over these fields and then lifts.",
        "Quiet places like this one rarely change much.",
    ),
}


def filled(model: OriginModel, case: OriginCase, condition: Condition) -> tuple[int, ...]:
    """The prompt with every source replaced by as many tokens of a filler."""
    size = sum(stop - start for start, stop in case.sources)
    avoided = {unit.key for unit in words(model.vocabulary, case.answer_ids)} - {""}
    filler = iter(filler_ids(model, condition, size, avoided))
    ids = list(case.prompt_ids)
    for start, stop in case.sources:
        ids[start:stop] = islice(filler, stop - start)
    return tuple(ids)


def filler_ids(
    model: OriginModel, condition: Condition, size: int, avoided: Collection[str] = ()
) -> tuple[int, ...]:
    """``size`` tokens of a filler, from its beginning again where it is too short.

    No sentence with an avoided word (by its ``Unit.key``) is used. Where that leaves fewer than
    three, the word that most of them hold, such as "the", is allowed, and so on: of a word that
    almost any text holds there is no text without.
    """
    if size == 0:
        return ()
    ids = [i for text in _sentences_without(condition, avoided) for i in model.tokenize(text)]
    if not ids:
        raise ValueError("the model's tokenizer makes no token of the filler text")
    return tuple(islice(cycle(ids), size))


def _sentences_without(condition: Condition, avoided: Collection[str]) -> Iterator[str]:
    keys = {text: _avoidable(text, avoided) for text in _TEXTS[condition]}
    held = Counter(key for found in keys.values() for key in found)
    allowed: set[str] = set()
    common = iter(sorted(held, key=lambda key: (-held[key], key)))
    while sum(found <= allowed for found in keys.values()) < _LEAST_SENTENCES:
        allowed.add(next(common))
    return (f" {text}" for text, found in keys.items() if found <= allowed)


def _avoidable(text: str, avoided: Collection[str]) -> set[str]:
    """Which of these words a text holds; within other words only in scripts without spaces."""
    own = {word_key(word) for word in text.split()}
    return {key for key in avoided if key in own or (_is_unspaced(key) and key in text)}


def _is_unspaced(key: str) -> bool:
    return character_class(key[0]) in UNSPACED
