"""The bytes of every id of a Hugging Face fast tokenizer.

A piece of such a tokenizer is not text. Byte-level tokenizers write each byte as a printable
character (GPT-2's alphabet: ``Ġ`` is the byte 0x20); sentencepiece-like ones write a space as
``▁`` and a lone byte as ``<0xE4>``. Which of these holds is read from the ``decoder`` section of
the tokenizer's own description and proved by a round trip over text in several scripts.

Some sentencepiece-like tokenizers put one space in front of a text before they split it, so that
"Hello" and " Hello" get the same ids. The bytes of such a first token keep the space, as in every
other place of the text (and as llama.cpp has it); ``Vocabulary.adds_space`` says that it is extra.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from logitscope.vocabulary import TokenKind, Vocabulary

PROOF_TEXT = (
    "The sky  is blue, isn't it?\n\tif x == 10:\n        return 'naïve café'\r\n"
    "天空是蓝色的。السماء زرقاء. Небо голубое. आकाश नीला है। 하늘은 파랗다 "
    "👩🏽‍🚀👨‍👩‍👧‍👦🏳️‍🌈 ∑ x² \u200b\u00a0 end"
)
"""Several scripts, emoji with joiners, runs of white space: what a wrong byte table breaks on."""

BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")

HARMLESS_NORMALIZERS = frozenset({"Replace", "Prepend", "Sequence"})
"""These only mark spaces; any other one changes the text (``NFC``, ``Lowercase``, …)."""


class BackendTokenizer(Protocol):
    """The part of ``tokenizers.Tokenizer`` that is used here."""

    encode_special_tokens: bool

    def encode(self, sequence: str, *, add_special_tokens: bool) -> Any: ...

    def decode(self, ids: list[int], *, skip_special_tokens: bool) -> str: ...

    def to_str(self) -> str: ...


@dataclass(frozen=True, slots=True)
class SpecialIds:
    """What the tokenizer and the generation configuration say of BOS and of the ends of a text."""

    bos: int | None
    eos: int | None
    end_ids: frozenset[int]


@cache
def byte_alphabet() -> dict[str, int]:
    """Character to byte in GPT-2's alphabet (Radford et al. 2019, ``bytes_to_unicode``).

    Printable bytes of Latin-1 stand for themselves, the other 68 for U+0100, U+0101, …
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(printable)]
    table = {chr(byte): byte for byte in printable}
    return table | {chr(0x100 + index): byte for index, byte in enumerate(others)}


def read_vocabulary(
    tokenizer: BackendTokenizer, n_vocab: int, special: SpecialIds
) -> tuple[Vocabulary, tuple[str, ...]]:
    """The vocabulary of ``n_vocab`` ids, and sentences about what is not exact.

    Ids that the tokenizer does not know get the kind UNUSED and no bytes: the files give no name.
    """
    description = json.loads(tokenizer.to_str())
    decode_piece, exact = _piece_decoder(description, tokenizer)
    pieces = [b""] * n_vocab
    kinds = [int(TokenKind.UNUSED)] * n_vocab
    for token_id, piece in _model_pieces(description["model"]):
        if token_id < n_vocab:
            pieces[token_id], kinds[token_id] = decode_piece(token_id, piece)
    byte_level = _has_part(description.get("decoder"), "ByteLevel")
    for entry in description.get("added_tokens", ()):
        token_id, content = int(entry["id"]), str(entry["content"])
        if token_id >= n_vocab:
            continue
        if entry["special"]:
            pieces[token_id], kinds[token_id] = content.encode(), TokenKind.CONTROL
        elif byte_level or kinds[token_id] == TokenKind.UNUSED:
            # Added tokens are cut out of the raw text before the byte alphabet is applied.
            pieces[token_id], kinds[token_id] = content.encode(), TokenKind.NORMAL
    vocabulary = Vocabulary.from_pieces(
        pieces,
        kinds,
        bos=special.bos,
        eos=special.eos,
        end_ids=special.end_ids,
        adds_bos=_adds_bos(tokenizer, special.bos),
        adds_space=_adds_space(tokenizer, pieces),
    )
    return vocabulary, tuple(_notes(vocabulary, tokenizer, description, exact))


def encode(
    tokenizer: BackendTokenizer, text: str, *, add_special: bool, parse_special: bool
) -> list[int]:
    """Ids of a text; lone surrogates, which UTF-8 cannot hold, are read as U+FFFD."""
    tokenizer.encode_special_tokens = not parse_special
    clean = re.sub("[\ud800-\udfff]", "\ufffd", text)
    ids: list[int] = tokenizer.encode(clean, add_special_tokens=add_special).ids
    return ids


PieceDecoder = Callable[[int, str], tuple[bytes, int]]
"""(id, piece) → (bytes, kind)."""


def _model_pieces(model: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """(id, piece) of BPE, WordPiece and WordLevel (a table) and of Unigram (a list of pairs)."""
    vocab = model["vocab"]
    if isinstance(vocab, dict):
        return ((int(token_id), piece) for piece, token_id in vocab.items())
    return ((token_id, pair[0]) for token_id, pair in enumerate(vocab))


def _parts(section: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
    """The section and, in order, everything nested in it."""
    if section is None:
        return
    yield section
    for key in ("decoders", "normalizers", "pretokenizers"):
        for part in section.get(key, ()):
            yield from _parts(part)


def _has_part(section: dict[str, Any] | None, kind: str) -> bool:
    return any(part.get("type") == kind for part in _parts(section))


def _piece_decoder(
    description: dict[str, Any], tokenizer: BackendTokenizer
) -> tuple[PieceDecoder, bool]:
    """How a piece becomes bytes, and whether that is exact."""
    decoder = description.get("decoder")
    if _has_part(decoder, "ByteLevel"):
        return _from_alphabet, True
    marks = _space_marks(decoder)
    byte_fallback = _has_part(decoder, "ByteFallback")
    if not marks and not byte_fallback:
        return _from_neighbour(tokenizer), False

    def decode(_token_id: int, piece: str) -> tuple[bytes, int]:
        raw = BYTE_PIECE.fullmatch(piece) if byte_fallback else None
        if raw is not None:
            return bytes([int(raw[1], 16)]), TokenKind.BYTE
        for mark, text in marks:
            piece = piece.replace(mark, text)
        return piece.encode(), TokenKind.NORMAL

    return decode, True


def _space_marks(decoder: dict[str, Any] | None) -> list[tuple[str, str]]:
    """Replacements such as ``▁`` → space, in the order in which the decoder makes them."""
    marks = []
    for part in _parts(decoder):
        if part.get("type") == "Replace" and "String" in part.get("pattern", {}):
            marks.append((str(part["pattern"]["String"]), str(part["content"])))
        elif part.get("type") == "Metaspace":
            marks.append((str(part["replacement"]), " "))
    return marks


def _from_alphabet(_token_id: int, piece: str) -> tuple[bytes, int]:
    table = byte_alphabet()
    try:
        return bytes(table[character] for character in piece), TokenKind.NORMAL
    except KeyError:
        # A piece outside the alphabet is literal text, as in the tokenizers library's decoder.
        return piece.encode(), TokenKind.NORMAL


def _from_neighbour(tokenizer: BackendTokenizer) -> PieceDecoder:
    """What the library's decoder adds for an id that follows another one (WordPiece and others)."""
    anchor = tokenizer.encode("a", add_special_tokens=False).ids
    before = tokenizer.decode(anchor, skip_special_tokens=False)

    def decode(token_id: int, _piece: str) -> tuple[bytes, int]:
        both = tokenizer.decode([*anchor, token_id], skip_special_tokens=False)
        return both.removeprefix(before).encode(), TokenKind.NORMAL

    return decode


def _adds_bos(tokenizer: BackendTokenizer, bos: int | None) -> bool:
    ids = encode(tokenizer, "a", add_special=True, parse_special=False)
    return bos is not None and ids[:1] == [bos]


def _adds_space(tokenizer: BackendTokenizer, pieces: Sequence[bytes]) -> bool:
    ids = encode(tokenizer, "a", add_special=False, parse_special=False)
    return b"".join(pieces[i] for i in ids if i < len(pieces)) == b" a"


def _notes(
    vocabulary: Vocabulary,
    tokenizer: BackendTokenizer,
    description: dict[str, Any],
    exact: bool,
) -> Iterator[str]:
    normalizers = {part.get("type") for part in _parts(description.get("normalizer"))}
    changing = sorted(str(kind) for kind in normalizers - HARMLESS_NORMALIZERS)
    if changing:
        yield (
            f"This tokenizer changes the text before it splits it ({', '.join(changing)}), so the "
            "tokens can spell something slightly different from what was typed."
        )
    ids = encode(tokenizer, PROOF_TEXT, add_special=False, parse_special=False)
    known = [i for i in ids if i < len(vocabulary)]
    expected = (b" " if vocabulary.adds_space else b"") + PROOF_TEXT.encode()
    if not exact or (not changing and vocabulary.text_bytes(known) != expected):
        yield "The bytes of the tokens are a best guess: their pieces do not join to the text."
