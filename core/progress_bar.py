"""Signs of life on standard error, where it is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def spinner(doing: str) -> Iterator[None]:
    """A sign of life on a terminal; nothing where standard error is none."""
    if not _is_seen():
        yield
        return
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(escape(doing)):
        yield


@contextmanager
def token_bar(name: str, total: int, unit: str = "tokens") -> Iterator[Callable[[int], None]]:
    """A bar with rate and time left on a terminal; yields what takes the tokens just done."""
    done = 0
    with report_bar(name, unit, total) as report:

        def advance(count: int) -> None:
            nonlocal done
            done += count
            report(done, total)

        yield advance


@contextmanager
def report_bar(
    name: str, unit: str = "tokens", total: int | None = None
) -> Iterator[Callable[[int, int], None]]:
    """`token_bar` for work that says how much of how much is done."""
    if not _is_seen():
        yield lambda _done, _total: None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        # Numbers on standard output must not be drawn on standard error.
        redirect_stdout=False,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task(escape(name), total=total, rate="")

        def report(done: int, total: int) -> None:
            speed = bar.tasks[0].speed
            rate = "" if speed is None else f"{speed:,.0f} {unit}/s"
            bar.update(task, completed=done, total=total, rate=rate)

        yield report


def _is_seen() -> bool:
    """Asked before rich is imported, which takes longer than many a prompt."""
    return sys.stderr is not None and sys.stderr.isatty()
