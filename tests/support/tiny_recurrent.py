"""A small random Mamba as a GGUF: a model whose memory is a state that cannot be cut back."""

from __future__ import annotations

from pathlib import Path

import numpy as np

WIDTH, INNER, STATE, CONVOLUTION, RANK, BLOCKS = 32, 64, 16, 4, 2, 2


def write_mamba(path: Path, n_vocab: int = 300, seed: int = 0) -> Path:
    """Write it as F32. Names and shapes: llama.cpp's ``convert_hf_to_gguf.py``."""
    import gguf
    import tiny_models

    writer = gguf.GGUFWriter(str(path), "mamba")
    writer.add_name("tiny mamba")
    writer.add_context_length(512)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(0)
    writer.add_head_count(0)
    writer.add_block_count(BLOCKS)
    writer.add_ssm_conv_kernel(CONVOLUTION)
    writer.add_ssm_inner_size(INNER)
    writer.add_ssm_state_size(STATE)
    writer.add_ssm_time_step_rank(RANK)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    tiny_models._add_tokenizer(writer, tiny_models.byte_level_tokenizer(n_vocab), n_vocab)
    for name, tensor in _tensors(n_vocab, np.random.default_rng(seed)).items():
        writer.add_tensor(name, tensor.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _tensors(n_vocab: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    def normal(*shape: int) -> np.ndarray:
        return rng.normal(0.0, 0.3, shape)

    tensors = {"token_embd.weight": normal(n_vocab, WIDTH), "output_norm.weight": np.ones(WIDTH)}
    for block in range(BLOCKS):
        parts = {
            "attn_norm.weight": np.ones(WIDTH),
            "ssm_in.weight": normal(2 * INNER, WIDTH),
            "ssm_conv1d.weight": normal(INNER, CONVOLUTION),
            "ssm_conv1d.bias": normal(INNER),
            "ssm_x.weight": normal(RANK + 2 * STATE, INNER),
            "ssm_dt.weight": normal(INNER, RANK),
            "ssm_dt.bias": normal(INNER),
            "ssm_a": -np.exp(normal(INNER, STATE)),
            "ssm_d": np.ones(INNER),
            "ssm_out.weight": normal(WIDTH, INNER),
        }
        tensors |= {f"blk.{block}.{name}": value for name, value in parts.items()}
    return tensors
