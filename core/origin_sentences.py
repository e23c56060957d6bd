"""Source spans: a text divided into sentences or paragraphs, and characters found as tokens.

Ranges are of characters of a Python string, ``(start, stop)``. The white space behind a sentence
belongs to it, so that the sentences of a text hold all of it and nothing stays when all of them are
taken away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from logitscope.origin_types import OriginCase, Range
from logitscope.vocabulary import Vocabulary

_END = re.compile(r"[.!?…]+[\"'”’»)\]]*(?=\s)\s+|[。！？｡]+[」』”’）]*\s*|\s*\n\s*")
_ABBREVIATION = re.compile(r"\b(?:mr|mrs|ms|dr|prof|vs|e\.g|i\.e|cf|fig|approx)\.$", re.IGNORECASE)
_BLANK_LINE = re.compile(r"\n[ \t]*\n\s*")
_LINE_END = re.compile(r"\n\s*")
_SURROGATE = re.compile("[\ud800-\udfff]")
"""Backends give U+FFFD to the tokenizer in their place."""
_SPACES = tuple(b" \t\n\r")
_FRAME = -1


def sentences(text: str) -> tuple[Range, ...]:
    """Sentences: they end at ``.!?…`` before white space (but not before a small letter or behind
    an abbreviation), at the full stops of Chinese and Japanese, and at line ends."""
    cuts = [match.end() for match in _END.finditer(text) if _ends(text, match)]
    return _pieces(text, cuts)


def paragraphs(text: str) -> tuple[Range, ...]:
    """Paragraphs: they end at blank lines; where there is none, at line ends."""
    ends = _BLANK_LINE if _BLANK_LINE.search(text) else _LINE_END
    return _pieces(text, [match.end() for match in ends.finditer(text)])


def sentence_spans(text: str, sources: Sequence[Range]) -> tuple[Range, ...]:
    """The sentences of the given ranges of a text, in order. Raises ValueError for ranges that
    overlap, descend or leave the text."""
    check_ranges(sources, len(text))
    return tuple(
        (start + first, start + last)
        for start, stop in sources
        for first, last in sentences(text[start:stop])
    )


def token_ranges(
    vocabulary: Vocabulary, ids: Sequence[int], text: str, ranges: Sequence[Range]
) -> tuple[Range, ...]:
    """Tokens ``start <= i < stop`` of every range of characters; empty where no token is its own.

    ``ids`` spell ``text``; BOS, a space that the tokenizer puts in front, and special tokens that
    the text writes out by name are understood. A token that lies on a border belongs to the side
    that holds most of its bytes, and to the later one where both hold as many; white space counts
    only in a token of nothing else. Raises ValueError
    where the ids do not spell the text, or as ``sentence_spans`` does.
    """
    check_ranges(ranges, len(text))
    text = _SURROGATE.sub("\ufffd", text)
    data = text.encode()
    owners = np.full(len(data), _FRAME)
    for number, (start, stop) in enumerate(ranges):
        first, last = (len(text[:end].encode()) for end in (start, stop))
        owners[first:last] = number
    is_space = np.isin(np.frombuffer(data, dtype=np.uint8), _SPACES)
    owned = [
        _owner(owners[start:stop], is_space[start:stop])
        for start, stop in _places(vocabulary, ids, data)
    ]
    return tuple(_stretch(owned, number) for number in range(len(ranges)))


def case_of(
    vocabulary: Vocabulary,
    prompt_ids: Sequence[int],
    text: str,
    spans: Sequence[Range],
    answer_ids: Sequence[int],
) -> OriginCase:
    """A case whose sources are ranges of characters of the prompt's text.

    Ranges without a token of their own are left out, and the first token stays in the frame: a
    model needs one to read. Raises ValueError as ``token_ranges``.
    """
    found = token_ranges(vocabulary, prompt_ids, text, spans)
    kept = tuple((max(start, 1), stop) for start, stop in found if max(start, 1) < stop)
    return OriginCase(tuple(prompt_ids), kept, tuple(answer_ids))


def against_bos(
    vocabulary: Vocabulary, prompt_ids: Sequence[int], answer_ids: Sequence[int]
) -> OriginCase:
    """The whole prompt as sources, sentence by sentence, against BOS alone; against the first token
    where the prompt begins without BOS."""
    text = vocabulary.text_bytes(prompt_ids).decode(errors="replace")
    if text.encode() != vocabulary.text_bytes(prompt_ids):
        whole = ((1, len(prompt_ids)),) if len(prompt_ids) > 1 else ()
        return OriginCase(tuple(prompt_ids), whole, tuple(answer_ids))
    return case_of(vocabulary, prompt_ids, text, sentences(text), answer_ids)


def check_ranges(ranges: Sequence[Range], size: int) -> None:
    """Raise ValueError unless the ranges are disjoint, ascending and within ``size``."""
    ends = [0, *(end for pair in ranges for end in pair), size]
    if any(first > second for first, second in pairwise(ends)):
        raise ValueError(
            f"the ranges {list(ranges)} overlap, descend or leave the {size} there are"
        )


def _ends(text: str, match: re.Match[str]) -> bool:
    if "\n" in match.group() or match.group()[0] in "。！？｡":
        return True
    if text[match.end() : match.end() + 1].islower():
        return False
    return not _ABBREVIATION.search(text[max(0, match.start() - 8) : match.start() + 1])


def _pieces(text: str, cuts: Sequence[int]) -> tuple[Range, ...]:
    # White space at the very beginning belongs to the first piece.
    ends = sorted({0, *(cut for cut in cuts if text[:cut].strip()), len(text)})
    return tuple(pairwise(ends))


def _places(vocabulary: Vocabulary, ids: Sequence[int], data: bytes) -> Iterator[Range]:
    """Bytes of the text that each token spells."""
    at = 0
    for index, token_id in enumerate(ids):
        piece = vocabulary.bytes_of(token_id)
        if data.startswith(piece, at):
            yield at, at + len(piece)
            at += len(piece)
        elif vocabulary.is_special(token_id):
            yield at, at
        elif at == 0 and piece[:1] == b" " and data.startswith(piece[1:]):
            yield 0, len(piece) - 1
            at = len(piece) - 1
        else:
            raise ValueError(f"token {index} of the prompt does not spell its text")
    if at != len(data):
        raise ValueError("the tokens of the prompt end before its text")


def _owner(owners: NDArray[np.int64], is_space: NDArray[np.bool_]) -> int:
    if len(owners) == 0:
        return _FRAME
    if not is_space.all():
        owners = owners[~is_space]
    found, counts = np.unique(owners, return_counts=True)
    most = found[counts == counts.max()]
    last = int(owners[-1])
    return last if last in most else int(most[0])


def _stretch(owned: Sequence[int], number: int) -> Range:
    mine = [i for i, owner in enumerate(owned) if owner == number]
    return (mine[0], mine[-1] + 1) if mine else (0, 0)
