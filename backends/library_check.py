"""Whether the models of the library can be opened, as far as their headers say.

`find_models` goes by names and lengths, which a download that broke off can have right. A header
says how long its file must be. It is read in a process of its own (`inspect`), a tenth of a second
a model, so the whole is bounded.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from logitscope.backends.base import ModelFileError
from logitscope.backends.inspect import inspect
from logitscope.backends.library import LibraryEntry

SECONDS = 5.0
MOST_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class Checked:
    """Models in the order they were given, with ``lacks`` where their headers tell it."""

    entries: tuple[LibraryEntry, ...]
    unread: int
    """How many headers there was no time for: of these is known what was known before."""


def check(entries: Sequence[LibraryEntry], seconds: float = SECONDS) -> Checked:
    """Look into every model that is there. Blocks for up to ``seconds``, but for what it takes to
    end a process."""
    deadline = time.monotonic() + seconds
    with ThreadPoolExecutor(min(MOST_AT_ONCE, os.cpu_count() or 1)) as pool:
        found = list(pool.map(lambda entry: _looked_into(entry, deadline), entries))
    known = tuple(entry if new is None else new for entry, new in zip(entries, found, strict=True))
    return Checked(known, found.count(None))


def _looked_into(entry: LibraryEntry, deadline: float) -> LibraryEntry | None:
    """None where there was no time."""
    if entry.lacks or not entry.ready:
        return entry
    left = deadline - time.monotonic()
    if left <= 0:
        return None
    try:
        refusal = inspect(entry.path, seconds=left).refusal
    except ModelFileError as error:
        # Who is stopped by the deadline need not be damaged.
        if time.monotonic() >= deadline:
            return None
        return replace(entry, lacks=_reason(str(error), entry.path.name))
    return replace(entry, lacks=refusal)


def _reason(sentence: str, name: str) -> str:
    """Without the name in front, which stands in the list: an Ollama file's has 71 characters."""
    return sentence.removeprefix(f"{name}: ")
