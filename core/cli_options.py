"""What the commands share: arguments and options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from logitscope.backends.base import (
    MOST_THREADS,
    BackendError,
    ContextOverflow,
    LoadOptions,
    ModelFileError,
    ModelInfo,
)
from logitscope.one_line import in_one_line
from logitscope.progress_bar import spinner


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


_WITHOUT = {
    ("--device", "llamacpp"): "leave it out, for llama.cpp finds the GPU that it was built for by "
    "itself, and --gpu-layers says how much goes there",
    ("--device", "bigram"): "leave it out, for counts need no GPU",
    ("--gpu-layers", "hf"): "choose with --device where PyTorch runs it",
    ("--gpu-layers", "bigram"): "leave it out, for counts need no GPU",
}
"""What to do where a backend does not know an option."""


def check_options(model: str, path: str, backend: str, options: LoadOptions) -> None:
    """Wrong usage where the backend that opens ``path``, for ``model``, would ignore an option."""
    layers, device = options.gpu_layers, options.device
    if layers and device == "cpu":
        raise typer.BadParameter(
            f"--device cpu leaves no block to the GPU, but --gpu-layers {layers} puts some "
            "there: give one of the two"
        )
    given = [("--device", device not in {None, "cpu"}), ("--gpu-layers", layers is not None)]
    for option in (name for name, is_given in given if is_given):
        name = backend or _backend_of(path)
        advice = _WITHOUT.get((option, name))
        if advice:
            said = f"{option} means nothing to {name}, which opens {model}"
            raise typer.BadParameter(f"{said}: {advice}")


def _backend_of(path: str) -> str:
    """The one that opens a path; "" for what is no model, which loading it tells."""
    from logitscope.backends.registry import choose

    try:
        return choose(path)
    except ModelFileError:
        return ""


@contextmanager
def loading(model: str, path: str) -> Iterator[None]:
    """A sign of life while ``model`` is loaded from ``path``; errors name it as `as_given`."""
    with as_given(model, path), spinner(f"loading {in_one_line(model)}"):
        yield


@contextmanager
def as_given(model: str, path: str) -> Iterator[None]:
    """Errors of ``model`` name it so where it is the path, and not a name of the library.

    The backends, which are given the whole ``path``, say this or, for the window, its last part.
    """
    try:
        yield
    except BackendError as error:
        place = Path(path)
        if Path(model).expanduser().absolute() != place:
            raise
        # The bare name can be a word that stands elsewhere, too.
        whole, bare = re.escape(path), re.escape(place.name)
        names = rf'{whole}(?=[/\s:"]|$)|^{bare}(?=[\s:])|(?<="){bare}(?=")'
        said = re.sub(names, lambda _found: model, str(error))
        raise type(error)(said, error.detail) from error


def tell(sentence: str) -> None:
    """A note on standard error; nothing for ""."""
    if sentence:
        typer.echo(f"logitscope: {in_one_line(sentence)}", err=True)


def tell_loaded(info: ModelInfo, context: int | None, gpu_layers: int | None) -> None:
    """Say on standard error where a model is not loaded as it was asked to be."""
    tell_context(info.name, info.context_length, context)
    if gpu_layers and info.backend == "llamacpp" and not info.capabilities.offload:
        tell(f"no block of {info.name} is on a GPU: the llama.cpp here finds none")


def overflow_sentence(error: ContextOverflow, info: ModelInfo, asked: int | None) -> str:
    """What to do about a prompt that is too long; -c is named where it can help."""
    held, most = info.context_length, info.trained_context_length
    if (most is not None and held >= most) or (asked is not None and held < asked):
        return f"The text is longer than the {held:,} tokens that {info.name} can hold: shorten it"
    limit = "" if most is None else f", up to {most:,} tokens"
    return f"{error} The option -c sets its length{limit}."


def tell_context(name: str, held: int, asked: int | None) -> None:
    """Say on standard error where a model holds fewer tokens than it was asked to."""
    if asked is not None and held < asked:
        said = f"the context is {held:,} tokens, not {asked:,}"
        tell(f"{said}: {name} can hold no more here")


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
    str | None,
    typer.Option(callback=_known_device, help="PyTorch: cuda, mps or cpu; llama.cpp: cpu."),
]
BosOption = Annotated[
    bool, typer.Option(help="Put in front what the model's tokenizer puts in front.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
