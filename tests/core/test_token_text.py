"""Text and bytes of tokens in records for scripts."""

from __future__ import annotations

import pytest

from logitscope.origin_output import report_record
from logitscope.origin_types import Condition, Expected, OriginCase, OriginReport, WordOrigin
from logitscope.token_text import run_record, token_record
from logitscope.vocabulary import TokenKind, Vocabulary

PIECES = [b"<s>", b" a", b"\xe5\xa4", b"\xa9", b"<0xE5>"]
KINDS = [TokenKind.CONTROL, *[TokenKind.NORMAL] * 3, TokenKind.UNUSED]
VOCABULARY = Vocabulary.from_pieces(PIECES, KINDS, bos=0, eos=None)


@pytest.mark.parametrize(
    ("token_id", "label", "text", "shown"),
    [
        (0, "<s>", None, "3C 73 3E"),
        (1, "·a", " a", "20 61"),
        (2, "‹E5 A4›", None, "E5 A4"),
        (4, "<0xE5>", None, "3C 30 78 45 35 3E"),
    ],
)
def test_a_label_is_not_the_text(token_id: int, label: str, text: str | None, shown: str) -> None:
    record = token_record(VOCABULARY, token_id)
    assert record == {"id": token_id, "label": label, "text": text, "bytes": shown}


@pytest.mark.parametrize(
    ("ids", "text", "shown"),
    [
        ([1, 2, 3], " a天", "20 61 E5 A4 A9"),
        ([1, 2], None, "20 61 E5 A4"),
        ([0, 1], " a", "20 61"),
        ([0], None, "3C 73 3E"),
        ([], "", ""),
    ],
)
def test_tokens_end_to_end(ids: list[int], text: str | None, shown: str) -> None:
    assert run_record(VOCABULARY, ids) == {"text": text, "bytes": shown}


def test_an_origin_report_tells_text_from_bytes_that_are_none() -> None:
    logs = dict.fromkeys(Condition, -1.0)
    expected = Expected(Condition.WITH, (0, 2), (-1.0, -2.0))
    word = WordOrigin((0, 2), " a\ufffd", logs, expected=(expected,))
    report = OriginReport(OriginCase((1, 2), ((0, 2),), (1, 2)), (word,), 0.69)
    record = report_record(report, VOCABULARY)
    (span,), (found,) = record["spans"], record["words"]
    for each in (span, found):
        assert (each["text"], each["bytes"]) == (None, "20 61 E5 A4")
    special, half = found["expected"]["with"]
    assert (special["label"], special["text"], special["bytes"]) == ("<s>", None, "3C 73 3E")
    assert (half["label"], half["text"], half["bytes"]) == ("‹E5 A4›", None, "E5 A4")
    assert (record["answer"], record["answer_bytes"]) == (" a\ufffd", "20 61 E5 A4")
