"""Small random models in both file formats, built from nothing: no file is downloaded.

The weights are random; what matters is that the same ones are written as a Hugging Face folder and
as an F32 GGUF, so that the two backends can be compared to the last digits.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

SCRIPTS = """\
The sky is blue, and the grass is green; isn't it? When the sun sets, the sky turns red.
def area(width: int, height: int) -> int:
\tif width < 0:\n\t\traise ValueError("width")
        return width * height  # square metres
One fish, two fish, three fishes. 12345 67890 3.14159 1,000,000
Der Himmel ist blau und das Gras ist grün. Où est la bibliothèque ? El niño come una manzana.
天空是蓝色的，草是绿色的。太阳下山的时候，天空变成红色。你好，世界！
السماء زرقاء والعشب أخضر. عندما تغرب الشمس تصبح السماء حمراء.
Небо голубое, а трава зелёная. Когда солнце садится, небо краснеет.
आकाश नीला है और घास हरी है। 하늘은 파랗고 풀은 푸르다. 空は青く、草は緑です。
👩🏽‍🚀 👨‍👩‍👧‍👦 🏳️‍🌈 😀😃😄 ∑∫√ ≤≥ “quotes” — dashes…
"""
"""What the tokenizers are trained on; every byte is in their vocabulary anyway."""

BOS, EOS, TURN = "<s>", "</s>", "<|turn|>"

TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|turn|>{{ message.role }}\n"
    "{{ message.content }}</s>{% endfor %}{% if add_generation_prompt %}<|turn|>assistant\n"
    "{% endif %}"
)


def byte_level_tokenizer(size: int = 1000) -> Any:
    """A GPT-2-like byte-level BPE that puts ``<s>`` in front, as a transformers fast tokenizer."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=[BOS, EOS, TURN],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    # Every line three times: a merge must be seen twice to be made.
    tokenizer.train_from_iterator(SCRIPTS.splitlines(keepends=True) * 3, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BOS} $A", special_tokens=[(BOS, tokenizer.token_to_id(BOS))]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=BOS, eos_token=EOS, chat_template=TEMPLATE
    )


ALPHABET = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFTW0123456789 .,;:!?'()=▁天空的نе")
"""What the sentencepiece-like tokenizers spell themselves; the rest goes byte by byte."""


def sentencepiece_tokenizer(size: int = 900, *, prefix_space: bool = True) -> Any:
    """A BPE with ``▁`` and byte fallback, described as the tokenizers of Llama 2 and Gemma are.

    Llama 2 puts a space in front of the text (``prefix_space``), Gemma does not."""
    from tokenizers import Tokenizer, decoders, models, normalizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    bytes_of_fallback = [f"<0x{byte:02X}>" for byte in range(256)]
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    replace = normalizers.Replace(" ", "▁")
    tokenizer.normalizer = (
        normalizers.Sequence([normalizers.Prepend("▁"), replace]) if prefix_space else replace
    )
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=["<unk>", BOS, EOS, *bytes_of_fallback],
        show_progress=False,
        initial_alphabet=sorted(ALPHABET),
        limit_alphabet=len(ALPHABET),
        max_token_length=8,
    )
    tokenizer.train_from_iterator(SCRIPTS.splitlines() * 3, trainer)
    tokenizer = _without_special_bytes(tokenizer, bytes_of_fallback)
    parts = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    if prefix_space:
        parts.append(decoders.Strip(" ", 1, 0))
    tokenizer.decoder = decoders.Sequence(parts)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BOS} $A", special_tokens=[(BOS, tokenizer.token_to_id(BOS))]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=BOS, eos_token=EOS, unk_token="<unk>"
    )


def _without_special_bytes(tokenizer: Any, names: list[str]) -> Any:
    """The trainer makes special tokens of the byte pieces; in real files they are ordinary ones."""
    import json

    from tokenizers import Tokenizer

    description = json.loads(tokenizer.to_str())
    description["added_tokens"] = [
        entry for entry in description["added_tokens"] if entry["content"] not in set(names)
    ]
    return Tokenizer.from_str(json.dumps(description))


def llama(n_vocab: int, seed: int = 0, **changes: Any) -> Any:
    """A random 2-layer Llama in float32, 4 heads of 16, 256 positions."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    settings: dict[str, Any] = {
        "vocab_size": n_vocab,
        "hidden_size": 64,
        "intermediate_size": 160,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "max_position_embeddings": 256,
        "rms_norm_eps": 1e-5,
        "tie_word_embeddings": False,
        "bos_token_id": 0,
        "eos_token_id": 1,
        # The library's 0.02 gives nearly flat distributions; this spreads them over several nats.
        "initializer_range": 0.15,
    }
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return LlamaForCausalLM(LlamaConfig(**(settings | changes))).eval()


def save_folder(path: Path, model: Any, tokenizer: Any, **options: Any) -> Path:
    """Write model and tokenizer as a Hugging Face folder."""
    from transformers.utils import logging

    logging.disable_progress_bar()
    model.save_pretrained(path, **options)
    tokenizer.save_pretrained(path)
    return path


def save_byte_level(
    path: Path,
    *,
    seed: int = 0,
    n_vocab: int = 1008,
    tokenizer_size: int = 1000,
    changes: dict[str, Any] | None = None,
    **options: Any,
) -> Path:
    """A Llama with a byte-level BPE. Some ids at the end have weights but no token, as in Qwen.

    ``changes`` are of the configuration, ``options`` of ``save_pretrained``."""
    model = llama(n_vocab, seed, **(changes or {}))
    return save_folder(path, model, byte_level_tokenizer(tokenizer_size), **options)


def save_sentencepiece(path: Path, *, prefix_space: bool) -> Path:
    """A Llama with a tokenizer of ``▁`` and byte fallback."""
    tokenizer = sentencepiece_tokenizer(prefix_space=prefix_space)
    model = llama(len(tokenizer), seed=2, bos_token_id=1, eos_token_id=2)
    return save_folder(path, model, tokenizer)


def convert_to_gguf(folder: Path, path: Path) -> Path:
    """Write the model of a folder made by ``save_byte_level`` as an F32 GGUF."""
    from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

    model = LlamaForCausalLM.from_pretrained(folder, local_files_only=True)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)
    return write_gguf(path, model, tokenizer)


def write_gguf(path: Path, model: Any, tokenizer: Any) -> Path:
    """Write a Llama with a byte-level BPE as an F32 GGUF.

    Source of names and layouts: llama.cpp's ``convert_hf_to_gguf.py``."""
    import gguf

    config = model.config
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name("tiny")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_rope_dimension_count(config.hidden_size // config.num_attention_heads)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(config.vocab_size)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    _add_tokenizer(writer, tokenizer, config.vocab_size)
    for name, tensor in model.state_dict().items():
        writer.add_tensor(*_gguf_tensor(name, tensor.float().numpy(), config.num_attention_heads))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add_tokenizer(writer: Any, tokenizer: Any, n_vocab: int) -> None:
    import json

    import gguf

    description = json.loads(tokenizer.backend_tokenizer.to_str())
    special = {entry["id"] for entry in description["added_tokens"] if entry["special"]}
    names = {token_id: piece for piece, token_id in tokenizer.get_vocab().items()}
    kinds = [
        gguf.TokenType.CONTROL
        if i in special
        else gguf.TokenType.NORMAL
        if i in names
        else gguf.TokenType.UNUSED
        for i in range(n_vocab)
    ]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([names.get(i, f"[PAD{i}]") for i in range(n_vocab)])
    writer.add_token_types(kinds)
    writer.add_token_merges([" ".join(pair) for pair in description["model"]["merges"]])
    writer.add_bos_token_id(tokenizer.bos_token_id)
    writer.add_eos_token_id(tokenizer.eos_token_id)
    writer.add_add_bos_token(True)
    writer.add_chat_template(TEMPLATE)


PARTS = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}


def _gguf_tensor(name: str, data: np.ndarray, heads: int) -> tuple[str, np.ndarray]:
    outer = {
        "model.embed_tokens.weight": "token_embd.weight",
        "model.norm.weight": "output_norm.weight",
        "lm_head.weight": "output.weight",
    }
    if name in outer:
        return outer[name], data
    layer, part = name.removeprefix("model.layers.").removesuffix(".weight").split(".", 1)
    if part in ("self_attn.q_proj", "self_attn.k_proj"):
        # llama.cpp rotates neighbouring pairs, transformers halves: reorder each head's rows.
        rows, columns = data.shape
        data = data.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2)
        data = np.ascontiguousarray(data.reshape(rows, columns))
    return f"blk.{layer}.{PARTS[part]}.weight", data
