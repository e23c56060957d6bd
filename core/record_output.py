"""Records on a stream as an aligned table, CSV, JSON Lines or Parquet."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import islice
from typing import Any, BinaryIO, Protocol, TextIO

Record = dict[str, Any]
"""Plain values and lists of them; None where a number is unknown."""

BLOCK = 10_000
"""Records held at once; the columns of a table are as wide as a block needs them."""


class OutputFormat(StrEnum):
    """How records are written."""

    TABLE = "table"
    CSV = "csv"
    JSONL = "jsonl"
    PARQUET = "parquet"


class RecordWriter(Protocol):
    """Writes records that all have the same fields."""

    def write(self, records: Iterable[Record]) -> None: ...

    def close(self) -> None:
        """Write what belongs behind the last record; the stream stays open."""


class TableWriter:
    """A title line and one line a record; titles come again with every block."""

    def __init__(self, stream: TextIO, lines: Callable[[Sequence[Record]], Iterator[str]]) -> None:
        self._stream = stream
        self._lines = lines

    def write(self, records: Iterable[Record]) -> None:
        for block in _blocks(records):
            self._stream.writelines(f"{line}\n" for line in self._lines(block))

    def close(self) -> None:
        self._stream.flush()


class CsvWriter:
    """A title line; lists are separated by spaces, unknown values empty."""

    def __init__(self, stream: TextIO, names: Sequence[str]) -> None:
        self._stream = stream
        self._writer = csv.writer(stream, lineterminator="\n")
        self._names = names
        self._writer.writerow(names)

    def write(self, records: Iterable[Record]) -> None:
        for record in records:
            self._writer.writerow([_cell(record[name]) for name in self._names])

    def close(self) -> None:
        self._stream.flush()


class JsonlWriter:
    """One object a line."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, records: Iterable[Record]) -> None:
        for record in records:
            self._stream.write(json.dumps(record, ensure_ascii=False) + "\n")

    def close(self) -> None:
        self._stream.flush()


class ParquetWriter:
    """Column types are those of the fields: text, integers, float64, lists. Needs pyarrow."""

    def __init__(self, stream: BinaryIO, types: dict[str, str]) -> None:
        import pyarrow
        from pyarrow import parquet

        kinds = {
            "text": pyarrow.string(),
            "integer": pyarrow.int64(),
            "real": pyarrow.float64(),
            "integers": pyarrow.list_(pyarrow.int32()),
            "reals": pyarrow.list_(pyarrow.float32()),
        }
        self._schema = pyarrow.schema([(name, kinds[kind]) for name, kind in types.items()])
        self._table = pyarrow.Table
        self._stream = stream
        self._writer = parquet.ParquetWriter(stream, self._schema)

    def write(self, records: Iterable[Record]) -> None:
        for block in _blocks(records):
            self._writer.write_table(self._table.from_pylist(block, schema=self._schema))

    def close(self) -> None:
        self._writer.close()
        self._stream.flush()


def _blocks(records: Iterable[Record]) -> Iterator[list[Record]]:
    source = iter(records)
    while block := list(islice(source, BLOCK)):
        yield block


def _cell(value: Any) -> Any:
    return " ".join(map(str, value)) if isinstance(value, list) else value
