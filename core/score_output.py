"""What ``logitscope score`` prints: averages when all is done, or tokens after each file."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from logitscope.losses import LossTable
from logitscope.record_output import (
    CsvWriter,
    JsonlWriter,
    OutputFormat,
    ParquetWriter,
    Record,
    RecordWriter,
    TableWriter,
)
from logitscope.score_report import (
    SCORE_FIELDS,
    TOKEN_FIELDS,
    file_score,
    score_lines,
    token_lines,
    token_records,
)
from logitscope.vocabulary import Vocabulary


class ScoreOutput:
    """Writes to standard output, and nothing at all where no file was added."""

    def __init__(self, vocabulary: Vocabulary, output: OutputFormat, tokens: bool) -> None:
        self._vocabulary = vocabulary
        self._output = output
        self._tokens = tokens
        self._averages: list[Record] = []
        # A writer's first act may be a title line.
        self._writer: RecordWriter | None = None

    def add(self, name: str, table: LossTable, texts: Sequence[Sequence[int]]) -> None:
        """A file with a known loss: its texts as ids, which are end to end those of the table."""
        if self._tokens:
            self._begun().write(token_records(name, table, self._vocabulary))
        else:
            self._averages.append(file_score(name, table, texts, self._vocabulary).record())

    def close(self) -> None:
        """Write what is kept; standard output stays open."""
        if self._averages:
            self._begun().write(self._averages)
        if self._writer is not None:
            self._writer.close()

    def _begun(self) -> RecordWriter:
        if self._writer is None:
            self._writer = _writer(self._output, self._tokens)
        return self._writer


def _writer(output: OutputFormat, tokens: bool) -> RecordWriter:
    names = TOKEN_FIELDS if tokens else SCORE_FIELDS
    match output:
        case OutputFormat.CSV:
            return CsvWriter(sys.stdout, list(names))
        case OutputFormat.JSONL:
            return JsonlWriter(sys.stdout)
        case OutputFormat.PARQUET:
            return ParquetWriter(sys.stdout.buffer, names)
    return TableWriter(sys.stdout, token_lines if tokens else score_lines)
