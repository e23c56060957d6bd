"""A GGUF of a small sentencepiece vocabulary, without weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

Entry = tuple[str, float, int]

LONG = "▁" + "y" * 300
SENTENCEPIECE = [
    ("<unk>", 0.0, 2),
    ("<s>", 0.0, 3),
    ("</s>", 0.0, 3),
    *((f"<0x{byte:02X}>", 0.0, 6) for byte in range(256)),
    ("▁", -1.0, 1),
    ("▁the", -2.0, 1),
    ("▁.", -2.5, 1),
    ("h", -3.0, 1),
    ("e", -3.1, 1),
    ("t", -3.2, 1),
    ("he", -2.2, 1),
    ("the", -2.1, 1),
    (LONG, -9.0, 1),
    ("<|user|>", 0.0, 4),
    ("<reserved>", 0.0, 5),
    ("天", -4.0, 1),
]
"""(text, score, type): 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte."""


def write_sentencepiece(
    path: Path, *, space: bool = True, nul: bool = True, more: Sequence[Entry] = ()
) -> Path:
    """A vocabulary like Llama 2's; without the NUL byte there is nothing to separate pieces by."""
    gguf = pytest.importorskip("gguf")
    tokens = [entry for entry in SENTENCEPIECE if nul or entry[0] != "<0x00>"]
    tokens += more
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_block_count(1)
    writer.add_feed_forward_length(32)
    writer.add_head_count(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([text for text, _, _ in tokens])
    writer.add_token_scores([score for _, score, _ in tokens])
    writer.add_token_types([kind for _, _, kind in tokens])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(space)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return path
