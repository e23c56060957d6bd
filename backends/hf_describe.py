"""What transformers' tokenizer, configuration and weights tell of a model."""

from __future__ import annotations

from typing import Any

from logitscope.backends.base import Capabilities, LoadOptions, ModelInfo
from logitscope.backends.hf_load import LoadedParts, describe_device, free_memory
from logitscope.backends.hf_sequence import CachedSequence
from logitscope.backends.hf_vocabulary import SpecialIds

CONTEXT_KEYS = ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "seq_length")
"""Where the families of models write the longest text they were trained on."""

UNLIMITED_CONTEXT = 1 << 20
"""For models that state no limit, such as recurrent ones."""

CONTEXT_MEMORY_SHARE = 0.8
"""The part of the free memory that the KV cache may fill."""


def special_ids(tokenizer: Any, model: Any) -> SpecialIds:
    """BOS, EOS and all ids that end a text, from tokenizer, configuration and generation config."""
    ends = {tokenizer.eos_token_id}
    for source in (model.config, getattr(model, "generation_config", None)):
        stated = getattr(source, "eos_token_id", None)
        ends.update(stated if isinstance(stated, (list, tuple)) else [stated])
    end_ids = frozenset(i for i in ends if isinstance(i, int))
    return SpecialIds(tokenizer.bos_token_id, tokenizer.eos_token_id, end_ids)


def chat_template(tokenizer: Any) -> str | None:
    """The default template of the folder, or None."""
    template = tokenizer.chat_template
    if isinstance(template, dict):
        template = template.get("default")
    return template if isinstance(template, str) else None


def trained_context(config: Any) -> int | None:
    """The longest text of the training as the configuration states it."""
    values = (getattr(config, key, None) for key in CONTEXT_KEYS)
    return next((v for v in values if isinstance(v, int) and 0 < v < 1 << 31), None)


def choose_context(
    trained: int | None, wanted: int | None, kv_bytes: float, free: int
) -> tuple[int, list[str]]:
    """Tokens the model may hold, and sentences about what was cut."""
    notes = []
    limit = trained or UNLIMITED_CONTEXT
    length = min(wanted or limit, limit)
    if wanted and wanted > limit:
        notes.append(f"The model knows only {limit} positions, fewer than the {wanted} asked for.")
    fitting = int(free * CONTEXT_MEMORY_SHARE / kv_bytes) if kv_bytes else length
    if fitting < length:
        length = max(fitting, 1)
        notes.append(f"The context is cut to {length} tokens, so that its cache fits the memory.")
    return length, notes


def describe_model(
    torch: Any, parts: LoadedParts, options: LoadOptions, sequence: CachedSequence
) -> ModelInfo:
    """Fill ModelInfo from the loaded weights and the cache of a first pass."""
    model, identity = parts.model, parts.identity
    text_config = model.config.get_text_config(decoder=True)
    weights = list(model.parameters())
    dtype = str(weights[0].dtype).removeprefix("torch.")
    trained = trained_context(text_config)
    context, notes = choose_context(
        trained, options.context_length, sequence.bytes_per_token, free_memory(torch, parts.device)
    )
    if identity.stored_as != dtype:
        notes.append(f"The weights are stored as {identity.stored_as} and computed in {dtype}.")
    if dtype == "bfloat16":
        notes.append("Logits are computed in bfloat16: near 20 they come in steps of 0.125.")
    return ModelInfo(
        name=identity.name,
        path=str(identity.path),
        backend="hf",
        architecture=str(model.config.model_type),
        parameters=sum(weight.numel() for weight in weights),
        quantization=dtype,
        n_vocab=0,
        context_length=context,
        trained_context_length=trained,
        weight_bytes=sum(weight.numel() * weight.element_size() for weight in weights),
        kv_bytes_per_token=sequence.bytes_per_token,
        device=describe_device(torch, parts.device),
        cpu_threads=torch.get_num_threads() if parts.device.startswith("cpu") else 0,
        has_chat_template=chat_template(parts.tokenizer) is not None,
        tied_embeddings=_is_tied(model),
        header_hash=identity.header_hash,
        capabilities=Capabilities(
            prefix_reuse=sequence.can_be_cut,
            offload=not parts.device.startswith("cpu"),
            cut_cache=sequence.can_be_masked,
        ),
        notes=tuple(notes),
    )


def _is_tied(model: Any) -> bool | None:
    """Whether the output head is the embedding table itself; None where there is no such pair."""
    head, table = model.get_output_embeddings(), model.get_input_embeddings()
    if head is None or table is None:
        return None
    return bool(head.weight.data_ptr() == table.weight.data_ptr())
