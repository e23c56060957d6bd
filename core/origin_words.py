"""The units of the origin analysis: words, put together from the tokens that spell them.

A unit is whole tokens, since probabilities belong to tokens:

- Letters, digits and combining marks that follow each other without a space are one word; a token
  that is one space joins the word or the number behind it (``" "``, ``"3"``, ``"0"`` is one unit).
- An apostrophe between letters, and a point or comma between digits, belong to the word.
- Scripts without spaces (Han, hiragana, Thai, Lao, Khmer, Myanmar, Tibetan) are divided by
  character class, and within a class where the model's tokens end; a run of katakana is one word.
- Any other punctuation, symbol or white space is a unit of its own, token by token.
- A special token is a unit of its own.
- Tokens that share a character (split UTF-8, joined emoji) are never divided.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from logitscope.spans import TokenSpans
from logitscope.vocabulary import Vocabulary


class CharacterClass(Enum):
    """What decides whether two neighbouring characters are of one word."""

    SPACE = "space"
    SPACED = "spaced"
    """A letter, digit or mark of a script that puts spaces between words."""
    HAN = "han"
    HIRAGANA = "hiragana"
    KATAKANA = "katakana"
    SOUTHEAST = "southeast"
    """Thai, Lao, Khmer, Myanmar, Tibetan."""
    OTHER = "other"
    """Punctuation and symbols."""


_RANGES = (
    (0x0E00, 0x0FFF, CharacterClass.SOUTHEAST),
    (0x1000, 0x109F, CharacterClass.SOUTHEAST),
    (0x1780, 0x17FF, CharacterClass.SOUTHEAST),
    (0x3041, 0x309F, CharacterClass.HIRAGANA),
    (0x30A1, 0x30FF, CharacterClass.KATAKANA),
    (0x31F0, 0x31FF, CharacterClass.KATAKANA),
    (0xFF66, 0xFF9D, CharacterClass.KATAKANA),
    (0x3005, 0x3007, CharacterClass.HAN),
    (0x3400, 0x9FFF, CharacterClass.HAN),
    (0xF900, 0xFAFF, CharacterClass.HAN),
    (0x20000, 0x3FFFF, CharacterClass.HAN),
)
_RUNS = {CharacterClass.SPACED, CharacterClass.KATAKANA}
"""Classes whose words go on over the end of a token."""
UNSPACED = frozenset(CharacterClass) - {
    CharacterClass.SPACE,
    CharacterClass.SPACED,
    CharacterClass.OTHER,
}
"""Classes of scripts without spaces."""
_BETWEEN_LETTERS = {"'", "’"}
_BETWEEN_DIGITS = {".", ",", "٫", "٬"}


@dataclass(frozen=True, slots=True)
class Unit:
    """A word, or one token that is none."""

    start: int
    stop: int
    """Tokens ``start <= i < stop``."""
    text: str
    """With the space in front; bytes that are no UTF-8 as U+FFFD; the name of a special token."""
    is_special: bool = False

    @property
    def key(self) -> str:
        """The word as it is compared: casefolded, without what is neither letter nor digit around
        it; empty where it holds none."""
        return "" if self.is_special else word_key(self.text)


def words(vocabulary: Vocabulary, ids: Sequence[int]) -> tuple[Unit, ...]:
    """The units of a text given as ids, in order; together they hold every token once."""
    joined: list[Unit] = []
    for atom in _atoms(vocabulary, ids):
        if joined and _goes_on(joined[-1], atom):
            joined[-1] = _join(joined[-1], atom)
        else:
            joined.append(atom)
    return tuple(_bridged(joined))


def word_key(text: str) -> str:
    """Casefolded, without punctuation and white space around it."""
    folded = unicodedata.normalize("NFC", text).casefold()
    inner = [i for i, char in enumerate(folded) if is_word_character(char)]
    return folded[inner[0] : inner[-1] + 1] if inner else ""


def character_class(char: str) -> CharacterClass:
    """The class of one character."""
    if char.isspace():
        return CharacterClass.SPACE
    if unicodedata.category(char)[0] not in "LNM":
        return CharacterClass.OTHER
    code = ord(char)
    for first, last, found in _RANGES:
        if first <= code <= last:
            return found
    return CharacterClass.SPACED


def is_word_character(char: str) -> bool:
    """Whether a character is a letter, a digit or a mark, of any script."""
    return unicodedata.category(char)[0] in "LNM"


def _atoms(vocabulary: Vocabulary, ids: Sequence[int]) -> Iterator[Unit]:
    """Tokens, or the few that share a character."""
    spans = TokenSpans()
    pieces = [vocabulary.bytes_of(i) for i in ids]
    for token_id, piece in zip(ids, pieces, strict=True):
        spans.append(piece, vocabulary.is_special(token_id))
    for group in spans.groups():
        text = b"".join(pieces[group.start : group.stop]).decode(errors="replace")
        yield Unit(group.start, group.stop, text, group.is_special)


def _goes_on(unit: Unit, atom: Unit) -> bool:
    if unit.is_special or atom.is_special:
        return False
    if not unit.text or not atom.text:
        return True
    behind = character_class(atom.text[0])
    if unit.text == " ":
        return behind not in {CharacterClass.SPACE, CharacterClass.OTHER}
    return behind in _RUNS and character_class(unit.text[-1]) is behind


def _bridged(units: list[Unit]) -> Iterator[Unit]:
    """Units with ``don't`` and ``3.5`` put together again."""
    kept: list[Unit] = []
    for unit in units:
        if len(kept) > 1 and _bridges(kept[-2], kept[-1], unit):
            kept[-2:] = [_join(_join(kept[-2], kept[-1]), unit)]
        elif kept and _is_ending(kept[-1], unit):
            kept[-1] = _join(kept[-1], unit)
        else:
            kept.append(unit)
    yield from kept


def _is_ending(before: Unit, unit: Unit) -> bool:
    """Whether this is one token such as ``'t`` behind a word."""
    if before.is_special or unit.is_special or not before.text:
        return False
    text = unit.text
    return text[:1] in _BETWEEN_LETTERS and before.text[-1].isalpha() and text[1:].isalpha()


def _bridges(before: Unit, bridge: Unit, behind: Unit) -> bool:
    if before.is_special or bridge.is_special or behind.is_special:
        return False
    if not before.text or not behind.text:
        return False
    left, right = before.text[-1], behind.text[0]
    if bridge.text in _BETWEEN_DIGITS:
        return left.isdigit() and right.isdigit()
    return bridge.text in _BETWEEN_LETTERS and left.isalpha() and right.isalpha()


def _join(unit: Unit, atom: Unit) -> Unit:
    return Unit(unit.start, atom.stop, unit.text + atom.text, unit.is_special)
