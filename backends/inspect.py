"""Look at a model's files from a process that must survive them.

The reading happens in a child with a time limit and an address-space limit. It answers in JSON and
not in pickles, so whatever happens to the child, its answer is only ever data.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import multiprocessing
import signal
import sys
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from logitscope.backends.base import ModelFileError
from logitscope.backends.shielded import start_shielded
from logitscope.backends.summary import (
    HeaderSummary,
    MemoryEstimate,
    context_for,
    estimate_memory,
    least_memory,
    summarize,
)

__all__ = [
    "HeaderSummary",
    "MemoryEstimate",
    "context_for",
    "estimate_memory",
    "inspect",
    "least_memory",
]

SECONDS = 10.0
MEMORY_BYTES = 2 << 30
LONGEST_ANSWER = 1 << 20


def inspect(
    path: Path, *, seconds: float = SECONDS, memory_bytes: int = MEMORY_BYTES
) -> HeaderSummary:
    """What the files say, read in a child process. Blocks for up to ``seconds``: in a window, call
    it from a worker thread.

    Raises ModelFileError for everything that is wrong with the files, and where reading them took
    too long, too much memory, or the child's life.
    """
    context = multiprocessing.get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    arguments = (str(path), seconds, memory_bytes, writer)
    child = context.Process(target=_serve, args=arguments, daemon=True, name="inspect")
    start_shielded(child)
    writer.close()
    try:
        answer = _receive(reader, path, seconds)
    finally:
        reader.close()
        child.kill()
        child.join()
        child.close()
    if "sentence" in answer:
        raise ModelFileError(str(answer["sentence"]), detail=str(answer.get("detail", "")))
    return HeaderSummary(**answer)


def _receive(reader: Connection, path: Path, seconds: float) -> dict[str, Any]:
    try:
        if not reader.poll(seconds):
            raise ModelFileError(
                f"{path.name}: reading its header took more than {seconds:g} seconds: the file is "
                "damaged or the disk is slow, try a copy of it"
            )
        answer: dict[str, Any] = json.loads(reader.recv_bytes(LONGEST_ANSWER))
    except (EOFError, OSError, ValueError) as error:
        raise ModelFileError(
            f"{path.name}: reading its header ended the process that read it: the file is damaged, "
            "download it again",
            detail=repr(error),
        ) from error
    return answer


def _serve(path: str, seconds: float, memory_bytes: int, writer: Connection) -> None:
    """Runs in the child."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answer: dict[str, Any]
    try:
        _limit(seconds, memory_bytes)
        answer = dataclasses.asdict(summarize(Path(path)))
    except ModelFileError as error:
        answer = {"sentence": str(error), "detail": error.detail}
    except MemoryError:
        sentence = "reading its header takes too much memory: the file is damaged"
        answer = {"sentence": f"{Path(path).name}: {sentence}, download it again"}
    except Exception as error:
        sentence = f"its header cannot be understood ({type(error).__name__})"
        answer = {"sentence": f"{Path(path).name}: {sentence}: download it again"}
        answer["detail"] = repr(error)
    with contextlib.suppress(OSError):
        writer.send_bytes(json.dumps(answer).encode())


def _limit(seconds: float, memory_bytes: int) -> None:
    """Bound this process where the system can; the parent's own time limit holds everywhere."""
    if sys.platform == "win32":
        return
    import resource

    cpu_seconds = int(seconds) + 1
    for what, limit in ((resource.RLIMIT_CPU, cpu_seconds), (resource.RLIMIT_AS, memory_bytes)):
        _, hard = resource.getrlimit(what)
        bound = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        # macOS knows RLIMIT_AS but refuses to set it.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(what, (bound, hard))
