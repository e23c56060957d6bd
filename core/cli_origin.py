"""``logitscope origin``: where the words of an answer came from, prompt or weights."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from logitscope.backends.base import BackendError, LoadOptions
from logitscope.cli_options import (
    BackendOption,
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
from logitscope.display import hex_of
from logitscope.interrupts import INTERRUPTED, unwind
from logitscope.origin_case_file import CaseError, TextCase, read_cases
from logitscope.origin_output import report_lines, report_record
from logitscope.origin_sentences import against_bos, case_of, sentence_spans
from logitscope.origin_spans import estimate
from logitscope.origin_types import Label, OriginCase, OriginReport
from logitscope.progress_bar import spinner, token_bar
from logitscope.start import FAILED, complain, find_model
from logitscope.textfile import TextFileError, decode_text, read_text

if TYPE_CHECKING:
    from logitscope.backends.origin_process import OriginProcess

STANDARD_INPUT = "-"
ONLY_CASE = "case"
_SWAPPED = frozenset({Label.COPIED, Label.DERIVED})


@dataclass(frozen=True, slots=True)
class _Wish:
    """What is asked of every case."""

    everything: bool
    whole_prompt: bool
    as_json: bool


_CaseArgument = Annotated[
    str,
    typer.Argument(
        metavar="CASE",
        help='A JSON file with "sources", "frame" and, if known, "answer"; JSON Lines for many '
        'cases; "-" is standard input.',
    ),
]
_LinesOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON object a case, on a line.")
]
_EverythingOption = Annotated[
    bool,
    typer.Option(
        "--everything",
        help="Also swap the sources of every word, what it leans on, and the answer without "
        "sources: slower.",
    ),
]
_WholePromptOption = Annotated[
    bool, typer.Option("--whole-prompt", help="Take all of the prompt as source, against BOS.")
]
_CalibrateOption = Annotated[
    bool, typer.Option("--calibrate", help="Measure the threshold of this model first.")
]


def origin(
    model: ModelArgument,
    case: _CaseArgument,
    *,
    as_json: _LinesOption = False,
    everything: _EverythingOption = False,
    whole_prompt: _WholePromptOption = False,
    calibrate: _CalibrateOption = False,
    backend: BackendOption = "",
    context: ContextOption = None,
    threads: ThreadsOption = None,
    gpu_layers: LayersOption = None,
    device: DeviceOption = None,
) -> None:
    """Print where every word of an answer came from: prompt or weights, with the evidence.

    Ctrl-C stops and keeps what is printed.
    """
    from logitscope.backends.origin_process import OriginProcess

    cases = _cases_of(case)
    path = find_model(model)
    options = LoadOptions(context, threads, gpu_layers, device=device)
    check_options(model, path, backend, options)
    unwind()
    with loading(model, path):
        opened = OriginProcess(path, backend, options)
    with opened:
        tell_loaded(opened.info, context, gpu_layers)
        least = _measured(opened) if calibrate else None
        run = _Run(opened, _Wish(everything, whole_prompt, as_json), least, _name_of(case))
        code = run.print_all(cases)
    raise typer.Exit(code)


def _measured(opened: OriginProcess) -> float:
    with spinner("measuring the threshold"):
        return opened.threshold()


class _Run:
    """Works one case out after the other."""

    def __init__(
        self, opened: OriginProcess, wish: _Wish, threshold: float | None, file: str
    ) -> None:
        self._file = file
        self._opened = opened
        self._wish = wish
        self._threshold = threshold
        self._printed = 0
        self._code = 0

    def print_all(self, cases: Sequence[TextCase | CaseError]) -> int:
        """Work out and print cases as far as the model and the person let it. Returns the exit
        code."""
        for number, each in enumerate(cases, 1):
            if not self._add(each, f"case {number}" if len(cases) > 1 else ONLY_CASE):
                break
        return self._code

    def _add(self, text: TextCase | CaseError, name: str) -> bool:
        """Work out a case and print it, or what is wrong; False where no other can follow."""
        from logitscope.backends.question import ModelDied

        try:
            self._print(name, self._worked_out(name, self._case(text)))
        except (CaseError, BackendError) as error:
            place = self._file if name == ONLY_CASE else f"{self._file}: {name}"
            self._code = complain(f"{place}: {error}", FAILED)
            return not isinstance(error, ModelDied)
        except KeyboardInterrupt:
            self._code = INTERRUPTED
            return False
        return True

    def _case(self, text: TextCase | CaseError) -> OriginCase:
        """The case on ids. Raises CaseError where it has nothing to compare."""
        if isinstance(text, CaseError):
            raise text
        opened = self._opened
        prompt = opened.tokenize(text.prompt, add_special=True)
        if not prompt:
            raise CaseError("the prompt is empty: write sources and frame")
        answer = (
            opened.greedy(prompt, text.max_tokens)
            if text.answer is None
            else opened.inner_ids(text.answer, text.prompt)
        )
        if not answer:
            raise CaseError("the model writes no answer: it ends at once")
        if self._wish.whole_prompt:
            return against_bos(opened.vocabulary, prompt, answer)
        try:
            spans = sentence_spans(text.prompt, text.ranges)
            case = case_of(opened.vocabulary, prompt, text.prompt, spans, answer)
        except ValueError as error:
            raise CaseError(str(error)) from error
        if not case.sources:
            raise CaseError("it has no source: write texts into sources, or give --whole-prompt")
        return case

    def _worked_out(self, name: str, case: OriginCase) -> tuple[OriginReport, bytes | None]:
        """The report, and the answer without the sources where it is wanted."""
        from logitscope.backends.origin_messages import Task

        opened = self._opened
        with token_bar(name, estimate(case).passes, "passes") as advance:
            report = opened.labels(case, self._threshold, advance)
            every = range(len(report.words))
            if every:
                report = opened.more(report, Task.SOURCES, every, advance)
        if not self._wish.everything:
            return report, None
        with spinner(f"{name}: swaps and leaning"):
            for index in every:
                if report.words[index].label in _SWAPPED:
                    report = opened.more(report, Task.SWAP, [index])
                report = opened.more(report, Task.LEANS, [index])
            free = opened.without_sources(case)
        return report, opened.vocabulary.text_bytes(free)

    def _print(self, name: str, found: tuple[OriginReport, bytes | None]) -> None:
        report, free_bytes = found
        free = None if free_bytes is None else free_bytes.decode(errors="replace")
        vocabulary = self._opened.vocabulary
        if self._wish.as_json:
            info = self._opened.info
            about: dict[str, Any] = {"case": name, "model": info.name, "backend": info.backend}
            record = {
                **about,
                **report_record(report, vocabulary),
                "without_sources": free,
                "without_sources_bytes": None if free_bytes is None else hex_of(free_bytes),
            }
            typer.echo(json.dumps(record, ensure_ascii=False))
        else:
            if self._printed:
                typer.echo()
            if name != ONLY_CASE:
                typer.echo(name)
            for line in report_lines(report, vocabulary):
                typer.echo(line)
            if free is not None:
                typer.echo(f"without the sources: {free!r}")
        self._printed += 1
        sys.stdout.flush()


def _cases_of(file: str) -> tuple[TextCase | CaseError, ...]:
    """The cases of a file. Raises BackendError with what is wrong."""
    name = _name_of(file)
    try:
        found = (
            decode_text(sys.stdin.buffer.read(), name)
            if file == STANDARD_INPUT
            else read_text(Path(file), name=file)
        )
        tell(found.note)
        return read_cases(found.text)
    except TextFileError as error:
        raise BackendError(str(error)) from error
    except CaseError as error:
        raise BackendError(f"{name}: {error}") from error


def _name_of(file: str) -> str:
    return "standard input" if file == STANDARD_INPUT else file
