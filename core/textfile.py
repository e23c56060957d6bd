"""Text files as people have them: any common encoding, JSON Lines, and no binary files."""

from __future__ import annotations

import codecs
import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

LARGEST = 256 * 1024 * 1024
"""Bytes: some 60 million tokens, days of scoring; a device that never ends stops here."""
LONGEST_RECORD = 16 * 1024 * 1024
"""Characters of a line of JSON Lines. Python parses a line in one go: while it does, for up to 3 ms
a million characters, no other thread of the program runs."""
_PIECE = 1 << 20
"""Bytes or characters between two reports."""

Report = Callable[[int, int], object]
"""Called with what is done and all there is, now and then; it may raise to end the work."""

_MARKS = (
    # UTF-32's mark begins with UTF-16's, so it is looked for first.
    (codecs.BOM_UTF8, "utf-8-sig", "UTF-8"),
    (codecs.BOM_UTF32_LE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
)
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\r\f\b\x1b") + b"\x7f"


def _unheard(_done: int, _total: int) -> None:
    """Nobody follows the work."""


class TextFileError(Exception):
    """A text cannot be read; ``str()`` is one sentence: what, where, what to do."""


@dataclass(frozen=True, slots=True)
class TextFile:
    """The text of a file. No lone surrogates are in it, so it always encodes as UTF-8."""

    text: str
    encoding: str
    """For people: ``UTF-8``, ``UTF-16``, ``Latin-1``, …"""
    note: str = ""
    """One sentence that the person should see, where something was guessed or replaced."""


@dataclass(frozen=True, slots=True)
class TextRecords:
    """One field of every record of a JSON Lines file, in order."""

    texts: tuple[str, ...]
    encoding: str
    note: str = ""


def read_text(
    path: Path, *, name: str = "", largest: int = LARGEST, report: Report = _unheard
) -> TextFile:
    """The text of a file, with its line ends as they are.

    ``name`` is for the sentences; without it they have the path, or its last part where the file
    could be read. Raises TextFileError for a file that cannot be read, is no text, or has more
    bytes than ``largest``; and what ``report`` raises.
    """
    return decode_text(_bytes_of(path, name or str(path), largest, report), name or path.name)


def decode_text(data: bytes, name: str) -> TextFile:
    """The text of bytes: by their byte order mark, else UTF-8, UTF-16 or Latin-1, in this order.

    ``name`` is for the sentences. Raises TextFileError for bytes that are no text.
    """
    for mark, codec, encoding in _MARKS:
        if data.startswith(mark):
            return _marked(data, codec, encoding, name)
    wide = _unmarked_utf16(data)
    if wide:
        return _paired(
            data.decode(wide, "surrogatepass"),
            "UTF-16",
            f"{name} has no byte order mark and is read as UTF-16.",
        )
    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return _single_byte(data, name)
    # A text has a NUL here and there; more controls than a third are a program's data.
    if len(data.translate(None, _CONTROLS)) * 3 < len(data) * 2:
        raise _no_text(name)
    return _paired(text, "UTF-8", "")


def read_jsonl_field(path: Path, field: str) -> TextRecords:
    """The string in ``field`` of every line of a JSON Lines file; empty lines are skipped.

    Raises TextFileError as ``read_text``, and for a line without that string.
    """
    return jsonl_field(read_text(path), field, path.name)


def jsonl_field(file: TextFile, field: str, name: str, *, report: Report = _unheard) -> TextRecords:
    """``read_jsonl_field`` of a text that has been read."""
    texts = []
    note = file.note
    for number, record in _records(file.text, name, report):
        value = record.get(field)
        if not isinstance(value, str):
            there = ", ".join(_text_fields(record)) or "none"
            raise TextFileError(
                f"Line {number} of {name} has no text in the field {field!r}: "
                f"choose another (here: {there})."
            )
        clean = _paired(value, file.encoding, note)
        texts.append(clean.text)
        note = clean.note
    return TextRecords(tuple(texts), file.encoding, note)


def jsonl_fields(path: Path) -> tuple[str, ...]:
    """The fields of the first record that hold text, to choose from; () for an empty file.

    Raises TextFileError as ``read_text``, and for a first line that is no record.
    """
    return jsonl_field_names(read_text(path), path.name)


def jsonl_field_names(file: TextFile, name: str) -> tuple[str, ...]:
    """``jsonl_fields`` of a text that has been read."""
    for _, record in _records(file.text, name):
        return _text_fields(record)
    return ()


def _records(
    text: str, name: str, report: Report = _unheard
) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in _lines(text, name, report):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict):
            raise TextFileError(
                f"Line {number} of {name} is no JSON object: a .jsonl file holds one a line."
            )
        yield number, record


def _lines(text: str, name: str, report: Report) -> Iterator[tuple[int, str]]:
    """Not splitlines(): JSON strings may hold U+2028 and its kin unescaped."""
    begin = reported = 0
    for number in itertools.count(1):
        end = text.find("\n", begin)
        end = len(text) if end < 0 else end
        if end - begin > LONGEST_RECORD:
            most = LONGEST_RECORD >> 20
            raise TextFileError(
                f"Line {number} of {name} is longer than {most} million characters: cut it up."
            )
        yield number, text[begin:end]
        begin = end + 1
        if begin - reported > _PIECE:
            reported = begin
            report(begin, len(text))
        if begin > len(text):
            return


def _text_fields(record: dict[str, Any]) -> tuple[str, ...]:
    return tuple(key for key, value in record.items() if isinstance(value, str))


def _bytes_of(path: Path, name: str, largest: int, report: Report) -> bytes:
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            # A file that is too large is not read to its end to find that out.
            data = b"" if size > largest else _read_up_to(file, largest + 1, size, report)
    except FileNotFoundError as error:
        raise TextFileError(f"There is no file {name}: check the path.") from error
    except IsADirectoryError as error:
        raise TextFileError(f"{name} is a folder: choose a text file in it.") from error
    except OSError as error:
        raise TextFileError(
            f"{name} cannot be read ({error.strerror or error}): check its permissions."
        ) from error
    if max(size, len(data)) > largest:
        raise TextFileError(f"{name} is larger than {largest >> 20} MB: cut it into parts.")
    return data


def _read_up_to(file: BinaryIO, most: int, size: int, report: Report) -> bytes:
    parts = []
    read = 0
    while read < most and (part := file.read(min(_PIECE, most - read))):
        parts.append(part)
        read += len(part)
        report(read, max(size, read))
    return b"".join(parts)


def _marked(data: bytes, codec: str, encoding: str, name: str) -> TextFile:
    try:
        return _paired(data.decode(codec, "surrogatepass"), encoding, "")
    except UnicodeDecodeError as error:
        raise TextFileError(
            f"{name} begins as {encoding} text but breaks off being it at byte {error.start}: "
            "save it again in one encoding."
        ) from error


def _unmarked_utf16(data: bytes) -> str:
    """The codec where nearly every second byte is NUL, as in Latin text; else ""."""
    half = len(data) // 2
    if len(data) % 2 or half < 2:
        return ""
    even, odd = data[::2].count(0), data[1::2].count(0)
    for codec, full, empty in (("utf-16-le", even, odd), ("utf-16-be", odd, even)):
        if empty * 10 >= half * 7 and full * 50 <= half:
            try:
                data.decode(codec, "surrogatepass")
            except UnicodeDecodeError:
                return ""
            return codec
    return ""


def _single_byte(data: bytes, name: str) -> TextFile:
    """Bytes that are no UTF-8: Western European text, unless 1 in 50 is a control character."""
    controls = len(data) - len(data.translate(None, _CONTROLS))
    if 0 in data or controls * 50 > len(data):
        raise _no_text(name)
    for codec, encoding in (("cp1252", "Windows-1252"), ("latin-1", "Latin-1")):
        # Windows-1252 is Latin-1 with letters and quotes in the place of controls 80 to 9F.
        if codec == "cp1252" and not any(bytes((code,)) in data for code in range(0x80, 0xA0)):
            continue
        try:
            text = data.decode(codec)
        except UnicodeDecodeError:
            continue
        return TextFile(text, encoding, f"{name} is not UTF-8 and is read as {encoding}.")
    raise AssertionError("Latin-1 decodes every byte")


def _paired(text: str, encoding: str, note: str) -> TextFile:
    """Surrogates put together in pairs; lone ones become U+FFFD, as the tokenizers would do."""
    if not _has_surrogates(text):
        return TextFile(text, encoding, note)
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    said = "Halves of surrogate pairs are no characters and are read as U+FFFD."
    lone = whole.count("\ufffd") > text.count("\ufffd")
    if lone and said not in note:
        note = f"{note} {said}".strip()
    return TextFile(whole, encoding, note)


def _has_surrogates(text: str) -> bool:
    """An encoder is twenty times as fast as a search, and holds up other threads so much less."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def _no_text(name: str) -> TextFileError:
    return TextFileError(f"{name} is a binary file: choose a text file.")
