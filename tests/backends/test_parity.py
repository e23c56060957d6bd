"""The same small weights in both formats: transformers and llama.cpp agree to the last digits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from logitscope.backends.base import Backend, ChatMessage, LoadOptions

pytest.importorskip("torch", reason="the extra `torch` is not installed")
pytest.importorskip("llama_cpp", reason="the extra `llama` is not installed")
pytestmark = [pytest.mark.torch, pytest.mark.llama]

TEXTS = (
    "The sky is blue, and the grass is green; isn't it?",
    "def area(width):\n\tif width < 0:\n\t\traise ValueError('width')\r\n",
    "天空是蓝色的，草是绿色的。你好，世界！",
    "السماء زرقاء والعشب أخضر.",
    "Небо голубое. आकाश नीला है। 하늘은 파랗다",
    "👩🏽‍🚀👨‍👩‍👧‍👦🏳️‍🌈 ∑∫√ “quotes” — dashes…",
    "\x00\x01\t\x1b[0m\x7f\u00a0\u200b\ufeff   spaces   ",
    "a literal <s> and </s> and <|turn|>",
    "",
)


@pytest.fixture(scope="module")
def pair(tiny_hf: Path, tiny_gguf: Path) -> Iterator[tuple[Backend, Backend]]:
    """(hf, llamacpp), both in float32 throughout."""
    from logitscope.backends import hf, llamacpp

    first = hf.load(tiny_hf, LoadOptions(device="cpu", threads=1))
    second = llamacpp.load(tiny_gguf, LoadOptions(cache_type="f32", threads=1))
    yield first, second
    first.close()
    second.close()


@pytest.mark.parametrize("add_special", [True, False])
@pytest.mark.parametrize("parse_special", [True, False])
@pytest.mark.parametrize("text", TEXTS)
def test_ids_are_equal(
    pair: tuple[Backend, Backend], text: str, add_special: bool, parse_special: bool
) -> None:
    ids = [b.tokenize(text, add_special=add_special, parse_special=parse_special) for b in pair]
    assert ids[0] == ids[1]


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=st.text(max_size=80))
def test_ids_of_any_text_are_equal(pair: tuple[Backend, Backend], text: str) -> None:
    ids = [b.tokenize(text, add_special=True, parse_special=False) for b in pair]
    assert ids[0] == ids[1]


def test_vocabularies_are_equal(pair: tuple[Backend, Backend]) -> None:
    first, second = (backend.vocabulary for backend in pair)
    assert (first.bos, first.eos, first.adds_bos) == (second.bos, second.eos, second.adds_bos)
    assert first.adds_space == second.adds_space
    assert np.array_equal(first.kinds, second.kinds)
    named = [i for i in range(len(first)) if first.bytes_of(i) != second.bytes_of(i)]
    # Only the rows without a token are called differently by the two libraries.
    assert all(first.is_special(i) for i in named)


@pytest.mark.parametrize("text", [text for text in TEXTS if text])
def test_logits_and_ranking_agree(pair: tuple[Backend, Backend], text: str) -> None:
    ids = pair[0].tokenize(text, add_special=True, parse_special=False)
    ours, theirs = (
        np.concatenate([chunk.copy() for chunk in backend.score(ids, 1, len(ids) + 1)])
        for backend in pair
    )
    assert np.abs(ours - theirs).max() <= 1e-3
    for row, other in zip(ours, theirs, strict=True):
        ranking, ranking_there = (
            np.argsort(-values, kind="stable")[:21] for values in (row, other)
        )
        # Neighbours closer than the two libraries' difference may change places.
        apart = -np.diff(row[ranking]) > 2e-3
        ends = np.flatnonzero(apart[:20]) + 1
        for end in ends:
            assert set(ranking[:end]) == set(ranking_there[:end])
        assert len(ends) >= 10
    last = [np.argsort(-backend.next_logits(ids), kind="stable")[:20] for backend in pair]
    assert last[0].tolist() == last[1].tolist()


def test_templates_are_rendered_equally(pair: tuple[Backend, Backend]) -> None:
    messages = [ChatMessage("user", "Why is the sky blue?\n天空")]
    texts = [backend.render_chat(messages, add_generation_prompt=True) for backend in pair]
    assert texts[0] == texts[1]
    ids = [b.tokenize(texts[0], add_special=False, parse_special=True) for b in pair]
    assert ids[0] == ids[1]
    assert ids[0][0] == pair[0].vocabulary.bos


def test_what_the_models_files_say_agrees(pair: tuple[Backend, Backend]) -> None:
    first, second = (backend.info for backend in pair)
    for name in ("architecture", "parameters", "n_vocab", "trained_context_length", "weight_bytes"):
        assert getattr(first, name) == getattr(second, name), name
    assert first.kv_bytes_per_token == second.kv_bytes_per_token
    assert first.tied_embeddings == second.tied_embeddings
