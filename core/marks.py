"""Visible marks and names of single characters that a reader would not see."""

from __future__ import annotations

import unicodedata
from enum import Enum


class PartKind(Enum):
    """Why a stretch of a token is drawn the way it is."""

    TEXT = "text"
    SPACE = "space"
    """Whitespace that leaves a gap: space, tab, no-break and typographic spaces."""
    BREAK = "break"
    """A line feed: the line ends behind its mark."""
    INVISIBLE = "invisible"
    """Takes no room by itself: joiners, variation selectors, bidi controls."""
    CONTROL = "control"
    """A control character; its mark cannot be switched off."""
    BYTES = "bytes"
    """Bytes that are no UTF-8 text by themselves, in hexadecimal."""
    NAME = "name"
    """The name of a special token, which is not text of the document."""


# Abbreviations are those of Unicode's NameAliases.txt where it gives one.
_SPACES = {
    " ": "·",
    "\t": "→",
    "\u00a0": "⍽",
    "\u1680": "‹OGSP›",
    "\u2000": "‹NQSP›",
    "\u2001": "‹MQSP›",
    "\u2002": "‹ENSP›",
    "\u2003": "‹EMSP›",
    "\u2004": "‹3MSP›",
    "\u2005": "‹4MSP›",
    "\u2006": "‹6MSP›",
    "\u2007": "‹FSP›",
    "\u2008": "‹PSP›",
    "\u2009": "‹THSP›",
    "\u200a": "‹HSP›",
    "\u202f": "‹NNBSP›",
    "\u205f": "‹MMSP›",
    "\u3000": "‹IDSP›",
}
_INVISIBLE = {
    "\u00ad": "‹SHY›",
    "\u034f": "‹CGJ›",
    "\u061c": "‹ALM›",
    "\u115f": "‹HCF›",
    "\u1160": "‹HJF›",
    "\u17b4": "‹AQ›",
    "\u17b5": "‹AA›",
    "\u180e": "‹MVS›",
    "\u200b": "‹ZWSP›",
    "\u200c": "‹ZWNJ›",
    "\u200d": "‹ZWJ›",
    "\u200e": "‹LRM›",
    "\u200f": "‹RLM›",
    "\u2028": "‹LS›",
    "\u2029": "‹PS›",
    "\u202a": "‹LRE›",
    "\u202b": "‹RLE›",
    "\u202c": "‹PDF›",
    "\u202d": "‹LRO›",
    "\u202e": "‹RLO›",
    "\u2060": "‹WJ›",
    "\u2061": "‹FA›",
    "\u2062": "‹IT›",
    "\u2063": "‹IS›",
    "\u2064": "‹IP›",
    "\u2066": "‹LRI›",
    "\u2067": "‹RLI›",
    "\u2068": "‹FSI›",
    "\u2069": "‹PDI›",
    "\u3164": "‹HF›",
    "\ufeff": "‹BOM›",
    "\uffa0": "‹HWHF›",
}
_C1 = (
    "PAD HOP BPH NBH IND NEL SSA ESA HTS HTJ VTS PLD PLU RI SS2 SS3 "
    "DCS PU1 PU2 STS CCH MW SPA EPA SOS SGC SCI CSI ST OSC PM APC"
)
_C1_NAMES = dict(zip(map(chr, range(0x80, 0xA0)), _C1.split(" "), strict=True))

_MARKS: dict[str, tuple[PartKind, str]] = {
    **{chr(code): (PartKind.CONTROL, chr(0x2400 + code)) for code in range(0x20)},
    "\x7f": (PartKind.CONTROL, "␡"),
    **{character: (PartKind.CONTROL, f"‹{name}›") for character, name in _C1_NAMES.items()},
    **{character: (PartKind.SPACE, mark) for character, mark in _SPACES.items()},
    **{character: (PartKind.INVISIBLE, mark) for character, mark in _INVISIBLE.items()},
    "\n": (PartKind.BREAK, "⏎"),
}

_C0_NAMES = (
    "NULL",
    "START OF HEADING",
    "START OF TEXT",
    "END OF TEXT",
    "END OF TRANSMISSION",
    "ENQUIRY",
    "ACKNOWLEDGE",
    "BELL",
    "BACKSPACE",
    "CHARACTER TABULATION",
    "LINE FEED",
    "LINE TABULATION",
    "FORM FEED",
    "CARRIAGE RETURN",
    "SHIFT OUT",
    "SHIFT IN",
    "DATA LINK ESCAPE",
    "DEVICE CONTROL ONE",
    "DEVICE CONTROL TWO",
    "DEVICE CONTROL THREE",
    "DEVICE CONTROL FOUR",
    "NEGATIVE ACKNOWLEDGE",
    "SYNCHRONOUS IDLE",
    "END OF TRANSMISSION BLOCK",
    "CANCEL",
    "END OF MEDIUM",
    "SUBSTITUTE",
    "ESCAPE",
    "FILE SEPARATOR",
    "GROUP SEPARATOR",
    "RECORD SEPARATOR",
    "UNIT SEPARATOR",
    "DELETE",
)


def mark_of(character: str) -> tuple[PartKind, str]:
    """How one character is drawn: kind and mark; for TEXT the mark is the character."""
    if (known := _MARKS.get(character)) is not None:
        return known
    if (mark := _mark_by_range(ord(character))) is not None:
        return PartKind.INVISIBLE, mark
    return PartKind.TEXT, character


def _mark_by_range(code: int) -> str | None:
    if 0xFE00 <= code <= 0xFE0F:
        return f"‹VS{code - 0xFE00 + 1}›"
    if 0xE0100 <= code <= 0xE01EF:
        return f"‹VS{code - 0xE0100 + 17}›"
    if 0xE0020 <= code < 0xE007F:
        return f"‹TAG {chr(code - 0xE0000)}›"
    is_noncharacter = 0xFDD0 <= code <= 0xFDEF or code & 0xFFFE == 0xFFFE
    if is_noncharacter or unicodedata.category(chr(code)) in {"Cf", "Co", "Cs"}:
        return f"‹U+{code:04X}›"
    return None


def character_name(character: str) -> str:
    """``U+200D ZERO WIDTH JOINER``"""
    name = unicodedata.name(character, "") or _control_name(character)
    return f"U+{ord(character):04X} {name}".rstrip()


def _control_name(character: str) -> str:
    code = ord(character)
    if code < 0x20 or code == 0x7F:
        return _C0_NAMES[min(code, 0x20)]
    if 0x80 <= code < 0xA0:
        return f"CONTROL {_C1_NAMES[character]}"
    return {"Cn": "NOT ASSIGNED", "Co": "PRIVATE USE"}.get(unicodedata.category(character), "")
