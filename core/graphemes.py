"""Where one visible character ends and the next begins: the rules of Unicode UAX #29 that matter.

Covered: CR LF, Hangul syllables, combining marks, emoji joined by U+200D, modifiers and
variation selectors, flags. Left out: prepended marks (GB9b) and Indic conjuncts (GB9c), which
only make a boundary where the full rules make none.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterator

ZWNJ = "\u200c"
ZWJ = "\u200d"

# Extended_Pictographic of Unicode 15.1's emoji-data.txt, as (first, last).
_PICTOGRAPHIC = (
    (0xA9, 0xA9),
    (0xAE, 0xAE),
    (0x203C, 0x203C),
    (0x2049, 0x2049),
    (0x2122, 0x2122),
    (0x2139, 0x2139),
    (0x2194, 0x2199),
    (0x21A9, 0x21AA),
    (0x231A, 0x231B),
    (0x2328, 0x2328),
    (0x2388, 0x2388),
    (0x23CF, 0x23CF),
    (0x23E9, 0x23F3),
    (0x23F8, 0x23FA),
    (0x24C2, 0x24C2),
    (0x25AA, 0x25AB),
    (0x25B6, 0x25B6),
    (0x25C0, 0x25C0),
    (0x25FB, 0x25FE),
    (0x2600, 0x2605),
    (0x2607, 0x2612),
    (0x2614, 0x2685),
    (0x2690, 0x2705),
    (0x2708, 0x2712),
    (0x2714, 0x2714),
    (0x2716, 0x2716),
    (0x271D, 0x271D),
    (0x2721, 0x2721),
    (0x2728, 0x2728),
    (0x2733, 0x2734),
    (0x2744, 0x2744),
    (0x2747, 0x2747),
    (0x274C, 0x274C),
    (0x274E, 0x274E),
    (0x2753, 0x2755),
    (0x2757, 0x2757),
    (0x2763, 0x2767),
    (0x2795, 0x2797),
    (0x27A1, 0x27A1),
    (0x27B0, 0x27B0),
    (0x27BF, 0x27BF),
    (0x2934, 0x2935),
    (0x2B05, 0x2B07),
    (0x2B1B, 0x2B1C),
    (0x2B50, 0x2B50),
    (0x2B55, 0x2B55),
    (0x3030, 0x3030),
    (0x303D, 0x303D),
    (0x3297, 0x3297),
    (0x3299, 0x3299),
    (0x1F000, 0x1F0FF),
    (0x1F10D, 0x1F10F),
    (0x1F12F, 0x1F12F),
    (0x1F16C, 0x1F171),
    (0x1F17E, 0x1F17F),
    (0x1F18E, 0x1F18E),
    (0x1F191, 0x1F19A),
    (0x1F1AD, 0x1F1E5),
    (0x1F201, 0x1F20F),
    (0x1F21A, 0x1F21A),
    (0x1F22F, 0x1F22F),
    (0x1F232, 0x1F23A),
    (0x1F23C, 0x1F23F),
    (0x1F249, 0x1F3FA),
    (0x1F400, 0x1F53D),
    (0x1F546, 0x1F64F),
    (0x1F680, 0x1F6FF),
    (0x1F774, 0x1F77F),
    (0x1F7D5, 0x1F7FF),
    (0x1F80C, 0x1F80F),
    (0x1F848, 0x1F84F),
    (0x1F85A, 0x1F85F),
    (0x1F888, 0x1F88F),
    (0x1F8AE, 0x1F8FF),
    (0x1F90C, 0x1F93A),
    (0x1F93C, 0x1F945),
    (0x1F947, 0x1FAFF),
    (0x1FC00, 0x1FFFD),
)
_STARTS = tuple(first for first, _ in _PICTOGRAPHIC)


def clusters(text: str) -> Iterator[str]:
    """The visible characters of a text, in order; joined they are the text."""
    start = 0
    for index in range(1, len(text)):
        if text[index] < "©" and text[index] != "\n":
            joined = False
        else:
            joined = joins(text[start:index], text[index])
        if not joined:
            yield text[start:index]
            start = index
    if text:
        yield text[start:]


def joins(cluster: str, character: str) -> bool:
    """Whether ``character`` goes on with the unfinished ``cluster`` before it (not empty)."""
    last = cluster[-1]
    if _is_control(last) or _is_control(character):
        return last == "\r" and character == "\n"
    if _extends(character):
        return True
    if last == ZWJ:
        return is_pictographic(character) and _ends_with_pictograph(cluster[:-1])
    if _is_regional(last) and _is_regional(character):
        return _count_regional(cluster) % 2 == 1
    return _is_hangul_joined(last, character)


def _is_control(character: str) -> bool:
    if character in (ZWJ, ZWNJ):
        return False
    if 0xE0020 <= ord(character) <= 0xE007F:
        return False
    return unicodedata.category(character) in {"Cc", "Cf", "Zl", "Zp", "Cs"}


def _extends(character: str) -> bool:
    code = ord(character)
    if code < 0x300:
        return False
    return (
        character in (ZWJ, ZWNJ, "\u0e33", "\u0eb3", "\uff9e", "\uff9f")
        or 0x1F3FB <= code <= 0x1F3FF
        or 0xE0020 <= code <= 0xE007F
        or unicodedata.category(character) in {"Mn", "Me", "Mc"}
    )


def is_pictographic(character: str) -> bool:
    """Whether this is an emoji or a symbol that can take part in joined emoji."""
    code = ord(character)
    index = bisect_right(_STARTS, code) - 1
    return index >= 0 and code <= _PICTOGRAPHIC[index][1]


def _ends_with_pictograph(cluster: str) -> bool:
    for character in reversed(cluster):
        if is_pictographic(character):
            return True
        if not _extends(character) or character == ZWJ:
            return False
    return False


def _is_regional(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _count_regional(cluster: str) -> int:
    count = 0
    for character in reversed(cluster):
        if not _is_regional(character):
            break
        count += 1
    return count


def _hangul(character: str) -> str:
    code = ord(character)
    if 0x1100 <= code <= 0x115F or 0xA960 <= code <= 0xA97C:
        return "L"
    if 0x1160 <= code <= 0x11A7 or 0xD7B0 <= code <= 0xD7C6:
        return "V"
    if 0x11A8 <= code <= 0x11FF or 0xD7CB <= code <= 0xD7FB:
        return "T"
    if 0xAC00 <= code <= 0xD7A3:
        return "LV" if (code - 0xAC00) % 28 == 0 else "LVT"
    return ""


_HANGUL_FOLLOWERS = {
    "L": {"L", "V", "LV", "LVT"},
    "V": {"V", "T"},
    "LV": {"V", "T"},
    "T": {"T"},
    "LVT": {"T"},
}


def _is_hangul_joined(last: str, character: str) -> bool:
    return _hangul(character) in _HANGUL_FOLLOWERS.get(_hangul(last), ())


def is_seen_as_one(cluster: str, character: str) -> bool:
    """As ``joins``, for what is drawn as one picture.

    Invisible joiners and selectors count only where they make one: in emoji, keycaps and
    variants of ideographs. Elsewhere they are shown by a mark of their own.
    """
    is_selector = 0xFE00 <= ord(character) <= 0xFE0F or 0xE0100 <= ord(character) <= 0xE01EF
    if character in ("\n", ZWNJ):
        return False
    if is_selector or character == ZWJ or 0xE0020 <= ord(character) <= 0xE007F:
        base = cluster[0]
        is_ideograph = is_selector and unicodedata.category(base) == "Lo"
        is_keycap = is_selector and base in "0123456789#*"
        return is_pictographic(base) or is_ideograph or is_keycap
    return joins(cluster, character)
