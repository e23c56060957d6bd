"""What loading a GGUF file will take, decided from its header before llama.cpp sees it."""

from __future__ import annotations

import os
from dataclasses import dataclass

import psutil

from logitscope.backends.base import LoadOptions, NotEnoughMemory
from logitscope.backends.gguf_header import GgufHeader

USUAL_CONTEXT = 8192
"""Enough for what a person reads token by token; 32k of a large model would take GBs of cache."""
SMALLEST_CONTEXT = 512
CELLS = 256
"""llama.cpp rounds the length of its cache up to this."""

CPU_BATCH = 256
GPU_BATCH = 512
ATTENTION_BYTES = 128 << 20
"""Most that the attention scores of one batch (heads x batch x context, float32) may take."""
ROWS_BYTES = 64 << 20
"""Most that the logits of one decode may take. They exist three times: in the compute graph, in
llama.cpp's output buffer and in the chunk handed on. 64 rows of 262,144 entries are scored as
fast as 256."""
PROCESS_BYTES = 160 << 20
"""Python, numpy, the libraries and the compute graph's other tensors."""

ELEMENT_BYTES = {"f16": 2, "f32": 4}


@dataclass(frozen=True, slots=True)
class Plan:
    """Sizes to load with."""

    context: int
    """Tokens."""
    batch: int
    """Tokens a decode."""
    rows: int
    """Rows of logits a decode."""
    threads: int
    branches: bool
    """Whether the cache keeps what lies behind a fork."""
    gpu_layers: int
    """0: all on the CPU; -1: all on the GPU."""
    flash_attention: bool
    """Whether llama.cpp may take it."""
    kv_bytes_per_token: float
    notes: tuple[str, ...]

    @property
    def timed_threads(self) -> int:
        """Threads whose working tells whether they are disturbed: with layers on a GPU, one."""
        return 1 if self.gpu_layers else self.threads


def physical_cores() -> int:
    """Cores this process may use; two threads on one core only get in each other's way."""
    cores = psutil.cpu_count(logical=False) or os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    return max(1, min(cores, usable))


def kv_bytes_per_token(header: GgufHeader, cache_type: str) -> int:
    """Bytes of keys and values a token, over all layers; sliding-window layers count in full."""
    blocks = header.block_count or 0
    heads = header.kv_head_counts
    kv_heads = sum(heads) if len(heads) > 1 else sum(heads) * blocks
    query_heads = max(header.head_counts, default=1) or 1
    usual = (header.embedding_length or 0) // query_heads
    key = header.number("attention.key_length") or usual
    value = header.number("attention.value_length") or usual
    latent = header.number("attention.kv_lora_rank")
    if latent is not None:
        return blocks * (latent + (header.number("rope.dimension_count") or 0)) * _width(cache_type)
    return kv_heads * (key + value) * _width(cache_type)


def buffer_bytes(n_vocab: int, heads: int, context: int) -> int:
    """What a CPU process takes beside weights and cache, with the usual budget for scoring."""
    batch = _batch(context, heads, CPU_BATCH)
    rows = _rows(n_vocab, LoadOptions().score_budget_bytes, batch)
    return PROCESS_BYTES + 3 * rows * 4 * n_vocab + context * heads * batch * 4


def make_plan(
    header: GgufHeader, options: LoadOptions, *, can_offload: bool, free_bytes: int | None = None
) -> Plan:
    """Choose context and batch for the memory there is.

    ``free_bytes`` is the memory that may be used; None: ask the system. Raises NotEnoughMemory.
    """
    layers = options.gpu_layers if options.gpu_layers is not None else -1
    layers = layers if can_offload and options.device != "cpu" else 0
    wanted, notes = _wanted_context(header, options)
    kv = kv_bytes_per_token(header, options.cache_type)
    heads = max(header.head_counts, default=1) or 1
    batch = _batch(wanted, heads, CPU_BATCH if layers == 0 else GPU_BATCH)
    rows = _rows(header.n_vocab or 1, options.score_budget_bytes, batch)
    context = wanted
    # What goes to a GPU is not known here; llama.cpp itself says if it does not fit there.
    if layers == 0:
        fixed = header.tensor_bytes + PROCESS_BYTES + 3 * rows * 4 * (header.n_vocab or 1)
        free = psutil.virtual_memory().available if free_bytes is None else free_bytes
        per_token = kv + heads * batch * 4
        context = _fitting_context(wanted, free - fixed, per_token)
        least = wanted if options.context_length is not None else min(wanted, SMALLEST_CONTEXT)
        if context < least:
            raise _not_enough(header, fixed + least * per_token, least, free)
    if context < wanted:
        notes = (
            f"The context was cut from {wanted:,} to {context:,} tokens to fit the free memory.",
        )
    return Plan(
        context=context,
        batch=batch,
        rows=rows,
        threads=options.threads or physical_cores(),
        branches=options.branches,
        gpu_layers=layers,
        flash_attention=_takes_flash(options, layers),
        kv_bytes_per_token=kv,
        notes=notes,
    )


def _width(cache_type: str) -> int:
    if cache_type not in ELEMENT_BYTES:
        raise ValueError(f"the cache type is f16 or f32, not {cache_type!r}")
    return ELEMENT_BYTES[cache_type]


def _takes_flash(options: LoadOptions, gpu_layers: int) -> bool:
    """On the CPU it saves 4 % of a decode and changes the numbers (Gemma 3 270M: a probability by
    0.1); on a GPU it is what everybody runs."""
    if options.flash_attention is not None:
        return options.flash_attention
    return gpu_layers != 0 and options.cache_type != "f32"


def _wanted_context(header: GgufHeader, options: LoadOptions) -> tuple[int, tuple[str, ...]]:
    trained = header.context_length or SMALLEST_CONTEXT
    asked = options.context_length
    if asked is not None and asked > trained:
        note = f"The context was cut to {trained:,} tokens: the model was trained for no more."
        return trained, (note,)
    if asked is None and trained > USUAL_CONTEXT:
        note = (
            f"The context is {USUAL_CONTEXT:,} of the {trained:,} tokens the model can hold: a"
            " longer one, which takes more memory, can be asked for when loading."
        )
        return USUAL_CONTEXT, (note,)
    return max(1, asked or trained), ()


def _batch(context: int, heads: int, most: int) -> int:
    by_attention = ATTENTION_BYTES // (4 * heads * context)
    return max(32, min(most, by_attention))


def _rows(n_vocab: int, budget: int, batch: int) -> int:
    return max(1, min(batch, min(budget, ROWS_BYTES) // (4 * n_vocab)))


def _fitting_context(wanted: int, left: int, per_token: int) -> int:
    """The wanted context, or the longest shorter one whose cells fit into ``left`` bytes."""
    cells = -(-wanted // CELLS) * CELLS
    if cells * per_token <= left:
        return wanted
    return max(0, left // per_token // CELLS * CELLS)


def _not_enough(header: GgufHeader, needed: int, context: int, free: int) -> NotEnoughMemory:
    return NotEnoughMemory(
        f"{header.path.name} needs about {needed / 1e9:.1f} GB of memory"
        f" ({header.tensor_bytes / 1e9:.1f} GB of weights and {context:,} tokens of context),"
        f" but {max(free, 0) / 1e9:.1f} GB are free: close other programs, or choose a"
        " shorter context or a smaller model."
    )
