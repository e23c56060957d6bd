"""Reading a file of unknown honesty: every length is held against the file's before it is used.

Buffered reads and no memory map: a file that is cut while it is mapped kills the process.
"""

from __future__ import annotations

import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from logitscope.backends.base import ModelFileError

WINDOW = 1 << 20
LONGEST_HEADER = 128 << 20
"""Metadata and tensor list of the largest known models take about 30 MB."""


def damaged(path: Path, what: str) -> ModelFileError:
    """The error for a file that contradicts itself."""
    return ModelFileError(f"{path.name}: {what}; the file is damaged, download it again")


@contextmanager
def open_model_file(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """The open file and its length in bytes. Every OSError becomes a ModelFileError.

    A pipe or a device is refused before it is opened: opening it could wait without end.
    """
    if "\0" in str(path):
        raise ModelFileError(f"{path.name!r} is not a path that a system can open: check the path")
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise ModelFileError(f"{path.name} is a folder: choose the .gguf file in it")
        if not stat.S_ISREG(status.st_mode):
            raise ModelFileError(f"{path.name} is not an ordinary file: choose a .gguf file")
        with path.open("rb") as file:
            yield file, status.st_size
    except OSError as error:
        raise ModelFileError(_reason(path, error), detail=str(error)) from error


def _reason(path: Path, error: OSError) -> str:
    match error:
        case FileNotFoundError() if path.is_symlink():
            return f"{path.name} is a link to a file that is not there: restore the file"
        case FileNotFoundError():
            return f"{path.name}: there is no such file in {path.parent}: check the path"
        case PermissionError():
            return f"{path.name} may not be read by this user: change its permissions"
    reason = error.strerror or type(error).__name__
    return f"{path.name} cannot be read ({reason}): check the disk and the path"


class Cursor:
    """A position in a file, and a window of its bytes.

    Every method that reads raises ModelFileError where the file does not hold the bytes.
    ``part`` names the part of the file for the message.
    """

    def __init__(self, file: BinaryIO, path: Path, size: int) -> None:
        self.path = path
        self.size = size
        self.part = "header"
        self._file = file
        self._window = b""
        self._base = 0
        self._at = 0

    @property
    def position(self) -> int:
        return self._base + self._at

    @property
    def remaining(self) -> int:
        return self.size - self.position

    def require(self, count: int) -> None:
        """Check that ``count`` more bytes are in the file and within the header's limit."""
        if count > self.remaining:
            raise self._too_short(count)
        if self.position + count > LONGEST_HEADER:
            limit = LONGEST_HEADER >> 20
            raise damaged(self.path, f"its metadata is longer than {limit} MB")

    def take(self, count: int) -> bytes:
        """The next ``count`` bytes."""
        self._fill(count)
        start = self._at
        self._at += count
        return self._window[start : self._at]

    def number(self, code: str) -> int | float:
        """One little-endian number; ``code`` is a ``struct`` code."""
        value: int | float = struct.unpack("<" + code, self.take(struct.calcsize(code)))[0]
        return value

    def count(self) -> int:
        """An unsigned 64-bit integer, not checked yet against anything."""
        return int(self.number("Q"))

    def string(self, longest: int) -> bytes:
        """A string with its 64-bit length in front, at most ``longest`` bytes."""
        length = self.count()
        self.require(length)
        if length > longest:
            what = f"a text of {length:,} bytes stands at byte {self.position:,}"
            raise damaged(self.path, what)
        return self.take(length)

    def skip(self, count: int) -> None:
        """Move on without reading."""
        self.require(count)
        if count <= len(self._window) - self._at:
            self._at += count
        else:
            self._base = self.position + count
            self._window, self._at = b"", 0

    def strings(self, count: int, length: int | None = None) -> Iterator[tuple[int, bytes]]:
        """Pass over ``count`` strings; yield number and bytes of those of one length, or of all.

        About 70 ms for 262,144 tokens, of which few are wanted: the loop works on the window and
        returns to ``_fill`` only at its end.
        """
        unpack = struct.Struct("<Q").unpack_from
        window, at = self._window, self._at
        size = len(window)
        for number in range(count):
            if at + 8 > size:
                self._at = at
                self._fill(8)
                window, at = self._window, self._at
                size = len(window)
            own = unpack(window, at)[0]
            end = at + 8 + own
            if end > size:
                self._at = at
                self._fill(8 + own)
                window, at = self._window, self._at
                size, end = len(window), at + 8 + own
            if length is None or own == length:
                yield number, window[at + 8 : end]
            at = end
        self._at = at

    def _fill(self, count: int) -> None:
        if count <= len(self._window) - self._at:
            return
        self.require(count)
        self._base, self._at = self.position, 0
        self._file.seek(self._base)
        self._window = self._file.read(max(count, WINDOW))
        if len(self._window) < count:
            raise self._too_short(count)

    def _too_short(self, count: int) -> ModelFileError:
        where = f"at byte {self.position:,} of {self.size:,}"
        if count > LONGEST_HEADER:
            return damaged(
                self.path, f"a length of {count:,} bytes stands in its {self.part} {where}"
            )
        return ModelFileError(
            f"{self.path.name}: the file ends inside its {self.part} ({where}): download it again"
        )
