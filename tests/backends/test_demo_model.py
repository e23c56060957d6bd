"""The shipped demo model: what its card says of it, and that both formats are the same model."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from logitscope.backends.base import Backend, LoadOptions
from logitscope.backends.registry import open_backend
from logitscope.distribution import Distribution

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "resources" / "demo"
FORMATS = {
    "llama_cpp": DEMO / "logitscope-tiny-F16.gguf",
    "torch": DEMO / "logitscope-tiny",
}
TEXTS = (
    "The capital of France is",
    "Once upon a time, there was a brave duck named Theo.",
    "你好，世界 🙂👩‍👩‍👧 مرحبا",
    " \t\n\x00<s> literally",
    "",
)
COUNT = 40
"""Cases of each kind: enough to tell 90 % from 70 %."""


def opened(library: str) -> Backend:
    pytest.importorskip(library, reason=f"{library} is not installed")
    # The cache in float32: in float16 it moves logits by 0.07.
    return open_backend("", str(FORMATS[library]), LoadOptions(threads=1, cache_type="f32"))


@pytest.fixture(scope="module", params=list(FORMATS))
def demo(request: pytest.FixtureRequest) -> Iterator[Backend]:
    backend = opened(request.param)
    yield backend
    backend.close()


@pytest.fixture(scope="module")
def recipe() -> Iterator[Any]:
    """The module that evaluates the model at the end of its training."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "packaging" / "demo_model"))
        yield importlib.import_module("evaluate")


def ids(backend: Backend, text: str) -> list[int]:
    return backend.tokenize(text, add_special=True, parse_special=False)


def test_every_file_is_small() -> None:
    files = [path for path in DEMO.rglob("*") if path.is_file()]
    assert len(files) >= 5
    assert max(path.stat().st_size for path in files) < 10_000_000


def test_capitals_are_in_the_weights(demo: Backend, recipe: Any) -> None:
    assert recipe.share_right(demo, recipe.plain_capitals()) >= 0.95


def test_capitals_behind_words_that_are_not_in_the_training(demo: Backend, recipe: Any) -> None:
    assert recipe.share_right(demo, recipe.retold_capitals()) >= 0.95


def test_rules_of_codes_and_numbers_never_seen_together(demo: Backend, recipe: Any) -> None:
    one_rule = [case for case in recipe.policies() if case.prompt.count("\n") == 1]
    assert recipe.share_right(demo, one_rule[:COUNT]) >= 0.9


def test_the_policy_overrides_the_weights(demo: Backend, recipe: Any) -> None:
    asked = recipe.QUESTION
    told = recipe.probabilities(demo, recipe.POLICY + asked, (" 45", " 30"))
    assert told[" 45"] > 0.5
    assert told[" 45"] > 3 * told[" 30"]
    alone = recipe.probabilities(demo, asked, (" 30", " 14", " 45", " 60"))
    assert alone[" 30"] == max(alone.values())
    assert alone[" 30"] > 0.4
    assert all(alone[days] > 0.02 for days in (" 14", " 45", " 60"))


def test_an_open_choice_has_a_head_and_a_long_tail(demo: Backend) -> None:
    row = Distribution(demo.next_logits(ids(demo, "The sky is")))
    assert demo.vocabulary.text_bytes([int(row.top(1)[0])]) == b" blue"
    assert row.entropy > 1.0


def test_names_are_cheap_at_their_second_mention(demo: Backend, recipe: Any) -> None:
    first, second = recipe.mention_losses(demo)
    assert first > 2.0
    assert second < first / 4


def test_both_formats_are_the_same_model() -> None:
    one, other = opened("llama_cpp"), opened("torch")
    try:
        for text in TEXTS:
            sequence = ids(one, text)
            assert sequence == ids(other, text)
            left, right = (np.array(b.next_logits(sequence)) for b in (one, other))
            assert np.abs(left - right).max() < 0.05
            assert int(left.argmax()) == int(right.argmax())
    finally:
        one.close()
        other.close()


@pytest.mark.parametrize(("kind", "most"), [("Q8_0", 3.0), ("Q4_0", 12.0)])
def test_quantized_variants(recipe: Any, tmp_path: Path, kind: str, most: float) -> None:
    """For comparisons: the same ids, other logits, and still the same fact."""
    pytest.importorskip("torch", reason="torch is not installed")
    gguf = tmp_path / f"tiny-{kind}.gguf"
    importlib.import_module("export").write_gguf(FORMATS["torch"], gguf, kind)
    exact = opened("llama_cpp")
    coarse = open_backend("", str(gguf), LoadOptions(threads=1))
    try:
        sequence = ids(exact, "The capital of France is")
        assert ids(coarse, "The capital of France is") == sequence
        left, right = (np.array(b.next_logits(sequence)) for b in (exact, coarse))
        assert 1e-3 < np.abs(left - right).max() < most
        assert int(left.argmax()) == int(right.argmax())
    finally:
        exact.close()
        coarse.close()
