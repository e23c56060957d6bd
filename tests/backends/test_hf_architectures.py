"""Every family of models: cached, cut and chunked passes equal one pass of transformers itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")
transformers = pytest.importorskip("transformers", reason="the extra `torch` is not installed")
head_families: Any = pytest.importorskip("head_families")


from logitscope.backends.base import UNWATCHED  # noqa: E402
from logitscope.backends.hf_sequence import CachedSequence  # noqa: E402

pytestmark = pytest.mark.torch

SMALL = head_families.SMALL | {"initializer_range": 0.2}

FAMILIES: dict[str, dict[str, Any]] = {
    "llama": {},
    "qwen2": {},
    "qwen3": {},
    "mistral": {"sliding_window": 6},
    "gemma2": {"sliding_window": 6},
    "gemma3_text": {"sliding_window": 6, "layer_types": ["sliding_attention", "full_attention"]},
    "phi3": {"sliding_window": 6},
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64},
    "gpt_neox": {},
    "bloom": {"n_layer": 2, "n_head": 4},
    "opt": {"ffn_dim": 48, "word_embed_proj_dim": 32},
    "olmo2": {},
    "mixtral": {"num_local_experts": 3, "num_experts_per_tok": 2},
    "mamba": {"state_size": 4},
    "falcon_mamba": {"state_size": 4},
    "mamba2": {"num_heads": 8, "head_dim": 8, "state_size": 4, "n_groups": 1},
    "qwen3_next": {
        "layer_types": ["linear_attention", "full_attention"],
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 2,
        "linear_key_head_dim": 8,
        "linear_value_head_dim": 8,
        "num_experts": 0,
        "decoder_sparse_step": 1,
    },
    "jamba": {
        "attn_layer_period": 2,
        "attn_layer_offset": 1,
        "num_experts": 1,
        "use_mamba_kernels": False,
    },
    "lfm2": {"layer_types": ["conv", "full_attention"]},
}


def build(family: str) -> Any:
    config = transformers.AutoConfig.for_model(family, **(SMALL | FAMILIES[family]))
    with torch.random.fork_rng():
        torch.manual_seed(3)
        return transformers.AutoModelForCausalLM.from_config(config).eval()


@pytest.mark.parametrize("family", FAMILIES)
def test_continuing_and_cutting_back_equal_one_pass(family: str) -> None:
    model = build(family)
    ids = np.random.default_rng(5).integers(3, 101, size=24).tolist()
    with torch.inference_mode():
        expected = model(torch.tensor([ids]), use_cache=False).logits[0].float().numpy()
    sequence = CachedSequence(torch, model)
    sequence.settle(1)
    scale = np.ptp(expected)
    for length in (20, 24, 9, 10, 24, 23, 3, 1, 15):
        row = sequence.rows(ids[:length], 1, UNWATCHED)
        assert np.abs(row[0] - expected[length - 1]).max() < 1e-5 * scale
    rows = sequence.rows(ids, 10, UNWATCHED)
    assert np.abs(rows - expected[14:]).max() < 1e-5 * scale
