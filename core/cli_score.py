"""``logitscope score``: per-token loss of text files, as averages or token by token."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from logitscope.backends.base import BackendError, LoadOptions
from logitscope.cli_options import (
    BackendOption,
    BosOption,
    ContextOption,
    DeviceOption,
    LayersOption,
    ModelArgument,
    ThreadsOption,
    check_options,
    loading,
    tell,
    tell_loaded,
)
from logitscope.interrupts import INTERRUPTED, Interrupts, unwind
from logitscope.losses import LossTable
from logitscope.one_line import in_one_line
from logitscope.output_file import check_writable
from logitscope.progress_bar import token_bar
from logitscope.record_output import OutputFormat
from logitscope.score_output import ScoreOutput
from logitscope.scoring_passes import scoring_passes
from logitscope.start import FAILED, complain, find_model
from logitscope.surprisal import TokenNumbers
from logitscope.textfile import (
    TextFile,
    TextFileError,
    TextRecords,
    decode_text,
    jsonl_field,
    jsonl_field_names,
    read_text,
)

if TYPE_CHECKING:
    from logitscope.backends.scoring import ScoringModel

STANDARD_INPUT = "-"
LEAST_WINDOW = 2
MOST_NAMES = 5
"""So many files are named one by one."""


@dataclass(slots=True)
class _Scores:
    """One file: its texts as ids, and their numbers as far as they are known."""

    name: str
    texts: list[tuple[int, ...]] = field(default_factory=list)
    table: LossTable = field(default_factory=LossTable)
    is_empty: bool = False
    """There is no text at all: what its tokenizer puts in front of one stands alone."""

    @property
    def scorable(self) -> int:
        """Tokens that can have a loss: all but the first of each text."""
        return sum(max(len(ids) - 1, 0) for ids in self.texts)


_FilesArgument = Annotated[
    list[str], typer.Argument(metavar="FILE...", help='Text files; "-" is standard input.')
]
_WindowOption = Annotated[
    int | None,
    typer.Option(min=LEAST_WINDOW, help="Tokens read at once; the context if not given."),
]
_StrideOption = Annotated[
    int | None,
    typer.Option(min=1, help="Tokens from window to window; half a window if not given."),
]
_TokensOption = Annotated[
    bool, typer.Option("--tokens", help="All numbers of every token, not the averages.")
]
_FormatOption = Annotated[
    OutputFormat, typer.Option("--format", help="How to print; parquet needs pyarrow.")
]
_HtmlOption = Annotated[
    Path | None, typer.Option(metavar="OUT", help="Write one file's text as a heatmap.")
]
_FieldOption = Annotated[
    str, typer.Option("--field", help="The field of .jsonl files that holds the text.")
]


def score(
    model: ModelArgument,
    files: _FilesArgument,
    *,
    window: _WindowOption = None,
    stride: _StrideOption = None,
    tokens: _TokensOption = False,
    output: _FormatOption = OutputFormat.TABLE,
    html: _HtmlOption = None,
    bos: BosOption = True,
    text_field: _FieldOption = "",
    backend: BackendOption = "",
    context: ContextOption = None,
    threads: ThreadsOption = None,
    gpu_layers: LayersOption = None,
    device: DeviceOption = None,
) -> None:
    """Print how well MODEL predicts text files: loss, perplexity, bits per byte, ranks.

    Ctrl-C stops and prints what is done.
    """
    from logitscope.backends.scoring import ScoringModel

    if window is not None:
        _check_stride(stride, window)
    _check_files(files, text_field, html)
    _check_format(output)
    path = find_model(model)
    if html is not None:
        _check_html(html, {files[0]: files[0], model: path})
    options = LoadOptions(context or window, threads, gpu_layers, device=device, branches=False)
    check_options(model, path, backend, options)
    unwind()
    with loading(model, path):
        opened = ScoringModel(path, backend, options)
    with opened:
        tell_loaded(opened.info, context, gpu_layers)
        report = ScoreOutput(opened.vocabulary, output, tokens)
        run = _Run(opened, _window_size(window, opened), stride, report)
        code = run.print_all(files, text_field, bos=bos, html=html)
    raise typer.Exit(code)


class _Run:
    """Scores one file after the other."""

    def __init__(
        self, opened: ScoringModel, window: int, stride: int | None, report: ScoreOutput
    ) -> None:
        _check_stride(stride, window)
        self._opened = opened
        self._window = window
        self._stride = stride
        self._report = report
        self._reached = 0
        self._interrupts = Interrupts()
        self._code = 0

    def print_all(
        self, files: Sequence[str], text_field: str, *, bos: bool, html: Path | None
    ) -> int:
        """Score and report files, and say which ones an early end left out. Returns the exit
        code."""
        with self._interrupts.heard():
            for file in files:
                if not self._add(file, text_field, bos=bos, html=html):
                    break
            tell(_left_out([_name_of(file) for file in files[self._reached :]]))
            self._report.close()
        return INTERRUPTED if self._interrupts.came else self._code

    def _add(self, file: str, text_field: str, *, bos: bool, html: Path | None) -> bool:
        """Score a file and report it; False where no other one can follow."""
        from logitscope.backends.question import ModelDied

        scores = _Scores(_name_of(file))
        self._reached += 1
        goes_on = True
        try:
            with self._interrupts.stoppable():
                self._read(scores, file, text_field, bos)
                self._score(scores)
        except TextFileError as error:
            self._code = complain(str(error), FAILED)
        except BackendError as error:
            self._code = complain(f"{scores.name}: {error}", FAILED)
            goes_on = not isinstance(error, ModelDied)
        except KeyboardInterrupt:
            goes_on = False
            # Of a text that was read, it is said how much is scored.
            self._reached -= not scores.texts
        else:
            self._check_scorable(scores)
        self._tell_gaps(scores)
        if scores.table.known:
            self._report.add(scores.name, scores.table, scores.texts)
            if html is not None:
                self._write_html(scores, html)
        return goes_on and not self._interrupts.came

    def _read(self, scores: _Scores, file: str, text_field: str, bos: bool) -> None:
        found = _texts_of(file, scores.name, text_field)
        tell(found.note)
        texts = found.texts if isinstance(found, TextRecords) else (found.text,)
        scores.is_empty = not any(texts)
        ids = [self._opened.tokenize(text, add_special=bos) for text in texts]
        scores.table.follow([token_id for text in ids for token_id in text])
        scores.texts = ids

    def _score(self, scores: _Scores) -> None:
        bos = self._opened.vocabulary.bos
        with token_bar(in_one_line(scores.name), scores.scorable) as advance:
            passes = scoring_passes(scores.texts, self._window, self._stride, bos)
            for each, reply in self._opened.score(passes):
                values = {f.name: getattr(reply, f.name) for f in fields(TokenNumbers)}
                position = each.position - each.start + reply.start
                scores.table.put(position, TokenNumbers(**values))
                advance(len(reply.rank))

    def _check_scorable(self, scores: _Scores) -> None:
        if not scores.scorable:
            why = "the text is empty" if scores.is_empty else "nothing stands before one"
            said = f"no token can be scored, for {why}"
            self._code = complain(f"{scores.name}: {said}", FAILED)

    def _tell_gaps(self, scores: _Scores) -> None:
        known, all_of_them = scores.table.known, scores.scorable
        if known < all_of_them:
            said = f"{known:,} of {all_of_them:,} tokens are scored"
            tell(f"{scores.name}: {said}")

    def _write_html(self, scores: _Scores, html: Path) -> None:
        from logitscope.loss_html import loss_html

        info, table = self._opened.info, scores.table
        averages = table.summary(0, len(table), None, None)
        facts = (
            f"Model: {info.name}, {info.quantization}, {info.backend}",
            f"Mean loss {averages.mean_loss:.4f} nats, perplexity {averages.perplexity:,.4f}",
        )
        page = loss_html(self._opened.vocabulary, table, scores.name, facts=facts)
        try:
            html.write_text(page, encoding="utf-8")
        except OSError as error:
            self._code = self._code or complain(_cannot_write(html, error), FAILED)


def _name_of(file: str) -> str:
    return "standard input" if file == STANDARD_INPUT else file


def _left_out(names: Sequence[str]) -> str:
    """A sentence on files that were not reached; "" for none."""
    if len(names) < 2:
        return "".join(f"{name} is not scored" for name in names)
    if len(names) > MOST_NAMES:
        return f"{len(names):,} files are not scored: {names[0]} and all behind it"
    return f"{', '.join(names[:-1])} and {names[-1]} are not scored"


def _texts_of(file: str, name: str, text_field: str) -> TextFile | TextRecords:
    """The text of a file, or the chosen field of its records. Raises TextFileError."""
    from_input = file == STANDARD_INPUT
    found = (
        decode_text(sys.stdin.buffer.read(), name)
        if from_input
        else read_text(Path(file), name=file)
    )
    if text_field and _has_fields(file):
        return jsonl_field(found, text_field, name)
    if not from_input and _is_jsonl(file):
        there = ", ".join(jsonl_field_names(found, name)) or "none"
        raise TextFileError(f"{name} holds records: choose a field with --field (here: {there})")
    return found


def _has_fields(file: str) -> bool:
    return file == STANDARD_INPUT or _is_jsonl(file)


def _is_jsonl(file: str) -> bool:
    return Path(file).suffix.lower() in {".jsonl", ".ndjson"}


def _window_size(window: int | None, opened: ScoringModel) -> int:
    """The window that was asked for, or all that the model holds. Raises BackendError."""
    most = opened.info.context_length
    if most < LEAST_WINDOW:
        raise BackendError(
            "The model holds one token only, and scoring needs a token before each: load it with a "
            "--context of at least 2"
        )
    if window is not None and window > most:
        raise BackendError(
            f"The window of {window:,} tokens is longer than the {most:,} that the model holds: "
            f"choose a --window of at most {most}"
        )
    return window or most


def _check_files(files: Sequence[str], text_field: str, html: Path | None) -> None:
    if html is not None and len(files) > 1:
        raise typer.BadParameter("--html makes one heatmap: give one file")
    if text_field and not any(map(_has_fields, files)):
        raise typer.BadParameter("--field is for .jsonl files, and none is given")


def _check_stride(stride: int | None, window: int) -> None:
    if stride is not None and stride > window // 2:
        raise typer.BadParameter(
            f"--stride {stride} is more than half of the window of {window} tokens, so that some "
            "tokens would be scored with next to nothing before them"
        )


def _check_format(output: OutputFormat) -> None:
    if output is not OutputFormat.PARQUET:
        return
    if find_spec("pyarrow") is None:
        raise BackendError("Parquet needs the package pyarrow: pip install 'logitscope[parquet]'")
    if sys.stdout.isatty():
        raise typer.BadParameter("Parquet is no text: send it to a file with > FILE")


def _check_html(html: Path, read: Mapping[str, str]) -> None:
    """Scoring takes minutes, which shall not be lost to a folder that is not there; and what is
    read, by its name and its path, must not be written over."""
    for name, path in read.items():
        if html.exists() and Path(path).exists() and html.samefile(path):
            raise typer.BadParameter(f"--html would write over {name}: choose another place")
    try:
        check_writable(html)
    except OSError as error:
        raise BackendError(_cannot_write(html, error)) from error


def _cannot_write(html: Path, error: OSError) -> str:
    return f"{html} cannot be written ({error.strerror or error}): choose another place"
