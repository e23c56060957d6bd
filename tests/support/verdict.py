"""Bounds of a benchmark: each is printed with its figure; the broken ones are told at the end."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import pytest


class Verdict:
    """Collects what is broken. ``judges`` is False where sizes are too small to mean anything."""

    def __init__(self, judges: bool) -> None:
        self._judges = judges
        self._broken: list[str] = []

    def say(self, line: str) -> None:
        """A line of the table."""
        print(f"  {line}")

    def at_most(self, what: str, value: float, bound: float, unit: str = "") -> None:
        self._judge(f"{what:<58} {value:9.3f} {unit} (at most {bound:g})", value <= bound)

    def at_least(self, what: str, value: float, bound: float, unit: str = "") -> None:
        self._judge(f"{what:<58} {value:9.3f} {unit} (at least {bound:g})", value >= bound)

    def close(self) -> None:
        """Fail with all that is broken."""
        if self._broken and self._judges:
            pytest.fail("\n".join(self._broken), pytrace=False)

    def _judge(self, line: str, is_kept: bool) -> None:
        self.say(line if is_kept else f"{line}  BROKEN")
        if not is_kept:
            self._broken.append(line)


def spread(values: Sequence[float]) -> str:
    """Median, least and largest."""
    return f"{statistics.median(values):.3f} ({min(values):.3f} … {max(values):.3f})"
