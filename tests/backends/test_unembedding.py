"""Logits rebuilt from hidden state and table, against transformers' own forward pass."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")
transformers = pytest.importorskip("transformers", reason="the extra `torch` is not installed")
tiny_models: Any = pytest.importorskip("tiny_models")
head_families: Any = pytest.importorskip("head_families")

from logitscope.backends import hf  # noqa: E402
from logitscope.backends.base import UNWATCHED, LoadOptions  # noqa: E402
from logitscope.backends.hf import HfBackend  # noqa: E402
from logitscope.backends.hf_sequence import CachedSequence  # noqa: E402
from logitscope.backends.hf_unembedding import OutputHead  # noqa: E402

pytestmark = pytest.mark.torch

IDS = head_families.IDS
CPU = LoadOptions(device="cpu", threads=1)


@pytest.mark.parametrize("case", head_families.FAMILIES)
def test_the_parts_add_up_to_the_logit_of_transformers(case: str) -> None:
    model = head_families.build(case)
    with torch.inference_mode():
        expected = model(torch.tensor([IDS]), use_cache=False).logits[0].float().numpy()
    head, sequence = head_families.learned(model)
    assert head.is_understood
    for length in (20, 24, 9):
        row = sequence.rows(IDS[:length], 1, UNWATCHED)[0]
        for token_id in (0, 50, 100):
            parts = head.explain(token_id, row, tied=False)
            assert parts.logit == pytest.approx(expected[length - 1, token_id], abs=1e-3)
            assert parts.model_logit == row[token_id]


def test_the_hidden_state_is_the_one_behind_the_final_norm() -> None:
    """Llama's ``model(...)`` ends in the final norm: its last state is the head's input."""
    model = head_families.build("llama")
    with torch.inference_mode():
        state = model.model(torch.tensor([IDS]), use_cache=False).last_hidden_state[0, -1]
    head, sequence = head_families.learned(model)
    parts = head.explain(7, sequence.rows(IDS, 1, UNWATCHED)[0], tied=False)
    weights = model.lm_head.weight[7].detach()
    assert parts.width == 32
    assert parts.hidden_norm == pytest.approx(float(state.norm()), rel=1e-5)
    assert parts.row_norm == pytest.approx(float(weights.norm()), rel=1e-6)
    cosine = torch.nn.functional.cosine_similarity(state, weights, dim=0)
    assert parts.cosine == pytest.approx(float(cosine), abs=1e-5)
    assert parts.angle == pytest.approx(np.degrees(np.arccos(float(cosine))), abs=1e-3)


@pytest.mark.parametrize(
    ("case", "scale", "cap", "has_bias"),
    [
        ("llama", 1.0, None, False),
        ("soft cap", 1.0, 5.0, False),
        ("bias of Phi", 1.0, None, True),
        ("scale of Cohere", 0.0625, None, False),
        ("scale of Granite", 0.125, None, False),
        ("scale of Falcon-H1", 0.03, None, False),
    ],
)
def test_every_part_is_named(case: str, scale: float, cap: float | None, has_bias: bool) -> None:
    head, sequence = head_families.learned(head_families.build(case))
    parts = head.explain(50, sequence.rows(IDS, 1, UNWATCHED)[0], tied=False)
    assert (parts.scale, parts.soft_cap, parts.bias is not None) == (scale, cap, has_bias)


def test_a_scale_that_nobody_states_is_measured() -> None:
    model = head_families.build("llama")
    forward = model.forward

    @functools.wraps(forward)
    def scaled(*arguments: Any, **named: Any) -> Any:
        output = forward(*arguments, **named)
        output.logits = output.logits * 0.37
        return output

    model.forward = scaled
    head, sequence = head_families.learned(model)
    parts = head.explain(50, sequence.rows(IDS, 1, UNWATCHED)[0], tied=False)
    assert parts.scale == pytest.approx(0.37, rel=1e-5)


def test_a_head_that_does_something_else_is_not_explained() -> None:
    model = head_families.build("llama")
    head = OutputHead(torch, model)
    row = CachedSequence(torch, model).rows([1], 1, UNWATCHED)[0]
    head.learn(row**2)
    assert not head.is_understood


# -- the backend --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def backend(tiny_hf: Path) -> Iterator[HfBackend]:
    opened = hf.load(tiny_hf, CPU)
    yield opened
    opened.close()


def test_the_backend_explains_its_own_rows(backend: HfBackend) -> None:
    assert backend.info.capabilities.hidden_state
    row = backend.next_logits(IDS)
    for token_id in (0, 3, int(row.argmax()), len(row) - 1):
        parts = backend.unembed(IDS, token_id)
        assert parts.logit == pytest.approx(float(row[token_id]), abs=1e-3)
        assert parts.tied is False


def test_explaining_the_newest_row_costs_no_pass(
    backend: HfBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend.next_logits(IDS)
    fed: list[int] = []
    feed = CachedSequence._feed

    def counted(self: CachedSequence, ids: Any, count: int) -> Any:
        fed.append(len(ids))
        return feed(self, ids, count)

    monkeypatch.setattr(CachedSequence, "_feed", counted)
    backend.unembed(IDS, 3)
    assert fed == []
    # An earlier position is a cut and one decode.
    backend.unembed(IDS[:10], 3)
    assert fed == [1]


def test_after_scoring_the_state_is_that_of_the_last_position(backend: HfBackend) -> None:
    rows = np.concatenate([chunk.copy() for chunk in backend.score(IDS, 1, len(IDS) + 1)])
    for length in (len(IDS), 7):
        parts = backend.unembed(IDS[:length], 9)
        assert parts.logit == pytest.approx(float(rows[length - 1, 9]), abs=1e-3)


def test_a_tied_table_is_said_to_be_tied(tmp_path: Path) -> None:
    folder = tiny_models.save_byte_level(tmp_path / "tied", changes={"tie_word_embeddings": True})
    opened = hf.load(folder, CPU)
    assert opened.unembed([0, 5, 9], 5).tied is True
    opened.close()


def test_ids_outside_the_vocabulary_are_refused(backend: HfBackend) -> None:
    with pytest.raises(ValueError, match="vocabulary"):
        backend.unembed(IDS, backend.info.n_vocab)
    with pytest.raises(ValueError, match="vocabulary"):
        backend.unembed(IDS, -1)
