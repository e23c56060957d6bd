"""The table of the next token, without a model."""

from __future__ import annotations

import numpy as np
import pytest

from logitscope.next_table import build_table, table_lines
from logitscope.sampling import SamplerSettings
from logitscope.vocabulary import TokenKind, Vocabulary

# -- the table ------------------------------------------------------------------------------------


def test_table_of_hard_tokens() -> None:
    pieces = [b"<s>", b" \xe2\x80", "天空".encode(), b"\t", b"x"]
    kinds = [TokenKind.CONTROL, *[TokenKind.NORMAL] * 4]
    vocabulary = Vocabulary.from_pieces(pieces, kinds, bos=0, eos=None)
    # Logits are logarithms of 1, 2, 3, 4, 6: probabilities are sixteenths.
    row = np.log(np.array([1, 2, 3, 4, 6], dtype=np.float32))
    table = build_table(row, vocabulary, SamplerSettings(top_k=2), [], 4)
    assert [t.id for t in table.tokens] == [4, 3, 2, 1]
    assert [t.probability for t in table.tokens] == pytest.approx(
        [6 / 16, 4 / 16, 3 / 16, 2 / 16], rel=1e-6
    )
    assert [t.shaped_probability for t in table.tokens] == pytest.approx([0.6, 0.4, 0, 0], rel=1e-6)
    assert [t.bytes for t in table.tokens] == ["78", "09", "E5 A4 A9 E7 A9 BA", "20 E2 80"]
    assert [t.text for t in table.tokens] == ["x", "\t", "天空", None]
    assert [t.label for t in table.tokens] == ["x", "→", "天空", "·‹E2 80›"]
    assert (table.other_count, table.kept) == (1, 2)
    assert table.other_probability == pytest.approx(1 / 16, rel=1e-6)
    lines = list(table_lines(table))
    assert "天空" in lines[3]
    assert "\t" not in "".join(lines)
    assert "\ufffd" not in "".join(lines)


def test_a_special_token_adds_no_text() -> None:
    vocabulary = Vocabulary.from_pieces(
        [b"<eos>", b"\n", b""],
        [TokenKind.CONTROL, TokenKind.NORMAL, TokenKind.NORMAL],
        bos=None,
        eos=0,
    )
    row = np.array([2.0, 1.0, 0.0], dtype=np.float32)
    tokens = build_table(row, vocabulary, SamplerSettings(), [], 3).as_json()["tokens"]
    assert [(t["label"], t["text"], t["bytes"]) for t in tokens] == [
        ("<eos>", None, "3C 65 6F 73 3E"),
        ("⏎", "\n", "0A"),
        ("‹empty›", "", ""),
    ]


def test_what_no_float_can_tell_from_0_cannot_be_drawn() -> None:
    vocabulary = Vocabulary.from_pieces(
        [b"a", b"b", b"c"], [TokenKind.NORMAL] * 3, bos=None, eos=None
    )
    row = np.array([0.0, -1.0, -2.0], dtype=np.float32)
    # exp(-1 / 0.0015) is 3e-290 and exp(-2 / 0.0015) is 0 in float64.
    for temperature, kept in ((1.0, 3), (0.0015, 2), (1e-300, 1)):
        table = build_table(row, vocabulary, SamplerSettings(temperature=temperature), [], 3)
        assert table.kept == kept
        assert [t.shaped_probability > 0 for t in table.tokens].count(True) == kept
