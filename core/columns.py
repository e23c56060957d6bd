"""Aligned columns of text for a terminal."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence


def aligned(rows: Sequence[Sequence[str]], left: Collection[int]) -> Iterator[str]:
    """One line a row: columns in ``left`` begin, all others end at the same place.

    Wide characters (CJK, emoji) count as the two cells that a terminal gives them.
    """
    from rich.cells import cell_len

    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = []
        for column, (text, width) in enumerate(zip(row, widths, strict=True)):
            gap = " " * (width - cell_len(text))
            cells.append(text + gap if column in left else gap + text)
        yield "  ".join(cells).rstrip()
