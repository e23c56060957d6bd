"""Loading a Hugging Face folder with transformers: offline, without pickle, without remote code."""

from __future__ import annotations

import importlib
import logging
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from logitscope.backends.base import (
    BackendError,
    Cancelled,
    LoadOptions,
    MissingBackend,
    ModelFileError,
    NotEnoughMemory,
    Watch,
)
from logitscope.backends.hf_files import MEMORY_MARGIN, ModelFolder

OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_NO_ADVISORY_WARNINGS": "1",
    # The reader of GGUF files does not ask transformers' own switch.
    "TQDM_DISABLE": "1",
}

LOCAL_ONLY = {"local_files_only": True, "trust_remote_code": False}

PARALLEL_FROM = 1 << 15
"""Entries that PyTorch gives a thread of its own (``at::internal::GRAIN_SIZE``)."""

WEIGHTS_FROM, WEIGHTS_TO = 200, 950
"""The part of the progress bar, per mille, in which the weights are read."""


@dataclass(frozen=True, slots=True)
class Libraries:
    """The modules, imported on first use: they cost more than a second."""

    torch: Any
    transformers: Any


def import_libraries() -> Libraries:
    """torch and transformers, told to stay offline and quiet. Raises MissingBackend."""
    os.environ.update(OFFLINE)
    try:
        torch = importlib.import_module("torch")
        transformers = importlib.import_module("transformers")
        tqdm = importlib.import_module("tqdm").tqdm
    except ImportError as error:
        raise MissingBackend(
            "Hugging Face folders need PyTorch and transformers: install them with "
            "pip install 'logitscope[torch]'.",
            str(error),
        ) from None
    # tqdm's own lock holds a semaphore for other processes, which nobody gives back in a process
    # that ends without exit handlers; even a bar that is switched off makes it.
    tqdm.set_lock(threading.RLock())
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    return Libraries(torch, transformers)


def choose_device(torch: Any, wanted: str | None) -> str:
    """``cuda``, then ``mps``, then ``cpu``. Raises BackendError for one that is not there."""
    present = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if wanted is None:
        return next((name for name, there in present.items() if there), "cpu")
    kind = wanted.split(":")[0]
    if kind != "cpu" and not present.get(kind, False):
        raise BackendError(
            f"PyTorch finds no device {wanted} on this computer: choose cpu or install a build of "
            "PyTorch for the GPU."
        )
    return wanted


def describe_device(torch: Any, device: str) -> str:
    """For people: ``CPU, 2 threads``, ``CUDA NVIDIA H200``, ``Apple GPU (MPS)``."""
    if device.startswith("cuda"):
        return f"CUDA {torch.cuda.get_device_name(device)}"
    if device.startswith("mps"):
        return "Apple GPU (MPS)"
    threads = torch.get_num_threads()
    return f"CPU, {threads} thread{'s' if threads != 1 else ''}"


def free_memory(torch: Any, device: str) -> int:
    """Bytes that can still be had on the device."""
    if device.startswith("cuda"):
        return int(torch.cuda.mem_get_info(device)[0])
    return int(psutil.virtual_memory().available)


@dataclass(frozen=True, slots=True)
class Identity:
    """What is known of a model from its files."""

    name: str
    path: Path
    stored_as: str
    """The format of most weights in the files, such as ``bfloat16`` or ``Q4_K_M``."""
    header_hash: str


@dataclass(frozen=True, slots=True)
class LoadedParts:
    """What transformers made of a folder."""

    model: Any
    tokenizer: Any
    device: str
    identity: Identity


def check_memory(identity: Identity, weight_bytes: int, device: str, free: int) -> None:
    """Raise NotEnoughMemory where the weights cannot fit, with both numbers."""
    needed = int(weight_bytes * MEMORY_MARGIN)
    if needed <= free:
        return
    reason = ""
    if device == "cpu" and identity.stored_as in {"bfloat16", "float16"}:
        reason = f" (float32 on the CPU takes twice the {identity.stored_as} of the files)"
    raise NotEnoughMemory(
        f"{identity.name} needs about {_size(needed)}{reason}, but only {_size(free)} are free on "
        f"{device}: close other programs, or choose a smaller model or a quantized GGUF of it."
    )


def _size(n_bytes: int) -> str:
    """In decimal units, as in the listings of model files."""
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.1f} MB"


def start_threads(torch: Any) -> None:
    """Have PyTorch make its threads now; it keeps them."""
    torch.zeros(torch.get_num_threads() * 2 * PARALLEL_FROM).exp_()


def load_parts(
    libraries: Libraries, folder: ModelFolder, options: LoadOptions, watch: Watch
) -> LoadedParts:
    """Tokenizer and model on their device, in evaluation mode.

    Raises ModelFileError, NotEnoughMemory, BackendError, Cancelled."""
    torch = libraries.torch
    config = read_config(libraries.transformers, folder)
    device = choose_device(torch, options.device)
    dtype = torch.float32 if device == "cpu" else torch.bfloat16
    identity = Identity(
        folder.path.resolve().name, folder.path, folder.stored_dtype, folder.header_hash
    )
    needed = folder.bytes_as(dtype.itemsize)
    check_memory(identity, needed, device, free_memory(torch, device))
    watch.check()
    watch.report(50, 1000)
    tokenizer = load_tokenizer(libraries.transformers, folder.path)
    watch.check()
    watch.report(WEIGHTS_FROM, 1000)
    model = from_pretrained(
        libraries, folder.path, watch, config=config, dtype=dtype, **place(device), **LOCAL_ONLY
    )
    watch.check()
    return LoadedParts(model.eval(), tokenizer, device, identity)


def place(device: str) -> dict[str, Any]:
    """Arguments that send each weight to a GPU as it is read, without a copy of all in between."""
    return {} if device == "cpu" else {"device_map": {"": device}}


def read_config(transformers: Any, folder: ModelFolder) -> Any:
    """The configuration of a causal language model. Raises ModelFileError for anything else."""
    model_type = folder.config["model_type"]
    if model_type not in transformers.CONFIG_MAPPING:
        raise ModelFileError(_unknown_architecture(transformers, folder))
    try:
        config = transformers.AutoConfig.from_pretrained(folder.path, **LOCAL_ONLY)
    except Exception as error:
        raise ModelFileError(
            f"transformers cannot read config.json in {folder.path}: download it again or update "
            "transformers.",
            str(error),
        ) from error
    _check_is_causal(transformers, folder, config)
    layers = getattr(config.get_text_config(decoder=True), "num_hidden_layers", 0)
    if isinstance(layers, int) and layers > len(folder.tensors):
        raise ModelFileError(
            f"config.json in {folder.path} asks for {layers} layers, but the weight files hold "
            f"only {len(folder.tensors)} tensors: download the folder again."
        )
    return config


def _unknown_architecture(transformers: Any, folder: ModelFolder) -> str:
    name = folder.config["model_type"]
    if folder.config.get("auto_map"):
        return (
            f"{folder.path.name} ({name}) runs only with Python code from its own folder, which "
            "Logitscope does not execute: use a GGUF of the model or another model."
        )
    return (
        f"transformers {transformers.__version__} does not know the architecture {name} of "
        f"{folder.path.name}: update transformers or choose another model."
    )


def _check_is_causal(transformers: Any, folder: ModelFolder, config: Any) -> None:
    if getattr(config, "is_encoder_decoder", False):
        raise ModelFileError(
            f"{folder.path.name} is an encoder-decoder model ({config.model_type}): Logitscope "
            "reads decoder-only language models."
        )
    names = transformers.models.auto.modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    causal = names.get(config.model_type)
    stated = folder.config.get("architectures") or [causal]
    if causal is None or not set(stated) & _causal_classes(names):
        raise ModelFileError(
            f"{folder.path.name} ({stated[0] or config.model_type}) is not a causal language model "
            "but an encoder or embedding model, and predicts no next token: choose another model."
        )


def _causal_classes(names: dict[str, Any]) -> set[str]:
    flat: set[str] = set()
    for value in names.values():
        flat.update([value] if isinstance(value, str) else value)
    return flat


def load_tokenizer(transformers: Any, path: Path) -> Any:
    """The fast tokenizer; ``tokenizer.json``, where there is one, decides alone what it does.

    AutoTokenizer would rebuild some of them from the class named in the configuration, with that
    class's own splitting rules. Raises ModelFileError."""
    has_description = (path / "tokenizer.json").exists()
    name = "PreTrainedTokenizerFast" if has_description else "AutoTokenizer"
    arguments = {"local_files_only": True} if has_description else LOCAL_ONLY
    try:
        tokenizer = getattr(transformers, name).from_pretrained(path, **arguments)
    except Exception as error:
        raise ModelFileError(
            f"The tokenizer in {path} cannot be read: download tokenizer.json again.", str(error)
        ) from error
    if not getattr(tokenizer, "is_fast", False):
        raise ModelFileError(
            f"{path} has no tokenizer.json, and its older tokenizer cannot be converted: download "
            "tokenizer.json into the folder."
        )
    return without_limits(tokenizer)


def without_limits(tokenizer: Any) -> Any:
    """The tokenizer with the truncation and padding of its file switched off."""
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.no_padding()
    return tokenizer


def from_pretrained(libraries: Libraries, path: Path, watch: Watch, **arguments: Any) -> Any:
    """The model with the weights of its files. Raises ModelFileError, NotEnoughMemory, Cancelled.

    transformers fills weights that the files lack with random numbers; here that is an error."""
    transformers = libraries.transformers
    with _weights_progress(transformers, watch), quiet():
        try:
            model, loading = transformers.AutoModelForCausalLM.from_pretrained(
                path, use_safetensors=True, output_loading_info=True, **arguments
            )
        except Cancelled:
            raise
        except Exception as error:
            raise _load_failure(libraries, path, error) from error
    lacking = sorted(loading["missing_keys"]) + sorted(str(k) for k in loading["mismatched_keys"])
    if lacking:
        more = f" and {len(lacking) - 1} more tensors" if len(lacking) > 1 else ""
        raise ModelFileError(
            f"The weight files in {path} lack {lacking[0]}{more} of {type(model).__name__}: this "
            "is not a whole causal language model, download it again or choose another.",
            "\n".join(lacking),
        )
    return model


def _load_failure(libraries: Libraries, path: Path, error: Exception) -> BackendError:
    text = str(error)
    if is_out_of_memory(libraries.torch, error):
        return NotEnoughMemory(
            f"The memory did not suffice to load {path.name}: close other programs or choose a "
            "smaller model.",
            text,
        )
    if isinstance(error, ImportError):
        return ModelFileError(
            f"{path.name} needs a library that is not installed "
            f"({text.strip().splitlines()[0][:160]}): install it or choose another model.",
            text,
        )
    first = text.strip().splitlines()[0][:200] if text.strip() else type(error).__name__
    return ModelFileError(
        f"transformers cannot load the weights in {path} ({first}): download the folder again or "
        "choose another model.",
        text,
    )


def is_out_of_memory(torch: Any, error: BaseException) -> bool:
    """Whether an exception says that the memory of the device or of the machine ran out."""
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and "can't allocate memory" in str(error)


@contextmanager
def _weights_progress(transformers: Any, watch: Watch) -> Iterator[None]:
    """Turn the library's progress bar over the weights into reports, and stop there if asked."""

    def hook(factory: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        bar = factory(*args, **kwargs)
        if kwargs.get("desc") != "Loading weights":
            return bar
        return _watched(args[0], watch)

    previous = transformers.utils.logging.set_tqdm_hook(hook)
    try:
        yield
    finally:
        transformers.utils.logging.set_tqdm_hook(previous)


def _watched(items: Any, watch: Watch) -> Iterator[Any]:
    total = max(len(items), 1)
    for index, item in enumerate(items):
        watch.check()
        watch.report(WEIGHTS_FROM + (WEIGHTS_TO - WEIGHTS_FROM) * index // total, 1000)
        yield item


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the library's warnings off the standard error: what matters is checked by ourselves."""
    logger = logging.getLogger("transformers")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
