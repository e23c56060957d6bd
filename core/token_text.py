"""What tokens are in records for scripts: text that is really theirs or none, and exact bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from logitscope.display import hex_of, text_of, token_label
from logitscope.vocabulary import Vocabulary


def text_of_token(vocabulary: Vocabulary, token_id: int) -> str | None:
    """What an id adds to a text; None for a special token, whose bytes are a name, and where the
    bytes are no UTF-8 by themselves."""
    if vocabulary.is_special(token_id):
        return None
    return text_of(vocabulary.bytes_of(token_id))


def token_record(vocabulary: Vocabulary, token_id: int) -> dict[str, Any]:
    """One id: ``label``, ``text`` and, in hexadecimal, ``bytes``."""
    return {
        "id": token_id,
        "label": token_label(vocabulary, token_id),
        "text": text_of_token(vocabulary, token_id),
        "bytes": hex_of(vocabulary.bytes_of(token_id)),
    }


def run_record(vocabulary: Vocabulary, ids: Sequence[int]) -> dict[str, Any]:
    """``text`` and ``bytes`` of tokens end to end. A lone special token is as `token_record` says;
    among others it adds nothing."""
    if len(ids) == 1:
        one = token_record(vocabulary, ids[0])
        return {"text": one["text"], "bytes": one["bytes"]}
    piece = vocabulary.text_bytes(ids)
    return {"text": text_of(piece), "bytes": hex_of(piece)}
