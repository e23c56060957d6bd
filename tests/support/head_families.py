"""Small random models whose output heads differ in what is done behind them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import transformers

from logitscope.backends.base import UNWATCHED
from logitscope.backends.hf_sequence import CachedSequence
from logitscope.backends.hf_unembedding import OutputHead

SMALL = {
    "vocab_size": 101,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "initializer_range": 0.4,
}
GPT_SIZES = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "rotary_dim": 8}

FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("llama", {}),
    "tied": ("qwen3", {"tie_word_embeddings": True}),
    "untied": ("qwen3", {"tie_word_embeddings": False}),
    "soft cap": ("gemma2", {"sliding_window": 6, "final_logit_softcapping": 5.0}),
    "soft cap off": ("gemma2", {"sliding_window": 6, "final_logit_softcapping": None}),
    "bias of GPT-J": ("gptj", GPT_SIZES),
    "bias of Phi": ("phi", {"num_key_value_heads": 4}),
    "scale of Cohere": ("cohere", {"logit_scale": 0.0625}),
    "scale of Granite": ("granite", {"logits_scaling": 8.0}),
    "scale of Falcon-H1": (
        "falcon_h1",
        {"lm_head_multiplier": 0.03, "mamba_d_ssm": 32, "mamba_n_heads": 4, "mamba_d_head": 8,
         "mamba_d_state": 4, "mamba_n_groups": 1, "mamba_chunk_size": 8},
    ),
    "projection before the head": ("opt", {"ffn_dim": 48, "word_embed_proj_dim": 16}),
    "recurrent": ("mamba", {"state_size": 4}),
}  # fmt: skip

IDS = np.random.default_rng(5).integers(3, 101, size=24).tolist()


def build(case: str) -> Any:
    family, changes = FAMILIES[case]
    config = transformers.AutoConfig.for_model(family, **(SMALL | changes))
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = transformers.AutoModelForCausalLM.from_config(config).eval()
        head = model.get_output_embeddings()
        if getattr(head, "bias", None) is not None:
            # The library begins with zeros, which would hide a forgotten bias.
            torch.nn.init.normal_(head.bias)
    return model


def learned(model: Any) -> tuple[OutputHead, CachedSequence]:
    head = OutputHead(torch, model)
    sequence = CachedSequence(torch, model)
    sequence.settle(1)
    head.learn(sequence.rows([1], 1, UNWATCHED)[0])
    return head, sequence
