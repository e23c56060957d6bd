"""Write the trained network in both shipped formats: a Hugging Face folder and a GGUF, both F16.

The GGUF settings are those under which llama.cpp and transformers give the same ids and logits:
tokenizer ``gpt2`` with pre-tokenizer ``gpt-2``, norms in F32, rows of q and k permuted for
llama.cpp's interleaved rotary positions, and no output table because it is tied.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from batches import BOS, EOS, PAD
from network import Network, Shape
from numpy.typing import NDArray
from safetensors.torch import save_file
from torch import Tensor

NAME = "Logitscope Tiny"
GGUF_NAME = "logitscope-tiny-F16.gguf"
TYPES = {
    "F16": (gguf.GGMLQuantizationType.F16, gguf.LlamaFileType.MOSTLY_F16),
    "F32": (gguf.GGMLQuantizationType.F32, gguf.LlamaFileType.ALL_F32),
    "Q8_0": (gguf.GGMLQuantizationType.Q8_0, gguf.LlamaFileType.MOSTLY_Q8_0),
    "Q4_0": (gguf.GGMLQuantizationType.Q4_0, gguf.LlamaFileType.MOSTLY_Q4_0),
}


def config(shape: Shape) -> dict[str, object]:
    """transformers' configuration of the network."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": shape.vocabulary,
        "hidden_size": shape.width,
        "intermediate_size": shape.hidden,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.heads,
        "head_dim": shape.head_width,
        "max_position_embeddings": shape.context,
        "rope_theta": shape.theta,
        "rms_norm_eps": shape.epsilon,
        "hidden_act": "silu",
        "tie_word_embeddings": True,
        "bos_token_id": BOS,
        "eos_token_id": EOS,
        "pad_token_id": PAD,
        "dtype": "float16",
    }


def write_folder(network: Network, folder: Path) -> None:
    """config.json and model.safetensors; the tokenizer's files are there already."""
    text = json.dumps(config(network.shape), indent=2) + "\n"
    (folder / "config.json").write_text(text, encoding="utf-8")
    weights = {
        f"model.{name}": tensor.detach().to(torch.float16).contiguous()
        for name, tensor in network.state_dict().items()
    }
    path = folder / "model.safetensors"
    save_file(weights, str(path), metadata={"format": "pt"})
    path.chmod(0o644)


def write_gguf(folder: Path, path: Path, kind: str = "F16") -> None:
    """The weights and the tokenizer of a folder made by ``write_folder`` as one GGUF."""
    from safetensors.torch import load_file

    shape = Shape()
    writer = gguf.GGUFWriter(str(path), "llama")
    tensor_type, file_type = TYPES[kind]
    _write_header(writer, shape, int(file_type))
    _write_tokenizer(writer, json.loads((folder / "tokenizer.json").read_text(encoding="utf-8")))
    weights = load_file(str(folder / "model.safetensors"))
    for name, array in _tensors(weights, shape):
        kept = gguf.GGMLQuantizationType.F32 if array.ndim == 1 else tensor_type
        data = array if kept is gguf.GGMLQuantizationType.F32 else gguf.quantize(array, kept)
        writer.add_tensor(name, data, raw_dtype=kept)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _write_header(writer: gguf.GGUFWriter, shape: Shape, file_type: int) -> None:
    writer.add_name(NAME)
    writer.add_license("Apache-2.0")
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.hidden)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.heads)
    writer.add_rope_dimension_count(shape.head_width)
    writer.add_rope_freq_base(shape.theta)
    writer.add_layer_norm_rms_eps(shape.epsilon)
    writer.add_vocab_size(shape.vocabulary)
    writer.add_file_type(file_type)


def _write_tokenizer(writer: gguf.GGUFWriter, tokenizer: dict[str, Any]) -> None:
    model = tokenizer["model"]
    vocabulary = model["vocab"]
    pieces = sorted(vocabulary, key=vocabulary.__getitem__)
    control = {BOS, EOS, PAD}
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(pieces)
    writer.add_token_types(
        [
            gguf.TokenType.CONTROL if i in control else gguf.TokenType.NORMAL
            for i in range(len(pieces))
        ]
    )
    merges = [m if isinstance(m, str) else " ".join(m) for m in model["merges"]]
    writer.add_token_merges(merges)
    writer.add_bos_token_id(BOS)
    writer.add_eos_token_id(EOS)
    writer.add_pad_token_id(PAD)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)
    writer.add_add_space_prefix(False)


NAMES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def _tensors(weights: dict[str, Tensor], shape: Shape) -> Iterator[tuple[str, NDArray[np.float32]]]:
    def array(name: str) -> NDArray[np.float32]:
        return weights[f"model.{name}.weight"].float().numpy()

    yield "token_embd.weight", array("embed_tokens")
    yield "output_norm.weight", array("norm")
    for layer in range(shape.layers):
        for ours, theirs in NAMES.items():
            made = array(f"layers.{layer}.{ours}")
            if theirs in {"attn_q", "attn_k"}:
                made = _interleaved(made, shape.heads)
            yield f"blk.{layer}.{theirs}.weight", np.ascontiguousarray(made)


def _interleaved(weight: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """Rows (half, pair) of each head as (pair, half), the order of llama.cpp's rotation."""
    rows, columns = weight.shape
    split = weight.reshape(heads, 2, rows // heads // 2, columns)
    return split.swapaxes(1, 2).reshape(rows, columns)
