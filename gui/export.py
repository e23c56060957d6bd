"""What leaves the window: a table as text, CSV or JSON, and a widget as a picture.

Every export names the model, the hash of its header, the ids and the sampler settings: enough to
make the same numbers again.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from PySide6.QtCore import QPoint, QRectF
from PySide6.QtGui import QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QWidget

from logitscope.gui.session import Session

Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class Table:
    """Exact values, not the rounded ones on screen."""

    name: str
    titles: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


def provenance(session: Session) -> dict[str, object]:
    """What the numbers come from: model, ids before the position on show, settings."""
    model, row = session.model, session.row
    return {
        "model": None if model is None else model.name,
        "header_hash": None if model is None else model.header_hash,
        "backend": None if model is None else model.backend,
        "position": None if row is None else row.position,
        "ids": [] if row is None else list(row.ids),
        "settings": asdict(session.settings),
    }


def as_csv(table: Table, made_from: dict[str, object]) -> str:
    """CSV behind comment lines (``#``) that say where the numbers come from."""
    out = io.StringIO()
    for name, value in made_from.items():
        out.write(f"# {name}: {json.dumps(value, ensure_ascii=False)}\n")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.titles)
    writer.writerows(table.rows)
    return out.getvalue()


def as_json(table: Table, made_from: dict[str, object]) -> str:
    """One object: where the numbers come from, and one object a row.

    Infinite numbers are written as texts, since JSON has none.
    """
    rows = [
        {title: _finite(cell) for title, cell in zip(table.titles, row, strict=True)}
        for row in table.rows
    ]
    return json.dumps({**made_from, table.name: rows}, ensure_ascii=False, indent=1)


def _finite(cell: Cell) -> Cell:
    return str(cell) if cell in (float("inf"), float("-inf")) else cell


def as_text(table: Table) -> str:
    """Tab-separated, as spreadsheets and chats take it."""
    lines = [table.titles, *table.rows]
    return "\n".join(
        "\t".join("" if cell is None else str(cell) for cell in line) for line in lines
    )


def save_png(widget: QWidget, path: Path) -> None:
    """The widget as it is on screen, at the screen's resolution. Raises OSError."""
    path.touch()
    if not widget.grab().save(str(path), "PNG"):
        raise OSError(0, "the picture could not be saved")


def save_svg(widget: QWidget, path: Path) -> None:
    """The widget as vector graphics. Raises OSError."""
    # Qt's generator says nothing of a file it cannot open.
    path.touch()
    generator = QSvgGenerator()
    generator.setFileName(str(path))
    generator.setSize(widget.size())
    generator.setViewBox(QRectF(widget.rect()))
    generator.setTitle("Logitscope")
    painter = QPainter(generator)
    widget.render(painter, QPoint())
    painter.end()
