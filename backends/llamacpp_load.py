"""Opening a GGUF file with llama.cpp, and saying why where it does not open."""

from __future__ import annotations

import re
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from logitscope.backends.base import BackendError, ModelFileError, NotEnoughMemory, Watch
from logitscope.backends.llamacpp_cache import SEQUENCES
from logitscope.backends.llamacpp_lib import LOG, library, path_bytes
from logitscope.backends.llamacpp_plan import Plan
from logitscope.backends.llamacpp_vocabulary import read_vocabulary
from logitscope.vocabulary import Vocabulary

_MEMORY = re.compile(r"alloc|out of memory|memory", re.IGNORECASE)
_DEVICE = re.compile(r"using device (\S+) \(([^)]*)\)")
_FLASH = re.compile(r"Flash Attention enabled")
_KV_BUFFER = re.compile(r"KV buffer size = +([\d.]+) MiB")
_GGML_TYPES = {"f32": 0, "f16": 1}


@dataclass(frozen=True, slots=True)
class Native:
    """llama.cpp's own objects of one loaded model."""

    model: Any
    context: Any
    vocab: Any
    vocabulary: Vocabulary
    sequences: int
    """1 where no branches are kept."""
    can_be_cut: bool
    """Whether the model's memory can be cut back; a recurrent state cannot."""
    cache_type: str
    flash_attention: bool
    """Whether llama.cpp takes it, as it logged."""
    device: str
    """Name of the GPU, or ""."""
    kv_bytes: float
    """Bytes of the KV cache, as llama.cpp logged it."""
    kv_rounding: float
    """How many bytes that may be off: it is logged in hundredths of a MiB."""

    def free(self) -> None:
        lib = library()
        lib.llama_free(self.context)
        lib.llama_model_free(self.model)


def open_native(path: Path, plan: Plan, cache_type: str, watch: Watch) -> Native:
    """Load weights and make a context. Raises ModelFileError, NotEnoughMemory, Cancelled."""
    lib = library()
    LOG.clear()
    model = _open_model(path, plan, watch)
    try:
        _require_decoder(path, model)
        can_be_cut = _can_be_cut(model)
        # With more than one, llama.cpp asks of each cell whose it is for each token of a batch.
        sequences = SEQUENCES if can_be_cut and plan.branches else 1
        vocab = lib.llama_model_get_vocab(model)
        # Each takes some 0.1 s of its own core, and neither needs the other.
        with ThreadPoolExecutor(1) as pool:
            reading = pool.submit(read_vocabulary, vocab)
            context = open_context(path, model, plan, cache_type, sequences)
        vocabulary = _or_free(context, reading)
    except BaseException:
        lib.llama_model_free(model)
        raise
    lines = LOG.lines()
    devices = [match.expand(r"\1 \2") for match in map(_DEVICE.search, lines) if match]
    buffers = [float(match[1]) for match in map(_KV_BUFFER.search, lines) if match]
    return Native(
        model=model,
        context=context,
        vocab=vocab,
        vocabulary=vocabulary,
        sequences=sequences,
        can_be_cut=can_be_cut,
        cache_type=cache_type,
        flash_attention=any(map(_FLASH.search, lines)),
        device=", ".join(devices) if plan.gpu_layers else "",
        kv_bytes=sum(buffers) * 2**20,
        kv_rounding=0.01 * 2**20 * len(buffers),
    )


def _or_free(context: Any, reading: Future[Vocabulary]) -> Vocabulary:
    try:
        return reading.result()
    except BaseException:
        library().llama_free(context)
        raise


def _open_model(path: Path, plan: Plan, watch: Watch) -> Any:
    lib = library()
    told = -1

    def on_progress(fraction: float, _user_data: object) -> bool:
        nonlocal told
        if (per_mille := int(fraction * 1000)) > told:
            told = per_mille
            watch.report(per_mille, 1000)
        return not watch.is_cancelled()

    parameters = lib.llama_model_default_params()
    parameters.n_gpu_layers = plan.gpu_layers
    # Repacked weights would be a second copy in memory and take twice as long to load, for nothing
    # here: on AVX2 a Q4_K_M Llama of 150M reads 86 tokens/s without and 68 with, writes 24 and 23.
    parameters.use_extra_bufts = False
    if not plan.gpu_layers:
        # Left to itself, llama.cpp decides by the devices it finds. With layers on a GPU it may:
        # one that shares the memory would hold the weights of a mapped file twice.
        parameters.load_mode = lib.LLAMA_LOAD_MODE_MMAP
    parameters.progress_callback = callback = lib.llama_progress_callback(on_progress)
    watch.check()
    model = lib.llama_model_load_from_file(path_bytes(path), parameters)
    del callback
    if not model:
        watch.check()
        raise _failure(path)
    return model


def open_context(path: Path, model: Any, plan: Plan, cache_type: str, sequences: int) -> Any:
    """A context of its own on the model's weights. Raises ModelFileError, NotEnoughMemory."""
    lib = library()
    parameters = lib.llama_context_default_params()
    parameters.n_ctx = plan.context
    parameters.n_batch = parameters.n_ubatch = plan.batch
    # llama.cpp aborts unless every sequence of a batch can have its row.
    parameters.n_outputs_max = max(plan.rows, sequences)
    parameters.n_threads = parameters.n_threads_batch = plan.threads
    parameters.type_k = parameters.type_v = _GGML_TYPES[cache_type]
    # Forks share cells only in a unified cache; a partial copy between separate ones aborts.
    parameters.n_seq_max = sequences
    parameters.kv_unified = sequences > 1
    # Sliding-window layers keep the whole text, or no rewind would be possible.
    parameters.swa_full = True
    parameters.flash_attn_type = (
        lib.LLAMA_FLASH_ATTN_TYPE_AUTO
        if plan.flash_attention
        else lib.LLAMA_FLASH_ATTN_TYPE_DISABLED
    )
    context = lib.llama_init_from_model(model, parameters)
    if not context:
        raise _failure(path)
    return context


def _can_be_cut(model: Any) -> bool:
    """Whether the memory holds keys and values only, and no state that moves on with each token."""
    lib = library()
    return not (lib.llama_model_is_recurrent(model) or lib.llama_model_is_hybrid(model))


def _require_decoder(path: Path, model: Any) -> None:
    lib = library()
    problem = ""
    if not lib.llama_model_has_decoder(model) or lib.llama_model_has_encoder(model):
        problem = "is an encoder model, which cannot continue a text by itself"
    elif lib.llama_model_is_diffusion(model):
        problem = "is a diffusion model, which does not predict one token after the other"
    elif lib.llama_vocab_type(lib.llama_model_get_vocab(model)) == lib.LLAMA_VOCAB_TYPE_NONE:
        problem = "holds no tokenizer"
    if problem:
        raise ModelFileError(f"{path.name} {problem}: choose a text generation model")


def _failure(path: Path) -> BackendError:
    """The error for what llama.cpp said last."""
    reason = LOG.reason()
    detail = "\n".join(LOG.lines()[-40:])
    if _MEMORY.search(reason):
        return NotEnoughMemory(
            f"There is not enough memory for {path.name} ({reason}): close other programs, or"
            " choose a shorter context or a smaller model.",
            detail,
        )
    said = f" ({reason})" if reason else ""
    return ModelFileError(
        f"{path.name} cannot be loaded{said}: choose another file or update llama-cpp-python.",
        detail,
    )
