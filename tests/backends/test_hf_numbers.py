"""Numbers without rows, against the rows of the same model and transformers' own loss."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")
transformers = pytest.importorskip("transformers", reason="the extra `torch` is not installed")
tiny_models: Any = pytest.importorskip("tiny_models")
head_families: Any = pytest.importorskip("head_families")

from logitscope.backends import hf_numbers  # noqa: E402
from logitscope.backends.base import Cancelled, LoadOptions, Watch  # noqa: E402
from logitscope.backends.hf import HfBackend, load  # noqa: E402
from logitscope.backends.numbers import numbers_of, scored_numbers  # noqa: E402
from logitscope.surprisal import TokenNumbers  # noqa: E402

pytestmark = pytest.mark.torch

VOCABULARY = 40_000
WATCH = Watch()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tiny_models.save_byte_level(
        tmp_path_factory.mktemp("wide") / "llama",
        n_vocab=VOCABULARY,
        changes={"max_position_embeddings": 299},
    )
    return path


@pytest.fixture
def wide(folder: Path) -> Iterator[HfBackend]:
    backend = load(folder, LoadOptions(device="cpu", threads=2))
    yield backend
    backend.close()


@pytest.fixture
def ids() -> list[int]:
    return np.random.default_rng(4).integers(3, VOCABULARY, size=300).tolist()


def joined(chunks: Iterator[TokenNumbers]) -> dict[str, np.ndarray]:
    made = list(chunks)
    names = TokenNumbers.__dataclass_fields__
    return {name: np.concatenate([getattr(each, name) for each in made]) for name in names}


def test_the_loss_is_that_of_transformers(wide: HfBackend, folder: Path, ids: list[int]) -> None:
    found = joined(scored_numbers(wide, ids, 1, len(ids), WATCH))
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    batch = torch.tensor([ids])
    with torch.inference_mode():
        loss = model(batch, labels=batch).loss.item()
    assert -found["log_probability"].mean() == pytest.approx(loss, rel=1e-5)


@pytest.mark.parametrize(("start", "stop"), [(1, 300), (1, 2), (130, 131), (100, 290)])
def test_numbers_are_those_of_the_rows(
    wide: HfBackend, ids: list[int], start: int, stop: int
) -> None:
    assert wide.info.capabilities.numbers
    found = joined(wide.score_numbers(ids, start, stop))
    rows = np.concatenate([c.copy() for c in wide.score(ids, start, stop)])
    expected = joined(numbers_of([rows], ids[start:stop]))
    assert len(found["rank"]) == stop - start
    for name in ("log_probability", "entropy", "logit"):
        np.testing.assert_allclose(found[name], expected[name], atol=1e-4)
    # Neighbours in rank may change places where they are as near as rounding.
    near = (np.abs(rows - found["logit"][:, None]) < 1e-4).sum(axis=1)
    assert (np.abs(found["rank"] - expected["rank"]) <= near).all()
    np.testing.assert_allclose(
        found["top_log_probability"], expected["top_log_probability"], atol=1e-4
    )


def test_what_comes_next_is_as_it_was(wide: HfBackend, ids: list[int]) -> None:
    before = wide.next_logits(ids[:50])
    joined(wide.score_numbers(ids, 40, 60))
    np.testing.assert_allclose(wide.next_logits(ids[:50]), before, atol=1e-4)
    explained = wide.unembed(ids[:50], 9)
    assert explained.model_logit == pytest.approx(float(before[9]), abs=1e-4)


def test_too_many_ties_are_settled_by_whole_rows(
    wide: HfBackend, ids: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = joined(wide.score_numbers(ids, 1, 40))
    monkeypatch.setattr("logitscope.slice_numbers.MOST_KEPT", 10)
    found = joined(wide.score_numbers(ids, 1, 40))
    np.testing.assert_allclose(found["log_probability"], expected["log_probability"], atol=1e-4)


def test_a_stop_between_slices_leaves_the_model_usable(wide: HfBackend, ids: list[int]) -> None:
    asked = 0

    def stops() -> bool:
        nonlocal asked
        asked += 1
        return asked > 8

    with pytest.raises(Cancelled):
        list(wide.score_numbers(ids, 1, 100, Watch(is_cancelled=stops)))
    assert len(joined(wide.score_numbers(ids, 1, 100))["rank"]) == 99


def test_numbers_end_before_a_row_that_is_none(wide: HfBackend, ids: list[int]) -> None:
    """Attention spreads NaN over all tokens of the pass that reads the broken one."""
    with torch.inference_mode():
        wide._sequence._model.get_input_embeddings().weight[ids[200]] = float("nan")
    found = joined(wide.score_numbers(ids, 1, 300))
    assert hf_numbers.LEAST_TOKENS <= len(found["rank"]) <= 200
    assert np.isfinite(found["log_probability"]).all()


def test_no_chunk_is_empty(wide: HfBackend, ids: list[int]) -> None:
    with torch.inference_mode():
        wide._sequence._model.get_input_embeddings().weight[ids[0]] = float("nan")
    assert list(wide.score_numbers(ids, 1, 100)) == []


def test_a_pass_is_as_long_as_a_second_allows(wide: HfBackend) -> None:
    numbers = wide._numbers
    for tokens, seconds, expected in ((64, 0.4, 160), (160, 0.1, 512), (512, 20.0, 64)):
        numbers.took(tokens, seconds)
        assert numbers.tokens == expected


def test_a_small_vocabulary_is_scored_by_rows(tiny_hf: Path) -> None:
    backend = load(tiny_hf, LoadOptions(device="cpu", threads=1))
    assert not backend.info.capabilities.numbers
    backend.close()


@pytest.mark.parametrize("case", ["llama", "tied", "soft cap", "bias of GPT-J", "bias of Phi",
                                  "scale of Cohere", "scale of Granite"])  # fmt: skip
def test_what_is_done_behind_the_head(case: str) -> None:
    """Soft caps, biases and scales: slices of the head are the model's own rows."""
    model = head_families.build(case)
    head, sequence = head_families.learned(model)
    numbers = hf_numbers.HeadNumbers(torch, head, 101)
    ids = head_families.IDS
    assert head.is_exact
    with head.gathering() as states:
        sequence.rows(ids[:-1], len(ids) - 1, WATCH)
    found = numbers.of(torch.cat(states), ids[1:], WATCH)
    numbers.close()
    with torch.inference_mode():
        logits = model(torch.tensor([ids]), use_cache=False).logits[0, :-1].double()
    logs = torch.log_softmax(logits, 1).numpy()
    expected = logs[np.arange(len(ids) - 1), ids[1:]]
    np.testing.assert_allclose(found.log_probability, expected, atol=1e-5)
    np.testing.assert_array_equal(found.top_ids[:, 0], logs.argmax(axis=1))
