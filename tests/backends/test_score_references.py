"""Losses of whole texts against what transformers, PyTorch and published figures say."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from logitscope.backends.base import Backend, LoadOptions
from logitscope.losses import LossTable
from logitscope.scoring_passes import scoring_passes
from logitscope.surprisal import token_numbers

pytest.importorskip("torch", reason="the extra `torch` is not installed")
pytestmark = pytest.mark.torch

QWEN = "LOGITSCOPE_QWEN3_06B"
"""Environment variable: the folder of Qwen3-0.6B, as published on Hugging Face."""

TEXTS = (
    "The sky is blue, and the grass is green; isn't it?",
    "def area(width):\n\tif width < 0:\n\t\traise ValueError('width')\r\n",
    "天空是蓝色的，草是绿色的。你好，世界！ Небо голубое. 👩🏽‍🚀",
)


def losses(backend: Backend, ids: list[int], window: int = 256) -> LossTable:
    """The numbers of a text, by the same passes as the command line makes."""
    table = LossTable()
    table.follow(ids)
    for each in scoring_passes([ids], window, None, backend.vocabulary.bos):
        position = each.position
        for rows in backend.score(each.ids, each.start, len(each.ids)):
            table.put(position, token_numbers(rows, table.ids[position : position + len(rows)]))
            position += len(rows)
    return table


@pytest.fixture(scope="module")
def hf_backend(tiny_hf: Path) -> Iterator[Backend]:
    from logitscope.backends import hf

    backend = hf.load(tiny_hf, LoadOptions(device="cpu", threads=1))
    yield backend
    backend.close()


@pytest.fixture(scope="module")
def reference(tiny_hf: Path) -> Any:
    """transformers' own model of the same folder, in float32."""
    import torch
    from transformers import AutoModelForCausalLM

    torch.set_num_threads(1)
    return AutoModelForCausalLM.from_pretrained(tiny_hf, local_files_only=True, dtype=torch.float32)


@pytest.mark.parametrize("text", TEXTS)
def test_mean_loss_is_that_of_transformers_labels(
    hf_backend: Backend, reference: Any, text: str
) -> None:
    import torch

    ids = hf_backend.tokenize(text, add_special=True, parse_special=False)
    batch = torch.tensor([ids])
    with torch.inference_mode():
        expected = reference(batch, labels=batch, use_cache=False).loss.item()
    summary = losses(hf_backend, ids).summary(0, len(ids), None, None)
    assert summary.tokens == len(ids) - 1
    assert summary.mean_loss == pytest.approx(expected, rel=1e-4)
    assert summary.perplexity == pytest.approx(math.exp(expected), rel=1e-3)


@pytest.mark.parametrize("text", TEXTS)
def test_every_token_against_cross_entropy(hf_backend: Backend, reference: Any, text: str) -> None:
    import torch
    from torch.nn import functional

    ids = hf_backend.tokenize(text, add_special=True, parse_special=False)
    with torch.inference_mode():
        logits = reference(torch.tensor([ids]), use_cache=False).logits[0, :-1].double()
    expected = functional.cross_entropy(logits, torch.tensor(ids[1:]), reduction="none")
    table = losses(hf_backend, ids)
    np.testing.assert_allclose(table.loss[1:], expected.numpy(), rtol=1e-4, atol=1e-5)
    entropy = torch.distributions.Categorical(logits=logits).entropy()
    np.testing.assert_allclose(table.entropy[1:], entropy.numpy(), rtol=1e-4, atol=1e-5)


def test_windows_are_separate_texts_to_transformers(hf_backend: Backend, reference: Any) -> None:
    """Each window is a text of its own that begins with BOS; a token counts where it is scored."""
    import torch
    from torch.nn import functional

    ids = hf_backend.tokenize(" ".join(TEXTS), add_special=True, parse_special=False)
    window, step = 20, 10
    assert len(ids) > 2 * window
    expected = np.full(len(ids), np.nan)
    for begin in range(0, len(ids), step):
        part = ids[begin : begin + window]
        part[0] = ids[0]
        with torch.inference_mode():
            logits = reference(torch.tensor([part]), use_cache=False).logits[0, :-1].double()
        loss = functional.cross_entropy(logits, torch.tensor(part[1:]), reduction="none").numpy()
        places = np.arange(begin + 1, begin + len(part))
        new = np.isnan(expected[places])
        expected[places[new]] = loss[new]
    table = losses(hf_backend, ids, window)
    assert np.isnan(table.loss[0])
    np.testing.assert_allclose(table.loss[1:], expected[1:], rtol=1e-4, atol=1e-5)


def test_without_bos_the_first_token_is_unknown(hf_backend: Backend) -> None:
    bare = hf_backend.tokenize(TEXTS[0], add_special=False, parse_special=False)
    led = hf_backend.tokenize(TEXTS[0], add_special=True, parse_special=False)
    assert led == [hf_backend.vocabulary.bos, *bare]
    assert np.isnan(losses(hf_backend, bare).loss).nonzero()[0].tolist() == [0]
    # With BOS in front it is only BOS itself, which is no token of the text.
    assert np.isnan(losses(hf_backend, led).loss).nonzero()[0].tolist() == [0]
    assert losses(hf_backend, led).known == len(bare)


@pytest.mark.llama
def test_llamacpp_gives_the_losses_of_hf(hf_backend: Backend, tiny_gguf: Path) -> None:
    pytest.importorskip("llama_cpp", reason="the extra `llama` is not installed")
    from logitscope.backends import llamacpp

    other = llamacpp.load(tiny_gguf, LoadOptions(cache_type="f32", threads=1))
    try:
        for text in TEXTS:
            ids = hf_backend.tokenize(text, add_special=True, parse_special=False)
            ours, theirs = losses(hf_backend, ids), losses(other, ids)
            # 1e-3 in any logit (test_parity) is at most twice that in a loss.
            np.testing.assert_allclose(theirs.loss, ours.loss, atol=2e-3, rtol=0)
            np.testing.assert_allclose(theirs.entropy, ours.entropy, atol=1e-2, rtol=0)
            mean = ours.summary(0, len(ids), None, None).mean_loss
            assert theirs.summary(0, len(ids), None, None).mean_loss == pytest.approx(
                mean, rel=1e-4
            )
    finally:
        other.close()


def test_a_model_of_1024_learned_positions_reads_3000_tokens(tmp_path: Path) -> None:
    import torch
    from tiny_models import byte_level_tokenizer, save_folder
    from torch.nn import functional
    from transformers import GPT2Config, GPT2LMHeadModel

    from logitscope.backends import hf

    tokenizer = byte_level_tokenizer()
    shape = {"n_positions": 1024, "n_embd": 32, "n_layer": 1, "n_head": 2}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = GPT2LMHeadModel(
            GPT2Config(vocab_size=1000, bos_token_id=0, eos_token_id=1, **shape)
        ).eval()
    backend = hf.load(
        save_folder(tmp_path / "gpt2", model, tokenizer), LoadOptions(device="cpu", threads=1)
    )
    try:
        assert backend.info.context_length == 1024
        ids = np.random.default_rng(0).integers(3, 1000, 3000).tolist()
        table = losses(backend, ids, backend.info.context_length)
    finally:
        backend.close()
    assert table.known == 2999
    # The last window: positions 2048 to 2999; the first of them that no window before scored.
    with torch.inference_mode():
        logits = model(torch.tensor([ids[2048:]])).logits[0, :-1].double()
    expected = functional.cross_entropy(logits, torch.tensor(ids[2049:]), reduction="none").numpy()
    np.testing.assert_allclose(table.loss[2560:], expected[2560 - 2049 :], rtol=1e-4)


@pytest.fixture(scope="module")
def qwen() -> Iterator[Backend]:
    from logitscope.backends import hf

    folder = os.environ.get(QWEN)
    if not folder:
        pytest.skip(f"{QWEN} does not name the folder of Qwen3-0.6B")
    backend = hf.load(Path(folder), LoadOptions(device="cpu"))
    yield backend
    backend.close()


@pytest.fixture
def split(qwen: Backend) -> Callable[[str], list[int]]:
    return lambda text: qwen.tokenize(text, add_special=False, parse_special=False)


def test_published_distribution_of_qwen3(qwen: Backend, split: Callable[[str], list[int]]) -> None:
    ids = split("中国的首都是")
    assert ids == [105538, 59975, 100132]
    row = qwen.next_logits(ids).astype(np.float64)
    probability = np.exp(row - row.max())
    probability /= probability.sum()
    best = np.argsort(-probability, kind="stable")[:5].tolist()
    names = [qwen.vocabulary.bytes_of(i).decode() for i in best]
    assert names == ["____", "北京", "城市", "位于", "建"]
    published = [0.122, 0.094, 0.048, 0.043, 0.037]
    assert probability[best] == pytest.approx(published, abs=6e-4)


def test_published_losses_of_qwen3(qwen: Backend, split: Callable[[str], list[int]]) -> None:
    ids = split("北京是中国的首都，也是全国的政治和文化中心。")
    assert len(ids) == 12
    table = losses(qwen, ids)
    published = [17.86, 1.64, 1.93, 0.29, 2.35, 4.6, 3.22, 5.15, 3.16, 0.0, 0.53]
    assert table.loss[1:] == pytest.approx(published, abs=0.01)
    summary = table.summary(0, len(ids), None, None)
    assert summary.mean_loss == pytest.approx(3.703, abs=1e-3)
    assert summary.perplexity == pytest.approx(40.58, rel=1e-3)
