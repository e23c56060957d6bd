"""Signs of life on standard error, where it is a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def spinner(doing: str) -> Iterator[None]:
    """A sign of life on a terminal; nothing where standard error is none."""
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

        def advance(count: int) -> None:
            speed = bar.tasks[0].speed
            rate = "" if speed is None else f"{speed:,.0f} {unit}/s"
            bar.update(task, advance=count, rate=rate)

        yield advance
