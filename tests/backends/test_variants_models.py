"""Variants on a real model, on one that cannot go back, and in a window that slides."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray

from logitscope.backends.base import LoadOptions, Watch
from logitscope.backends.plain_variants import without
from logitscope.backends.variants import VariantModel

if TYPE_CHECKING:
    LlamaCppBackend = Any

SENTENCES = (
    "The Harwell library opened in 1962 and has four floors.",
    " The director of the library is Marta Quinn, who came from Leeds.",
    " Members may borrow up to nine books at a time for twenty-one days.",
    " A small cafe on the ground floor sells soup and bread.",
    " Late fees are thirty pence a day for each book.",
    " The reading room closes at half past seven on Thursdays.",
)
QUESTION = "\n\nQuestion: Who is the director, and how many books may members keep?\nAnswer:"
ANSWER = " The director is Marta Quinn, and members may keep up to nine books."


def logs(numbers: Sequence[Any]) -> NDArray[np.float64]:
    return np.array([each.log_probability for each in numbers])


class Prompt:
    """Six sentences and a question, in the tokens of a model."""

    def __init__(self, model: VariantModel, bos: int) -> None:
        self.ids = [bos]
        self.spans: list[tuple[int, int]] = []
        for sentence in SENTENCES:
            piece = model.tokenize(sentence)
            self.spans.append((len(self.ids), len(self.ids) + len(piece)))
            self.ids += piece
        self.ids += model.tokenize(QUESTION)
        self.answer = model.tokenize(ANSWER)

    @property
    def removals(self) -> list[list[int]]:
        """The prompt, and the prompt without each sentence."""
        return [self.ids, *(without(self.ids, [span]) for span in self.spans)]


# -- Gemma --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gemma(gemma_path: Path) -> Iterator[LlamaCppBackend]:
    pytest.importorskip("llama_cpp", reason="the extra `llama` is not installed")
    options = LoadOptions(context_length=512, threads=1)
    opened = importlib.import_module("logitscope.backends.llamacpp").load(gemma_path, options)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def prompt(gemma: LlamaCppBackend) -> Prompt:
    return Prompt(VariantModel(gemma), gemma.vocabulary.bos)


@pytest.fixture(scope="module")
def exact(gemma: LlamaCppBackend, prompt: Prompt) -> NDArray[np.float64]:
    return logs(VariantModel(gemma).score_variants(prompt.removals, prompt.answer))


@pytest.mark.gemma
@pytest.mark.llama
@pytest.mark.parametrize("which", [0, 2, 6])
def test_variants_are_scored_as_they_are_alone(
    gemma_path: Path, prompt: Prompt, exact: NDArray[np.float64], which: int
) -> None:
    """By a model that was opened for it: in a used cache, rows alone differ by up to 0.3 nat."""
    options = LoadOptions(context_length=512, threads=1)
    fresh = importlib.import_module("logitscope.backends.llamacpp").load(gemma_path, options)
    context = prompt.removals[which]
    ids = [*context, *prompt.answer]
    rows = np.concatenate([c.copy() for c in fresh.score(ids, len(context), len(ids))])
    fresh.close()
    wide = rows.astype(np.float64)
    alone = wide[range(len(rows)), prompt.answer] - np.logaddexp.reduce(wide, axis=1)
    assert np.abs(alone - exact[which]).max() <= 0.25


@pytest.mark.gemma
@pytest.mark.llama
def test_cuts_follow_the_exact_removals(
    gemma: LlamaCppBackend, prompt: Prompt, exact: NDArray[np.float64]
) -> None:
    assert gemma.info.capabilities.cut_cache
    cuts = [[], *([span] for span in prompt.spans)]
    found = logs(VariantModel(gemma).score_cuts(prompt.ids, cuts, prompt.answer))
    assert np.abs(found[0] - exact[0]).max() <= 0.25
    by_cut, by_removal = found[0] - found[1:], exact[0] - exact[1:]
    assert np.corrcoef(by_cut.ravel(), by_removal.ravel())[0, 1] >= 0.95
    assert np.corrcoef(by_cut.sum(axis=1), by_removal.sum(axis=1))[0, 1] >= 0.95


@pytest.mark.gemma
@pytest.mark.llama
def test_the_order_of_variants_does_not_matter(
    gemma: LlamaCppBackend, prompt: Prompt, exact: NDArray[np.float64]
) -> None:
    order = [3, 0, 6]
    some = [prompt.removals[i] for i in order]
    found = logs(VariantModel(gemma).score_variants(some, prompt.answer))
    assert np.abs(found - exact[order]).max() <= 0.25


@pytest.mark.gemma
@pytest.mark.llama
@pytest.mark.parametrize("others", [[], [2, 6], [4]])
def test_cuts_behind_an_exact_call_do_not_read_the_prompt_again(
    gemma: LlamaCppBackend, prompt: Prompt, exact: NDArray[np.float64], others: list[int]
) -> None:
    totals: list[int] = []
    model = VariantModel(gemma, Watch(report=lambda _done, total: totals.append(total)))
    model.score_variants(prompt.removals[:1] + [prompt.removals[i] for i in others], prompt.answer)
    totals.clear()
    found = logs(model.score_cuts(prompt.ids, [[]], prompt.answer))
    assert set(totals) == {len(prompt.answer)}
    assert np.abs(found[0] - exact[0]).max() <= 0.25


@pytest.mark.gemma
@pytest.mark.llama
def test_cuts_of_another_prompt_take_only_its_beginning(
    gemma: LlamaCppBackend, prompt: Prompt, exact: NDArray[np.float64]
) -> None:
    totals: list[int] = []
    model = VariantModel(gemma, Watch(report=lambda _done, total: totals.append(total)))
    model.score_variants(prompt.removals[:1], prompt.answer)
    totals.clear()
    found = logs(model.score_cuts(prompt.removals[3], [[]], prompt.answer))
    common = prompt.spans[2][0]
    assert set(totals) == {len(prompt.removals[3]) - 1 - common + len(prompt.answer)}
    assert np.abs(found[0] - exact[3]).max() <= 0.25


# -- a state that cannot be cut -----------------------------------------------------------------


def test_a_recurrent_gguf_is_read_once_a_variant(tmp_path: Path) -> None:
    pytest.importorskip("llama_cpp", reason="the extra `llama` is not installed")
    pytest.importorskip("transformers", reason="the extra `torch` is not installed")
    path = importlib.import_module("tiny_recurrent").write_mamba(tmp_path / "mamba.gguf")
    options = LoadOptions(threads=1, cache_type="f32")
    backend = importlib.import_module("logitscope.backends.llamacpp").load(path, options)
    assert_falls_back(backend)


def test_a_recurrent_folder_is_read_once_a_variant(tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="the extra `torch` is not installed")
    tiny = importlib.import_module("tiny_models")
    model = random_model("mamba", state_size=4, vocab_size=1008)
    path = tiny.save_folder(tmp_path / "mamba", model, tiny.byte_level_tokenizer())
    options = LoadOptions(device="cpu", threads=1)
    assert_falls_back(importlib.import_module("logitscope.backends.hf").load(path, options))


def assert_falls_back(backend: Any) -> None:
    """Rows equal those of the recurrence run from the beginning of each text."""
    assert not backend.info.capabilities.cut_cache
    ids, tail = list(range(20, 50)), [60, 61, 62]
    contexts = [ids, ids[:9] + ids[15:], ids[4:]]
    found = {
        (chunk.variant, chunk.start + i): row.copy()
        for chunk in backend.score_variants(contexts, tail)
        for i, row in enumerate(chunk.rows)
    }
    cut = {
        (chunk.variant, chunk.start + i): row.copy()
        for chunk in backend.score_cuts(ids, [[], [(9, 15)], [(0, 4)]], tail)
        for i, row in enumerate(chunk.rows)
    }
    assert set(found) == set(cut) == {(v, i) for v in range(3) for i in range(3)}
    for (variant, i), row in found.items():
        backend.next_logits([70])
        alone = backend.next_logits([*contexts[variant], *tail[:i]])
        assert np.abs(row - alone).max() <= 1e-3
        assert np.abs(cut[variant, i] - alone).max() <= 1e-3
    backend.close()


# -- PyTorch ------------------------------------------------------------------------------------


def random_model(family: str, **changes: Any) -> Any:
    torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")
    transformers = pytest.importorskip("transformers")
    sizes = {
        "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
        "max_position_embeddings": 256, "pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 1,
        "initializer_range": 0.3,
    }  # fmt: skip
    config = transformers.AutoConfig.for_model(family, **(sizes | changes))
    with torch.random.fork_rng():
        torch.manual_seed(5)
        return transformers.AutoModelForCausalLM.from_config(config).eval()


@pytest.mark.torch
@pytest.mark.parametrize("family", ["llama", "gemma3_text", "gpt_neox"])
def test_a_cut_hides_its_tokens_from_what_is_read_again(tmp_path: Path, family: str) -> None:
    """Against one pass of transformers with a mask of its own: whole text, cut columns hidden from
    the rows behind the context's last but one token."""
    torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")
    tiny = importlib.import_module("tiny_models")
    window = {"sliding_window": 12} if family == "gemma3_text" else {}
    model = random_model(family, vocab_size=1008, attn_implementation="eager", **window)
    path = tiny.save_folder(tmp_path / family, model, tiny.byte_level_tokenizer())
    backend = importlib.import_module("logitscope.backends.hf").load(
        path, LoadOptions(device="cpu", threads=1)
    )
    assert backend.info.capabilities.cut_cache
    ids, tail, cut = list(range(20, 60)), [60, 61, 62, 63], (24, 33)
    text = torch.tensor([[*ids, *tail[:-1]]])
    n = text.shape[1]
    places = torch.arange(n)
    seen = places[None, :] <= places[:, None]
    seen[len(ids) - 1 :, cut[0] : cut[1]] = False
    mask = {"full_attention": seen, "sliding_attention": seen & (places[:, None] - places < 12)}
    added = {
        kind: torch.where(part, 0.0, torch.finfo(torch.float32).min)[None, None]
        for kind, part in mask.items()
    }
    with torch.inference_mode():
        expected = model(
            text, attention_mask=added if window else added["full_attention"], use_cache=False
        ).logits[0, len(ids) - 1 :]
    rows = {c.variant: c.rows for c in backend.score_cuts(ids, [[], [cut]], tail)}
    backend.close()
    np.testing.assert_allclose(rows[1], expected.numpy(), atol=1e-4)
    assert np.abs(rows[1] - rows[0]).max() > 1e-2
