"""Attributions by gradients, against autograd by hand, Captum and exact arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch: Any = pytest.importorskip("torch", reason="the extra `torch` is not installed")
transformers: Any = pytest.importorskip("transformers", reason="the extra `torch` is not installed")

from logitscope.attribution_units import GradientMethod  # noqa: E402
from logitscope.backends import hf  # noqa: E402
from logitscope.backends.base import UNWATCHED, BackendError, Cancelled, LoadOptions, Watch  # noqa: E402
from logitscope.backends.hf import HfBackend  # noqa: E402
from logitscope.backends.hf_gradients import Gradients  # noqa: E402

pytestmark = pytest.mark.torch

CPU = LoadOptions(device="cpu", threads=1)
IDS = [0, *np.random.default_rng(5).integers(3, 250, size=19).tolist()]
TARGET = 77
SIMPLE, INTEGRATED = GradientMethod.GRADIENT_X_INPUT, GradientMethod.INTEGRATED_GRADIENTS


@pytest.fixture(scope="module")
def backend(tiny_hf: Path) -> Iterator[HfBackend]:
    opened = hf.load(tiny_hf, CPU)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def reference(tiny_hf: Path) -> Any:
    """transformers' own model on the same weights."""
    model = transformers.AutoModelForCausalLM.from_pretrained(tiny_hf, dtype=torch.float32)
    return model.eval()


def log_probability(model: Any, embeddings: Any, target: int = TARGET) -> Any:
    """Of the target behind rows of embeddings, (m,)."""
    logits = model(inputs_embeds=embeddings, use_cache=False).logits[:, -1]
    return torch.log_softmax(logits, dim=-1)[:, target]


def embeddings_of(model: Any, ids: Sequence[int]) -> Any:
    return model.get_input_embeddings()(torch.tensor([list(ids)])).detach()


def test_gradient_times_input_is_that_of_autograd(backend: HfBackend, reference: Any) -> None:
    given = embeddings_of(reference, IDS).requires_grad_(True)
    value = log_probability(reference, given)[0]
    (gradient,) = torch.autograd.grad(value, given)
    found = backend.attribute(IDS, TARGET, SIMPLE)
    assert found.values.dtype == np.float64
    np.testing.assert_allclose(found.values, (gradient * given)[0].sum(-1).detach(), atol=1e-5)
    assert found.log_probability == pytest.approx(value.item(), abs=1e-5)


def test_gemma_scales_its_embeddings() -> None:
    config = transformers.AutoConfig.for_model(
        "gemma3_text", vocab_size=101, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, head_dim=8, max_position_embeddings=64,
        sliding_window=6, initializer_range=0.4,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = transformers.AutoModelForCausalLM.from_config(config).eval()
    ids = [2, 9, 8, 50, 51, 52, 60, 61, 7]
    given = embeddings_of(model, ids).requires_grad_(True)
    (gradient,) = torch.autograd.grad(log_probability(model, given)[0], given)
    gradients = Gradients(torch, model, 2)
    found = gradients.attribute(ids, TARGET, SIMPLE, 1, UNWATCHED)
    np.testing.assert_allclose(found.values, (gradient * given)[0].sum(-1).detach(), atol=1e-5)
    whole = gradients.attribute(ids, TARGET, INTEGRATED, 200, UNWATCHED)
    assert whole.incompleteness is not None
    assert whole.incompleteness < 1e-2


def test_integrated_gradients_are_those_of_captum(backend: HfBackend, reference: Any) -> None:
    captum = pytest.importorskip("captum.attr")
    given = embeddings_of(reference, IDS)
    baseline = reference.get_input_embeddings().weight.detach().mean(0).expand_as(given).clone()
    # BOS stays what it is.
    baseline[0, 0] = given[0, 0]
    method = captum.IntegratedGradients(lambda rows: log_probability(reference, rows))
    expected = method.attribute(given, baseline, n_steps=20, method="gausslegendre")[0].sum(-1)
    found = backend.attribute(IDS, TARGET, INTEGRATED, 20)
    np.testing.assert_allclose(found.values, expected.detach(), atol=1e-4)
    assert found.values[0] == 0.0


def test_integrated_gradients_sum_to_the_difference(backend: HfBackend, reference: Any) -> None:
    given = embeddings_of(reference, IDS)
    baseline = reference.get_input_embeddings().weight.detach().mean(0).expand_as(given).clone()
    baseline[0, 0] = given[0, 0]
    with torch.no_grad():
        both = log_probability(reference, torch.cat([given, baseline])).tolist()
    found = backend.attribute(IDS, TARGET, INTEGRATED, 200)
    assert found.values.sum() == pytest.approx(both[0] - both[1], rel=1e-2)
    assert found.incompleteness is not None
    assert found.incompleteness < 1e-2


class Linear(torch.nn.Module):
    """Logits are a weighted sum of the embeddings: every token's part can be told by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(12, 5)
        self.head = torch.nn.Linear(5, 12, bias=False)

    def get_input_embeddings(self) -> Any:
        return self.table

    def forward(self, input_ids: Any, use_cache: bool) -> Any:
        places = torch.arange(1, input_ids.shape[1] + 1)[None, :, None]
        return SimpleNamespace(logits=self.head((self.table(input_ids) * places).cumsum(dim=1)))


def test_a_linear_model_by_hand() -> None:
    model = Linear()
    table, head = (part.weight.detach().double().numpy() for part in (model.table, model.head))
    ids, target = [3, 1, 4, 1, 5], 9
    parts = np.arange(1, 6)[:, None] * (table[ids] @ head.T)
    logits = parts.sum(0)
    chances = np.exp(logits - np.logaddexp.reduce(logits))
    # d log p(t) / d logit = [t] - p
    expected = parts[:, target] - parts @ chances
    found = Gradients(torch, model, None).attribute(ids, target, SIMPLE, 1, UNWATCHED)
    np.testing.assert_allclose(found.values, expected, atol=1e-5)
    assert found.log_probability == pytest.approx(np.log(chances[target]), abs=1e-5)


# -- within the backend -------------------------------------------------------------------------


def test_the_live_text_is_left_alone(backend: HfBackend) -> None:
    assert backend.info.capabilities.gradients
    row = backend.next_logits(IDS)
    backend.attribute(IDS[:9], TARGET, SIMPLE)
    assert np.abs(backend.next_logits([*IDS, 5])[:5]).max() > 0
    assert backend.last_pass.evaluated == 1
    np.testing.assert_allclose(backend.next_logits(IDS), row, atol=1e-4)
    backend.attribute(IDS[:9], TARGET, INTEGRATED, 3)
    parts = backend.unembed(IDS, 9)
    assert parts.logit == pytest.approx(float(row[9]), abs=1e-3)


def test_variants_do_not_mislead_the_explanation(backend: HfBackend) -> None:
    row = backend.next_logits(IDS)
    list(backend.score_variants([IDS[:4], IDS[:9]], [5, 6]))
    list(backend.score_cuts(IDS, [[(1, 3)]], [5, 6]))
    assert backend.unembed(IDS, 9).logit == pytest.approx(float(row[9]), abs=1e-3)


def test_a_stop_between_two_points(backend: HfBackend) -> None:
    told: list[tuple[int, int]] = []
    watch = Watch(
        is_cancelled=lambda: len(told) >= 3, report=lambda done, total: told.append((done, total))
    )
    with pytest.raises(Cancelled):
        backend.attribute(IDS, TARGET, INTEGRATED, 10, watch)
    assert told == [(1, 10), (2, 10), (3, 10)]
    assert len(backend.attribute(IDS, TARGET, SIMPLE).values) == len(IDS)


def test_what_has_no_attribution_is_refused(backend: HfBackend) -> None:
    with pytest.raises(ValueError, match="without ids"):
        backend.attribute([], TARGET, SIMPLE)
    with pytest.raises(ValueError, match="vocabulary"):
        backend.attribute(IDS, 10**6, SIMPLE)
    with pytest.raises(ValueError, match="vocabulary"):
        backend.attribute([*IDS, -1], TARGET, SIMPLE)


def test_a_closed_backend_refuses(tiny_hf: Path) -> None:
    opened = hf.load(tiny_hf, CPU)
    opened.close()
    with pytest.raises(BackendError, match="closed"):
        opened.attribute(IDS, TARGET, SIMPLE)
