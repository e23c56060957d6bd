"""What the commands share: arguments and options, exit codes, finding a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from logitscope.backends.base import ModelFileError

FAILED = 1
INTERRUPTED = 130
PACKAGED_NAME = "gemma"

ModelArgument = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A GGUF file, a Hugging Face folder, or a name that `logitscope models` lists.",
    ),
]
BackendOption = Annotated[
    str,
    typer.Option(help="llamacpp, hf or another installed one; chosen by the files if not given."),
]
ContextOption = Annotated[
    int | None, typer.Option("--context", "-c", min=1, help="Tokens the model shall hold.")
]
ThreadsOption = Annotated[
    int | None, typer.Option(min=1, help="Processor threads; physical cores if not given.")
]
LayersOption = Annotated[
    int | None,
    typer.Option(min=0, help="llama.cpp: blocks on the GPU; as many as fit if not given."),
]
DeviceOption = Annotated[str | None, typer.Option(help="PyTorch: cuda, mps or cpu.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def complain(sentence: str, code: int) -> int:
    """Print a sentence on standard error; returns the exit code."""
    typer.echo(f"logitscope: {sentence}", err=True)
    return code


def find_model(model: str) -> str:
    """The absolute path that MODEL means: a file, a folder, or a name of the library.

    Raises ModelFileError where it is none of them; puts the packaged model together if needed.
    """
    if model.startswith("fake:"):
        return model
    path = Path(model).expanduser().absolute()
    if path.exists() or path.is_symlink():
        return str(path)
    from logitscope.backends.library import find_models
    from logitscope.backends.packaged import assemble

    for entry in find_models():
        alias = PACKAGED_NAME if entry.source == "packaged" else entry.title
        if model.casefold() in {alias.casefold(), entry.title.casefold()}:
            return str(entry.path if entry.ready else assemble())
    raise ModelFileError(
        f"{model}: there is no such file or folder, and `logitscope models` lists no such name: "
        "check the path"
    )
