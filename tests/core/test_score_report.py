"""Averages and records of scored files by exact arithmetic; passes over several texts."""

from __future__ import annotations

import io
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logitscope.columns import aligned
from logitscope.losses import LossTable
from logitscope.record_output import CsvWriter, JsonlWriter, TableWriter
from logitscope.score_report import SCORE_FIELDS, TOKEN_FIELDS, file_score, token_records
from logitscope.scoring_passes import scoring_passes
from logitscope.surprisal import TokenNumbers
from logitscope.vocabulary import TokenKind, Vocabulary


def vocabulary(*, adds_space: bool = False) -> Vocabulary:
    pieces = [b"<s>", b" a", "é".encode(), b"\xe5\xa4", b"\xa9"]
    kinds = [TokenKind.CONTROL, *[TokenKind.NORMAL] * 4]
    return Vocabulary.from_pieces(
        pieces, kinds, bos=0, eos=None, adds_bos=True, adds_space=adds_space
    )


def numbers(*probabilities: float) -> TokenNumbers:
    count = len(probabilities)
    return TokenNumbers(
        log_probability=np.log(np.array(probabilities)),
        rank=np.array([1, 10, 11, 1000][:count], dtype=np.int32),
        entropy=np.full(count, 2.0),
        logit=np.zeros(count, dtype=np.float32),
        top_ids=np.tile(np.array([2, 1, *[-1] * 8], dtype=np.int32), (count, 1)),
        top_log_probability=np.full((count, 10), -1.0, dtype=np.float32),
    )


def table(ids: list[int], *probabilities: float) -> LossTable:
    made = LossTable()
    made.follow(ids)
    made.put(1, numbers(*probabilities))
    return made


def test_half_a_quarter_and_an_eighth() -> None:
    ids = [0, 1, 2, 3]
    found = file_score("f", table(ids, 1 / 2, 1 / 4, 1 / 8), [ids], vocabulary())
    assert found.mean_loss == pytest.approx(math.log(4), rel=1e-15)
    assert found.perplexity == pytest.approx(4, rel=1e-15)
    # " a", "é" and the first two bytes of 天: six bytes, four characters that begin in them.
    assert (found.tokens, found.unread, found.bytes, found.characters) == (3, 0, 6, 4)
    assert found.bits_per_byte == pytest.approx((1 + 2 + 3) / 6, rel=1e-15)
    assert found.bits_per_character == pytest.approx((1 + 2 + 3) / 4, rel=1e-15)
    assert (found.rank_1, found.rank_10, found.rank_100) == pytest.approx((1 / 3, 2 / 3, 1))
    assert found.mean_entropy == 2.0


def test_the_space_of_the_tokenizer_is_no_text() -> None:
    ids = [0, 1, 2, 3]
    found = file_score("f", table(ids, 0.5, 0.5, 0.5), [ids], vocabulary(adds_space=True))
    assert (found.bytes, found.characters) == (5, 3)
    # Unknown, it is not counted in the first place.
    bare = file_score("f", table([1, 2, 3], 0.5, 0.5), [[1, 2, 3]], vocabulary(adds_space=True))
    assert (bare.bytes, bare.characters) == (4, 2)


def test_tokens_that_were_not_reached_are_counted() -> None:
    texts = [[0, 1, 2, 3], [0, 1], []]
    ids = [i for text in texts for i in text]
    found = file_score("f", table(ids, 0.5), texts, vocabulary())
    assert (found.tokens, found.unread) == (1, 3)


def test_an_unknown_number_is_none_in_records_and_empty_in_csv() -> None:
    ids = [0, 1]
    rows = list(token_records("f", table(ids, 0.25), vocabulary()))
    assert [row["loss"] for row in rows] == [None, pytest.approx(math.log(4))]
    assert rows[0]["rank"] is rows[0]["entropy"] is rows[0]["logit"] is None
    assert (rows[0]["top_ids"], rows[1]["top_ids"]) == ([], [2, 1])
    assert rows[1]["bytes"] == "20 61"
    assert list(rows[0]) == list(TOKEN_FIELDS)
    text = io.StringIO()
    writer = CsvWriter(text, list(TOKEN_FIELDS))
    writer.write(rows)
    writer.close()
    assert text.getvalue().splitlines()[1] == "f,0,0,<s>,,3C 73 3E,,,,,,,"
    empty = file_score("f", table([0]), [[0]], vocabulary()).record()
    assert list(empty) == list(SCORE_FIELDS)
    assert (empty["tokens"], empty["mean_loss"], empty["bits_per_byte"]) == (0, None, None)
    text = io.StringIO()
    JsonlWriter(text).write([empty])
    assert json.loads(text.getvalue()) == empty


def test_a_token_has_a_label_its_text_and_its_bytes() -> None:
    ids = [0, 1, 2, 3]
    rows = list(token_records("f", table(ids, 0.5, 0.5, 0.5), vocabulary()))
    # The bytes of a special token are its name, and those of 天 are cut in two.
    assert [(row["token"], row["text"], row["bytes"]) for row in rows] == [
        ("<s>", None, "3C 73 3E"),
        ("·a", " a", "20 61"),
        ("é", "é", "C3 A9"),
        ("‹E5 A4›", None, "E5 A4"),
    ]


def test_columns_line_up_under_wide_characters() -> None:
    lines = list(aligned([("name", "n"), ("天空", "10")], left={0}))
    # Two characters that a terminal draws in four cells.
    assert lines == ["name   n", "天空  10"]


def test_a_long_table_is_written_block_by_block() -> None:
    text = io.StringIO()
    sizes: list[int] = []

    def lines(block: object) -> list[str]:
        sizes.append(len(block))  # type: ignore[arg-type]
        return ["line"]

    TableWriter(text, lines).write({"n": i} for i in range(25_000))  # type: ignore[arg-type]
    assert sizes == [10_000, 10_000, 5_000]


@given(st.lists(st.integers(0, 70), max_size=5), st.integers(2, 20), st.data())
def test_every_token_but_the_first_of_each_text_is_scored_once(
    lengths: list[int], window: int, data: st.DataObject
) -> None:
    stride = data.draw(st.one_of(st.none(), st.integers(1, window // 2)))
    numbered = iter(range(1, 1000))
    texts = [[0, *(next(numbered) for _ in range(n - 1))] if n else [] for n in lengths]
    together = [i for text in texts for i in text]
    scored: list[int] = []
    for each in scoring_passes(texts, window, stride, 0):
        assert len(each.ids) <= window
        assert 1 <= each.start < len(each.ids)
        # Every window begins with BOS, and scores what stands at its place.
        assert each.ids[0] == 0
        part = each.ids[each.start :]
        assert list(part) == together[each.position : each.position + len(part)]
        scored.extend(range(each.position, each.position + len(part)))
    assert scored == [i for i, token_id in enumerate(together) if token_id != 0]
