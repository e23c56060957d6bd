"""What the commands share: arguments and options."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from logitscope.backends.base import MOST_THREADS, ModelInfo


def _known_backend(name: str) -> str:
    """A slip of the pen is told before a model is looked for, and as wrong usage."""
    if not name:
        return name
    from logitscope.backends.registry import known_backends, offered_backends

    if name not in known_backends():
        there = ", ".join(offered_backends())
        raise typer.BadParameter(f'there is no backend "{name}": choose one of {there}')
    return name


_DEVICE = re.compile(r"(cuda|mps)(:\d+)?|cpu")


def _known_device(name: str | None) -> str | None:
    if name is not None and not _DEVICE.fullmatch(name):
        raise typer.BadParameter(f'there is no device "{name}": choose cuda, mps or cpu')
    return name


def tell_context(info: ModelInfo, asked: int | None) -> None:
    """Say on standard error where the model holds fewer tokens than it was asked to."""
    if asked is not None and info.context_length < asked:
        said = f"the context is {info.context_length:,} tokens, not {asked:,}"
        typer.echo(f"logitscope: {said}: {info.name} can hold no more here", err=True)


ModelArgument = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A GGUF file, a Hugging Face folder, or a name that `logitscope models` lists.",
    ),
]
BackendOption = Annotated[
    str,
    typer.Option(
        callback=_known_backend,
        help="llamacpp, hf or another installed one; chosen by the files if not given.",
    ),
]
ContextOption = Annotated[
    int | None, typer.Option("--context", "-c", min=1, help="Tokens the model shall hold.")
]
ThreadsOption = Annotated[
    int | None,
    typer.Option(min=1, max=MOST_THREADS, help="Processor threads; physical cores if not given."),
]
LayersOption = Annotated[
    int | None,
    typer.Option(min=0, help="llama.cpp: blocks on the GPU; as many as fit if not given."),
]
DeviceOption = Annotated[
    str | None, typer.Option(callback=_known_device, help="PyTorch: cuda, mps or cpu.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
