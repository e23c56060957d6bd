"""A GGUF file through transformers: every weight unpacked, to compare the two backends.

It takes several times the memory of the file and is slow to load; llama.cpp is the backend for
everyday use of GGUF.
"""

from __future__ import annotations

from pathlib import Path

from logitscope.backends.base import LoadOptions, MissingBackend, ModelFileError, Watch
from logitscope.backends.gguf_header import GgufHeader, read_header
from logitscope.backends.hf_files import DTYPE_NAMES
from logitscope.backends.hf_load import (
    LOCAL_ONLY,
    WEIGHTS_FROM,
    Identity,
    Libraries,
    LoadedParts,
    check_memory,
    choose_device,
    free_memory,
    from_pretrained,
    place,
    quiet,
    without_limits,
)

PEAK_BYTES_A_WEIGHT = 12
"""Measured: 3.2 GB for the 268 million weights of Gemma 3 270M, whatever the dtype afterwards."""

USE_LLAMACPP = "open it with the backend llamacpp."


def load_gguf(libraries: Libraries, path: Path, options: LoadOptions, watch: Watch) -> LoadedParts:
    """Tokenizer and model of a file. Raises ModelFileError, MissingBackend, NotEnoughMemory."""
    header = read_header(path)
    header.require_language_model()
    if len(header.shards) > 1:
        raise ModelFileError(
            f"{path.name} is in parts, which transformers cannot read: {USE_LLAMACPP}"
        )
    _check_helpers()
    torch = libraries.torch
    device = choose_device(torch, options.device)
    dtype = torch.float32 if device == "cpu" else torch.bfloat16
    stored = DTYPE_NAMES.get(header.quantization, header.quantization)
    identity = Identity(header.name, path, stored, header.header_sha256)
    check_memory(
        identity, _needed_bytes(header, dtype.itemsize), device, free_memory(torch, device)
    )
    watch.check()
    watch.report(50, 1000)
    arguments = {"gguf_file": path.name, **LOCAL_ONLY}
    with quiet():
        try:
            transformers = libraries.transformers
            tokenizer = transformers.AutoTokenizer.from_pretrained(path.parent, **arguments)
            config = transformers.AutoConfig.from_pretrained(path.parent, **arguments)
        except Exception as error:
            raise ModelFileError(
                f"transformers cannot read the architecture {header.architecture} of {path.name}: "
                f"{USE_LLAMACPP}",
                str(error),
            ) from error
    watch.check()
    watch.report(WEIGHTS_FROM, 1000)
    arguments["quantization_config"] = transformers.GgufConfig(dequantize=True)
    model = from_pretrained(
        libraries, path.parent, watch, config=config, dtype=dtype, **place(device), **arguments
    )
    return LoadedParts(model.eval(), without_limits(tokenizer), device, identity)


def _check_helpers() -> None:
    import importlib.util

    missing = [name for name in ("accelerate", "gguf") if not importlib.util.find_spec(name)]
    if missing:
        raise MissingBackend(
            f"transformers needs {' and '.join(missing)} to read a GGUF file: install that with "
            f"pip, or {USE_LLAMACPP}"
        )


def _needed_bytes(header: GgufHeader, item_size: int) -> int:
    """The most that loading takes for a moment; the unpacked weights alone are less."""
    return int(header.parameters * max(item_size, PEAK_BYTES_A_WEIGHT))
