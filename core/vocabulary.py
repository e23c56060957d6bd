"""The vocabulary of a model: the exact bytes of every id, and what kind of token each is.

A token is bytes first and text second: one character can be split over several tokens, so no
method here returns text. Both backends fill the same arrays, hence every view reads ids alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


class TokenKind(IntEnum):
    """What an id stands for; the values are stored as uint8."""

    NORMAL = 0
    BYTE = 1
    """One raw byte of a byte-fallback tokenizer, such as sentencepiece's ``<0xE4>``."""
    CONTROL = 2
    """A mark that text cannot contain by itself: BOS, EOS, turn marks, padding."""
    UNUSED = 3
    """A reserved or padding row of the output table that no text produces."""


_KINDS = tuple(TokenKind)
"""By value; to call the class takes ten times as long."""


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Bytes, kinds and special ids of ``len(self)`` tokens.

    ``blob`` holds the bytes of all tokens end to end; token ``i`` is
    ``blob[offsets[i]:offsets[i + 1]]``. For CONTROL and UNUSED tokens these bytes are the name
    by which the model's files call them (``<bos>``), which is not text of the document.
    """

    blob: bytes
    offsets: NDArray[np.int64]
    kinds: NDArray[np.uint8]
    bos: int | None
    eos: int | None
    end_ids: frozenset[int]
    """Every id after which the model considers its text ended (EOS, end of turn)."""
    adds_bos: bool
    """Whether the model was trained with BOS in front, as its files say."""
    adds_space: bool = False
    """Whether the tokenizer puts one extra space in front of a text (sentencepiece's dummy prefix):
    the bytes of a tokenized text are then a space and the text."""

    @classmethod
    def from_pieces(
        cls,
        pieces: Sequence[bytes],
        kinds: Sequence[int] | NDArray[np.uint8],
        *,
        bos: int | None,
        eos: int | None,
        end_ids: frozenset[int] = frozenset(),
        adds_bos: bool = False,
        adds_space: bool = False,
    ) -> Vocabulary:
        """Build the arrays from one bytes object an id."""
        offsets = np.zeros(len(pieces) + 1, dtype=np.int64)
        np.cumsum([len(piece) for piece in pieces], out=offsets[1:])
        return cls(
            blob=b"".join(pieces),
            offsets=offsets,
            kinds=np.asarray(kinds, dtype=np.uint8),
            bos=bos,
            eos=eos,
            end_ids=end_ids,
            adds_bos=adds_bos,
            adds_space=adds_space,
        )

    def __len__(self) -> int:
        return len(self.kinds)

    def bytes_of(self, token_id: int) -> bytes:
        """The bytes of one id. Raises IndexError for an id the vocabulary does not hold."""
        if not 0 <= token_id < len(self):
            raise IndexError(f"id {token_id} is outside the vocabulary of {len(self)} tokens")
        return self.blob[self.offsets[token_id] : self.offsets[token_id + 1]]

    def kind_of(self, token_id: int) -> TokenKind:
        """The kind of one id."""
        return _KINDS[int(self.kinds[token_id])]

    def is_special(self, token_id: int) -> bool:
        """Whether the id's bytes are a name and not text of the document."""
        return self.kind_of(token_id) in {TokenKind.CONTROL, TokenKind.UNUSED}

    def text_bytes(self, ids: Sequence[int]) -> bytes:
        """The bytes that the ids add to the text: special tokens add none."""
        return b"".join(self.bytes_of(i) for i in ids if not self.is_special(i))

    def ids_of_bytes(self, piece: bytes) -> tuple[int, ...]:
        """All ids whose bytes are exactly ``piece``, in ascending order."""
        return tuple(self._by_bytes.get(piece, ()))

    @cached_property
    def _by_bytes(self) -> dict[bytes, list[int]]:
        table: dict[bytes, list[int]] = {}
        for token_id in range(len(self)):
            table.setdefault(self.bytes_of(token_id), []).append(token_id)
        return table
