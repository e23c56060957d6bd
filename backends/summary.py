"""What a model's files say, as small plain data, and the memory the model will need."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from logitscope.backends import bigram
from logitscope.backends.base import LoadOptions, ModelFileError
from logitscope.backends.gguf_header import GgufHeader, read_header
from logitscope.backends.hf_files import MEMORY_MARGIN, ModelFolder, inspect_folder
from logitscope.backends.llamacpp_plan import (
    SMALLEST_CONTEXT,
    USUAL_CONTEXT,
    buffer_bytes,
    kv_bytes_per_token,
)
from logitscope.bigram_file import SUFFIX, VERSION

BIGRAM_FORMAT = f"Bigram {VERSION}"
CACHE_BYTES = {"f32": 4.0, "f16": 2.0, "bf16": 2.0, "q8_0": 34 / 32}
"""Bytes of one cached key or value element."""
PYTORCH_BYTES = 700 << 20
"""Interpreter with torch and transformers, and one chunk of scored rows (256 MB)."""
BIGRAM_BYTES = 100 << 20
"""Interpreter with numpy, and one chunk of scored rows."""
_GENERATING = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")


@dataclass(frozen=True, slots=True)
class HeaderSummary:
    """None (or 0, or "") where the files do not say."""

    path: str
    format: str
    """``GGUF 3``, ``Hugging Face``, ``Bigram 1``."""
    name: str
    architecture: str
    parameters: int
    quantization: str
    n_vocab: int | None
    context_length: int | None
    """Tokens the model was trained for."""
    block_count: int | None
    embedding_length: int | None
    head_count: int | None
    kv_head_count: int | None
    """Key and value heads of a block; the largest where blocks differ."""
    kv_elements_per_token: int
    """Cached elements a token, all blocks and full attention: an upper bound."""
    weight_bytes: int
    """Memory of the weights as they are loaded on a CPU: float32 for a Hugging Face folder."""
    file_bytes: int
    files: int
    has_chat_template: bool
    tied_embeddings: bool
    header_hash: str
    refusal: str = ""
    """One sentence where the files are whole but hold no model that predicts a next token."""


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """Bytes, for one context length and cache type. Errs on the large side."""

    weights: int
    kv_cache: int
    buffers: int

    @property
    def total(self) -> int:
        return self.weights + self.kv_cache + self.buffers


def estimate_memory(
    summary: HeaderSummary, context: int, cache_type: str = "f16"
) -> MemoryEstimate:
    """Memory of the model process with room for ``context`` tokens.

    Raises KeyError for a cache type that is not in CACHE_BYTES.
    """
    return MemoryEstimate(
        weights=summary.weight_bytes,
        kv_cache=round(context * summary.kv_elements_per_token * CACHE_BYTES[cache_type]),
        buffers=_buffers(summary, context),
    )


def _buffers(summary: HeaderSummary, context: int) -> int:
    if summary.format.startswith("GGUF"):
        return buffer_bytes(summary.n_vocab or 1, summary.head_count or 1, context)
    if summary.format == BIGRAM_FORMAT:
        return BIGRAM_BYTES
    # As the loader refuses: its margin is a share of the weights.
    return max(PYTORCH_BYTES, round(summary.weight_bytes * (MEMORY_MARGIN - 1)))


def least_memory(summary: HeaderSummary, options: LoadOptions) -> MemoryEstimate:
    """With the shortest context that loading chooses by itself, or with the one asked for."""
    context = context_for(summary, options.context_length or SMALLEST_CONTEXT)
    return estimate_memory(summary, context, options.cache_type)


def context_for(summary: HeaderSummary, asked: int | None = None) -> int:
    """Tokens to estimate the memory for: what is asked for or usual, within the trained context.

    The cache of a Hugging Face model grows with the text; it is counted as for a GGUF file.
    """
    wanted = asked or USUAL_CONTEXT
    return min(wanted, summary.context_length or wanted)


def summarize(path: Path) -> HeaderSummary:
    """Read the header of a GGUF file or a model folder, or a bigram model, in this process.

    Raises ModelFileError.
    """
    if path.is_dir():
        return _of_folder(inspect_folder(path))
    if path.name.lower().endswith(SUFFIX):
        return _of_bigram(path)
    return _of_gguf(read_header(path))


def _of_bigram(path: Path) -> HeaderSummary:
    model, digest = bigram.read(path)
    n_symbols = len(model.symbols)
    return HeaderSummary(
        path=str(path),
        format=BIGRAM_FORMAT,
        name=model.name,
        architecture="bigram",
        parameters=n_symbols * n_symbols,
        quantization="F32",
        n_vocab=len(bigram.vocabulary_of(model.symbols)),
        context_length=1,
        block_count=None,
        embedding_length=None,
        head_count=None,
        kv_head_count=None,
        kv_elements_per_token=0,
        weight_bytes=model.logits.nbytes,
        file_bytes=path.stat().st_size,
        files=1,
        has_chat_template=False,
        tied_embeddings=False,
        header_hash=digest,
    )


def _of_gguf(header: GgufHeader) -> HeaderSummary:
    try:
        header.require_language_model()
        refusal = ""
    except ModelFileError as error:
        refusal = str(error)
    return HeaderSummary(
        path=str(header.path),
        format=f"GGUF {header.version}",
        name=header.name,
        architecture=header.architecture,
        parameters=header.parameters,
        quantization=header.quantization,
        n_vocab=header.n_vocab,
        context_length=header.context_length,
        block_count=header.block_count,
        embedding_length=header.embedding_length,
        head_count=max(header.head_counts, default=None),
        kv_head_count=max(header.kv_head_counts, default=None),
        kv_elements_per_token=kv_bytes_per_token(header, "f32") // 4,
        weight_bytes=header.tensor_bytes,
        file_bytes=header.file_bytes,
        files=len(header.shards),
        has_chat_template=header.has_chat_template,
        tied_embeddings=header.tied_embeddings,
        header_hash=header.header_sha256,
        refusal=refusal,
    )


def _of_folder(folder: ModelFolder) -> HeaderSummary:
    config = folder.config
    inner = config.get("text_config")
    text = {**config, **inner} if isinstance(inner, dict) else config
    heads = _integer(text, "num_attention_heads", "n_head", "num_heads")
    kv_heads = _integer(text, "num_key_value_heads") or heads
    blocks = _integer(text, "num_hidden_layers", "n_layer", "num_layers")
    width = _integer(text, "hidden_size", "n_embd", "d_model")
    head_width = _integer(text, "head_dim") or ((width or 0) // heads if heads else 0)
    files = sorted(folder.path.glob("*.safetensors"))
    return HeaderSummary(
        path=str(folder.path),
        format="Hugging Face",
        name=folder.path.name,
        architecture=str(config.get("model_type", "")),
        parameters=sum(tensor.n_elements for tensor in folder.tensors),
        quantization=folder.stored_dtype,
        n_vocab=_integer(text, "vocab_size"),
        context_length=_integer(text, "max_position_embeddings", "n_positions", "n_ctx"),
        block_count=blocks,
        embedding_length=width,
        head_count=heads,
        kv_head_count=kv_heads,
        kv_elements_per_token=(blocks or 0) * (kv_heads or 0) * 2 * head_width,
        weight_bytes=folder.bytes_as(4),
        file_bytes=sum(file.stat().st_size for file in files),
        files=len(files),
        has_chat_template=_folder_has_template(folder.path),
        tied_embeddings=text.get("tie_word_embeddings") is True,
        header_hash=folder.header_hash,
        refusal=_folder_refusal(folder),
    )


def _integer(config: dict[str, Any], *keys: str) -> int | None:
    for key in keys:
        value = config.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 40:
            return value
    return None


def _folder_has_template(path: Path) -> bool:
    if (path / "chat_template.jinja").is_file():
        return True
    settings = path / "tokenizer_config.json"
    return settings.is_file() and b'"chat_template"' in settings.read_bytes()


def _folder_refusal(folder: ModelFolder) -> str:
    names = folder.config.get("architectures")
    names = [str(name) for name in names] if isinstance(names, list) else []
    if folder.config.get("is_encoder_decoder") is True:
        kind = "an encoder-decoder model"
    elif names and not any(name.endswith(_GENERATING) for name in names):
        kind = f"a model ({names[0]}) that predicts no next token"
    else:
        return ""
    return f"{folder.path.name} holds {kind}: choose a text generation model"
