"""The command line, the composition root: it alone brings backends, window and core together.

Exit codes: 0, 1 for a model or an input that fails, 2 for wrong usage, 130 for Ctrl-C. Errors are
one line on standard error.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer.core import TyperGroup

from logitscope import start
from logitscope.backends.base import (
    BackendError,
    ContextOverflow,
    LoadOptions,
    ModelFileError,
    ModelInfo,
)
from logitscope.cli_options import (
    BackendOption,
    BosOption,
    ContextOption,
    DeviceOption,
    JsonOption,
    LayersOption,
    ModelArgument,
    ThreadsOption,
    as_given,
    check_options,
    loading,
    overflow_sentence,
    tell,
    tell_context,
    tell_loaded,
)
from logitscope.cli_origin import origin
from logitscope.cli_score import score
from logitscope.interrupts import unwind
from logitscope.one_line import in_one_line
from logitscope.progress_bar import report_bar
from logitscope.sampler_settings import SamplerSettings
from logitscope.start import WRONG_USAGE, complain, find_model

if TYPE_CHECKING:
    from logitscope.backends.inspect import HeaderSummary, MemoryEstimate
    from logitscope.backends.library import LibraryEntry

_UsageError = cast(type[typer.BadParameter], typer.BadParameter.__base__)
"""Of click, or of the copy of it in Typer."""


@contextmanager
def _usage_in_a_line() -> Iterator[None]:
    """Wrong usage as all else that fails: one line on standard error, and an exit code."""
    try:
        yield
    except _UsageError as error:
        # Pydantic, which newer versions of Typer check with, puts its own prefix in front.
        said = error.format_message().replace("Value error, ", "").removeprefix("Invalid value: ")
        said = said.replace("\n", " ").removesuffix(".")
        command = "logitscope" if error.ctx is None else error.ctx.command_path
        sys.exit(complain(f"{said} (see {command} --help)", WRONG_USAGE))


class _DefaultToOpen(TyperGroup):
    """A first word that is no command is a model to open; ``./next`` opens a file called next."""

    def make_context(self, *args: Any, **options: Any) -> Any:
        with _usage_in_a_line():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        with _usage_in_a_line():
            return super().invoke(ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        own = {"--help", "--version", "--install-completion", "--show-completion"}
        if not args or args[0] not in own | set(self.commands):
            self._refuse_slip(args)
            args = ["open", *args]
        return super().parse_args(ctx, args)

    def _refuse_slip(self, args: list[str]) -> None:
        """``scor MODEL FILE`` is meant for a command that there is: say which."""
        meant = get_close_matches(args[0], self.commands, n=1) if len(args) > 1 else []
        if meant and not Path(args[0]).exists():
            raise typer.BadParameter(f'there is no command "{args[0]}": did you mean {meant[0]}?')


app = typer.Typer(
    cls=_DefaultToOpen,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    help="See how a language model writes: every next-token distribution, live and offline.",
    epilog="logitscope [MODEL] is short for logitscope open [MODEL].",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"logitscope {version('logitscope')}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Options in front of a command."""


@app.command("open")
def open_window(
    model: Annotated[str | None, typer.Argument(metavar="[MODEL]", show_default=False)] = None,
    *,
    backend: BackendOption = "",
    context: ContextOption = None,
    threads: ThreadsOption = None,
    gpu_layers: LayersOption = None,
    device: DeviceOption = None,
) -> None:
    """Open the window, on MODEL if one is given. This is the default command."""
    path = "" if model is None else find_model(model)
    options = LoadOptions(context, threads, gpu_layers, device=device)
    check_options(model or "", path, backend, options)
    raise typer.Exit(start.open_window(path or None, backend, options))


_PromptArgument = Annotated[
    str, typer.Argument(metavar="PROMPT", help='The text; "-" reads standard input.')
]
_CountOption = Annotated[int, typer.Option("--top", "-k", min=0, help="How many tokens to list.")]
_ChatOption = Annotated[
    bool, typer.Option("--chat", help="Send the text as a user's message through the template.")
]


@app.command("next")
def next_token(
    model: ModelArgument,
    prompt: _PromptArgument,
    *,
    count: _CountOption = 20,
    temperature: Annotated[float, typer.Option("--temperature", "-t", min=0.0)] = 1.0,
    top_k: Annotated[int, typer.Option(min=0, help="Sampler: 0 keeps all.")] = 0,
    top_p: Annotated[float, typer.Option(min=0.0, max=1.0)] = 1.0,
    min_p: Annotated[float, typer.Option(min=0.0, max=1.0)] = 0.0,
    bos: BosOption = True,
    chat: _ChatOption = False,
    as_json: JsonOption = False,
    backend: BackendOption = "",
    context: ContextOption = None,
    threads: ThreadsOption = None,
    gpu_layers: LayersOption = None,
    device: DeviceOption = None,
) -> None:
    """Print the distribution of the token that follows PROMPT."""
    from logitscope.backends.next_process import NextProcess
    from logitscope.next_table import build_table, table_lines

    try:
        settings = SamplerSettings(temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    path = find_model(model)
    options = LoadOptions(context, threads, gpu_layers, device=device)
    check_options(model, path, backend, options)
    text = _text_of(sys.stdin.buffer.read(), "standard input") if prompt == "-" else _typed(prompt)
    unwind()
    with loading(model, path):
        opened = NextProcess(path, backend, options)
    with opened:
        tell_loaded(opened.info, context, gpu_layers)
        with report_bar("prompt") as report, _overflow_told(opened.info, context):
            answer = opened.answer(text, add_special=bos, chat=chat, report=report)
    table = build_table(answer.row, opened.vocabulary, settings, answer.ids, count)
    if as_json:
        about = {"model": opened.info.name, "backend": opened.info.backend, "ids": answer.ids}
        typer.echo(json.dumps({**about, "rendered": answer.rendered, **table.as_json()}, indent=2))
        return
    for line in table_lines(table):
        typer.echo(line)


@contextmanager
def _overflow_told(info: ModelInfo, asked: int | None) -> Iterator[None]:
    try:
        yield
    except ContextOverflow as error:
        raise BackendError(overflow_sentence(error, info, asked)) from error


def _typed(prompt: str) -> str:
    """Bytes that are no UTF-8 come as lone surrogates, which no model and no reader of JSON has."""
    if not any("\ud800" <= c <= "\udfff" for c in prompt):
        return prompt
    return _text_of(os.fsencode(prompt), "the prompt")


def _text_of(data: bytes, name: str) -> str:
    """The text, whose encoding is told where it was guessed. Raises BackendError for no text."""
    from logitscope.textfile import TextFileError, decode_text

    try:
        found = decode_text(data, name)
    except TextFileError as error:
        raise BackendError(str(error)) from error
    tell(found.note)
    return found.text


app.command()(score)
app.command()(origin)


@app.command()
def info(
    model: ModelArgument,
    context: ContextOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print what the model's files say, without loading weights."""
    from logitscope.backends.inspect import context_for, estimate_memory, inspect

    path = find_model(model)
    if path.startswith("fake:"):
        raise ModelFileError("The fake model has no file: give the path of a real one")
    unwind()
    with as_given(model, path):
        summary = inspect(Path(path))
    tokens = context_for(summary, context)
    tell_context(summary.name, tokens, context)
    memory = estimate_memory(summary, tokens)
    if as_json:
        estimate = {"context": tokens, **asdict(memory), "total": memory.total}
        typer.echo(json.dumps({**asdict(summary), "memory": estimate}, indent=2))
        return
    for label, value in _info_lines(summary, tokens, memory).items():
        if value:
            typer.echo(f"{label:16}{in_one_line(value)}")


def _info_lines(summary: HeaderSummary, tokens: int, memory: MemoryEstimate) -> dict[str, str]:
    """What is printed, by its label; "" for what is not."""
    heads = f"{summary.head_count or '?'} query, {summary.kv_head_count or '?'} key and value"
    return {
        "name": summary.name,
        "file": summary.path + (f" ({summary.files} files)" if summary.files > 1 else ""),
        "format": summary.format,
        "architecture": summary.architecture,
        "parameters": f"{summary.parameters:,}",
        "quantization": summary.quantization,
        "vocabulary": _number(summary.n_vocab, "tokens"),
        "trained context": _number(summary.context_length, "tokens"),
        "blocks": _number(summary.block_count),
        "heads": heads,
        "file size": _megabytes(summary.file_bytes),
        "memory": f"{_megabytes(memory.total)} for {tokens:,} tokens: weights "
        f"{_megabytes(memory.weights)}, KV cache {_megabytes(memory.kv_cache)}, "
        f"buffers {_megabytes(memory.buffers)}",
        "chat template": "yes" if summary.has_chat_template else "no",
        "header SHA-256": summary.header_hash,
        "note": summary.refusal,
    }


@app.command()
def models(as_json: JsonOption = False) -> None:
    """List the models that are on this machine already."""
    from logitscope.backends.library import find_models
    from logitscope.backends.library_check import check

    found = find_models()
    # A process that is about to start must not lose its parent: it would print a traceback.
    unwind()
    checked = check(found)
    entries = checked.entries
    if checked.unread:
        tell(f"there was no time to look into {checked.unread} of {len(entries)} models")
    if as_json:
        typer.echo(json.dumps([{**asdict(e), "path": str(e.path)} for e in entries], indent=2))
        return
    for entry in entries:
        columns = (entry.title, entry.source, _size(entry.bytes), str(entry.path))
        shown = map(in_one_line, filter(None, (*columns, _remark(entry))))
        typer.echo("\t".join(shown))


def _remark(entry: LibraryEntry) -> str:
    """What stands behind a model that does not open just so; "" for the others."""
    if entry.lacks:
        return f"cannot be opened: {entry.lacks}"
    return "" if entry.ready else "is put together when it is first opened"


def _number(value: int | None, unit: str = "") -> str:
    return "unknown" if value is None else f"{value:,} {unit}".rstrip()


def _size(count: int) -> str:
    if not count:
        return "unknown"
    return _megabytes(count) if count >= 1e6 else f"{count / 1e3:,.1f} kB"


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"
