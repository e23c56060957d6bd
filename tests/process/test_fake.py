"""The fake model: its pseudo-path, its vocabulary, its accounting."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logitscope.backends.base import (
    BackendError,
    Cancelled,
    LoadOptions,
    ModelFileError,
    Watch,
)
from logitscope.backends.fake import load
from logitscope.backends.fake_settings import FakeSettings
from logitscope.vocabulary import TokenKind


def fake(settings: str = "", **options):
    return load(Path(f"fake:{settings}"), LoadOptions(**options))


BACKEND = fake("vocab=2000")


def test_settings_are_read() -> None:
    settings = FakeSettings.parse("fake:vocab=500,seed=9,decode_ms=1.5,hang=decode,after=3")
    assert (settings.vocab, settings.seed, settings.after) == (500, 9, 3)
    assert (settings.decode_ms, settings.hang, settings.fail) == (1.5, "decode", "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("colour=red", "colour"),
        ("vocab=many", "vocab"),
        ("vocab=10", "300"),
        ("vocab=2000000", "300"),
        ("hang=sometimes", "hang"),
        ("template=ugly", "template"),
        ("=", "no setting"),
    ],
)
def test_settings_that_mean_nothing_are_one_sentence(text, words) -> None:
    with pytest.raises(ModelFileError, match=words):
        fake(text)


@given(st.text())
def test_any_text_comes_back(text) -> None:
    ids = BACKEND.tokenize(text, add_special=False, parse_special=False)
    expected = "".join("\ufffd" if 0xD800 <= ord(c) < 0xE000 else c for c in text)
    assert BACKEND.vocabulary.text_bytes(ids).decode() == expected


@pytest.mark.parametrize("size", [300, 1000, 262_144])
def test_a_vocabulary_of_any_size(size) -> None:
    vocabulary = fake(f"vocab={size}").vocabulary
    pieces = [vocabulary.bytes_of(i) for i in range(len(vocabulary))]
    assert len(vocabulary) == len(set(pieces)) == size
    assert {bytes([value]) for value in range(256)} <= set(pieces)
    assert vocabulary.bytes_of(vocabulary.bos) == b"<bos>"
    assert all(vocabulary.is_special(i) for i in vocabulary.end_ids)


def test_rows_look_like_a_model() -> None:
    """Neither certain nor uniform, finite, and the text prefers text to marks."""
    row = BACKEND.next_logits([1, 80, 90]).astype(np.float64)
    assert np.isfinite(row).all()
    probabilities = np.exp(row - row.max())
    probabilities /= probabilities.sum()
    entropy = -(probabilities * np.log(probabilities)).sum()
    assert 1 < entropy < np.log(2000) - 1
    kinds = BACKEND.vocabulary.kinds
    assert probabilities[kinds == TokenKind.NORMAL].sum() > 0.9
    assert probabilities[kinds == TokenKind.UNUSED].sum() < 1e-6


def test_rows_depend_on_the_seed_and_on_every_id() -> None:
    row = BACKEND.next_logits([1, 80, 90])
    assert not np.array_equal(row, BACKEND.next_logits([2, 80, 90]))
    assert not np.array_equal(row, fake("vocab=2000,seed=2").next_logits([1, 80, 90]))
    np.testing.assert_array_equal(row, fake("vocab=2000").next_logits([1, 80, 90]))


def test_the_end_can_be_ordered() -> None:
    backend = fake("end_after=4")
    assert backend.next_logits([1, 80, 81, 82]).argmax() == backend.vocabulary.eos
    assert backend.next_logits([1, 80, 81]).argmax() != backend.vocabulary.eos


def test_a_cancelled_pass_keeps_what_it_has_read() -> None:
    backend = fake()
    calls = []

    def cancelled() -> bool:
        calls.append(1)
        return len(calls) > 2

    ids = [1] * 100
    with pytest.raises(Cancelled):
        backend.next_logits(ids, Watch(is_cancelled=cancelled))
    backend.next_logits(ids)
    # Two chunks of 32 were done.
    assert (backend.last_pass.cached, backend.last_pass.evaluated) == (64, 36)


def test_accidents_wait_for_their_turn() -> None:
    backend = fake("fail=decode,after=2")
    ids = [1, 70, 71]
    for _ in range(3):
        backend.next_logits(ids)
        ids.append(72)
    with pytest.raises(BackendError, match="decode"):
        backend.next_logits(ids)


def test_score_budget_limits_the_chunk() -> None:
    backend = fake("vocab=1000", score_budget_bytes=4 * 1000 * 5)
    lengths = [len(rows) for rows in backend.score([1] * 12, 1, 13)]
    assert lengths == [5, 5, 2]
