"""The swap test: another word in the sources, and what the model says then."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from logitscope.origin import chosen_words, replaced
from logitscope.origin_places import Place, places_of, words_key
from logitscope.origin_types import (
    Label,
    OriginCase,
    OriginModel,
    OriginReport,
    Swap,
    WordOrigin,
)
from logitscope.origin_words import CharacterClass, character_class, word_key, words
from logitscope.vocabulary import Vocabulary

SWAPS = 2
_MOST_LIKELY = 0.2
"""A likelier word is nearly as good as the original and would prove nothing."""
_TOP = 500
_TRIED = 12
"""Beginnings that are written out to a word, at most."""
_LONGEST = 8
"""Tokens of a word that is written greedily, at most."""


def swap(model: OriginModel, report: OriginReport, word: int) -> OriginReport:
    """Replace what a word came from, and add what the model says instead.

    A word that occurs in the sources is replaced there, wherever it does, by two words of the same
    shape from the model's own predictions at its first place; a swap is followed where the answer
    becomes the other word, and a weights-word that follows any becomes BOTH. For a derived word the
    strongest word of its sources is replaced; a swap is followed where the answer changes. A word
    with neither, or without an alternative, stays as it is. Raises IndexError for another word.
    """
    (index,) = chosen_words(report, [word])
    origin = report.words[index]
    occurring = origin.label is not Label.DERIVED
    places = _places(model.vocabulary, report.case, origin, occurring)
    made = tuple(_swaps(model, report.case, origin, places, occurring)) if places else ()
    label = origin.label
    if label is Label.WEIGHTS and any(each.follows for each in made):
        label = Label.BOTH
    return replaced(report, index, replace(origin, swaps=made, label=label))


def shape_of(text: str) -> tuple[object, ...]:
    """What two words must share to stand for each other: the space in front, and for numbers the
    figures and signs, for words the script and the capitals."""
    bare = text.strip()
    space = text[:1].isspace()
    if any(map(str.isdigit, bare)):
        return space, "".join("0" if char.isdigit() else char for char in bare)
    first = character_class(bare[0]) if bare else CharacterClass.SPACE
    capitals = "upper" if len(bare) > 1 and bare.isupper() else "title"
    return space, first, bare.isalpha(), capitals if bare[:1].isupper() else "lower"


def _places(
    vocabulary: Vocabulary, case: OriginCase, origin: WordOrigin, occurring: bool
) -> tuple[Place, ...]:
    if occurring:
        return places_of(vocabulary, case, origin.text)
    top = max(
        (each for each in origin.sources or () if each.word is not None),
        key=lambda each: each.evidence,
        default=None,
    )
    if top is None or top.word is None:
        return ()
    text = _text(vocabulary, case.prompt_ids[slice(*top.word)])
    return places_of(vocabulary, case, text) or (Place(top.span, top.word, text),)


def _swaps(
    model: OriginModel,
    case: OriginCase,
    origin: WordOrigin,
    places: Sequence[Place],
    occurring: bool,
) -> Iterator[Swap]:
    copied = [place for place in places if place.tokens == origin.copied_from]
    first = (copied or list(places))[0]
    for count, ids in enumerate(_alternatives(model, case, first)):
        text = _text(model.vocabulary, ids)
        prompt = _swapped(model, case, places, ids)
        said = _next_word(model, (*prompt, *case.answer_ids[: origin.tokens[0]]))
        key = word_key(said)
        follows = key == word_key(text) if occurring else key != words_key(origin.text)
        yield Swap(first.tokens, first.text, text, said, follows)
        if count + 1 == SWAPS:
            return


def _alternatives(model: OriginModel, case: OriginCase, place: Place) -> Iterator[tuple[int, ...]]:
    """Words of the place's shape that are neither in the prompt nor in the answer."""
    original = case.prompt_ids[slice(*place.tokens)]
    # A lone space in front of a number stays.
    lead = original[:1] if _text(model.vocabulary, original[:1]) == " " else ()
    before = (*case.prompt_ids[: place.tokens[0]], *lead)
    everything = (*case.prompt_ids, *case.answer_ids)
    used = {unit.key for unit in words(model.vocabulary, everything)}
    ids, logs = model.next_numbers(before, _TOP)
    tried = 0
    for token_id, log in zip(ids.tolist(), logs.tolist(), strict=True):
        if tried == _TRIED:
            return
        if math.exp(log) >= _MOST_LIKELY or not _may_begin(model.vocabulary, lead, token_id, place):
            continue
        tried += 1
        found = (*lead, *_written_out(model, before, token_id, place.text))
        text = _text(model.vocabulary, found)
        if _is_word(model.vocabulary, found, place.text) and word_key(text) not in used:
            used.add(word_key(text))
            yield found


def _may_begin(vocabulary: Vocabulary, lead: tuple[int, ...], token_id: int, place: Place) -> bool:
    """Whether a token may be the beginning of a word like the one at the place."""
    if token_id < 0 or vocabulary.is_special(token_id):
        return False
    text = _text(vocabulary, (*lead, token_id))
    bare, like = text.strip(), place.text.strip()
    if not bare or not like or text[:1].isspace() != place.text[:1].isspace():
        return False
    if like[0].isdigit():
        return bare.isdigit() and len(bare) <= len(like)
    same_class = character_class(bare[0]) is character_class(like[0])
    return same_class and bare[0].isupper() == like[0].isupper() and not bare[0].isdigit()


def _written_out(
    model: OriginModel, before: Sequence[int], token_id: int, like: str
) -> tuple[int, ...]:
    """The likeliest word that begins with a token; of a number, as many figures as ``like`` has."""
    made = [token_id]
    bare = like.strip()
    while len(made) < _LONGEST:
        text = _text(model.vocabulary, made).strip()
        wanted = bare[len(text) : len(text) + 1] if bare[0].isdigit() else ""
        if bare[0].isdigit() and not wanted:
            break
        ids, _ = model.next_numbers([*before, *made], _TOP)
        found = _going_on(model.vocabulary, made, ids.tolist(), wanted)
        if found is None:
            break
        made.append(found)
    return tuple(made)


def _going_on(
    vocabulary: Vocabulary, made: Sequence[int], ids: Sequence[int], wanted: str
) -> int | None:
    """The token that continues the word: for numbers the likeliest figure (or the very sign that
    the original has), otherwise the likeliest of all, if it is of the word."""
    for token_id in ids:
        if token_id < 0 or vocabulary.is_special(token_id):
            continue
        text = _text(vocabulary, [token_id])
        if wanted:
            if text == wanted or (wanted.isdigit() and len(text) == 1 and text.isdigit()):
                return token_id
            continue
        return token_id if len(words(vocabulary, [*made, token_id])) == 1 else None
    return None


def _is_word(vocabulary: Vocabulary, ids: Sequence[int], like: str) -> bool:
    text = _text(vocabulary, ids)
    return len(words(vocabulary, ids)) == 1 and shape_of(text) == shape_of(like)


def _swapped(
    model: OriginModel, case: OriginCase, places: Sequence[Place], ids: tuple[int, ...]
) -> tuple[int, ...]:
    """The prompt with the alternative at every place; tokenized where the original is spelled in
    another way (without a space, or with a capital)."""
    text = _text(model.vocabulary, ids)
    made = list(case.prompt_ids)
    for place in reversed(places):
        same = shape_of(place.text) == shape_of(text)
        made[slice(*place.tokens)] = (
            ids if same else model.tokenize(_spelled_like(text, place.text))
        )
    return tuple(made)


def _spelled_like(text: str, like: str) -> str:
    bare, lead = text.strip(), like[: len(like) - len(like.lstrip())]
    if like.strip()[:1].isupper():
        bare = bare[:1].upper() + bare[1:]
    elif like.strip().islower():
        bare = bare.lower()
    return lead + bare


def _next_word(model: OriginModel, ids: Sequence[int]) -> str:
    """What the model writes greedily behind ids, up to the end of the first word."""
    made: list[int] = []
    while len(made) < _LONGEST:
        found, _ = model.next_numbers([*ids, *made], 1)
        made.append(int(found[0]))
        units = words(model.vocabulary, made)
        if len(units) > 1:
            return units[0].text
    return "".join(unit.text for unit in words(model.vocabulary, made))


def _text(vocabulary: Vocabulary, ids: Sequence[int]) -> str:
    return vocabulary.text_bytes(ids).decode(errors="replace")
