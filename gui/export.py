"""What leaves the window: a table as text, CSV or JSON, and a widget as a picture.

Every export names the model, the hash of its header, the ids and the sampler settings with their
seed: enough to make the same numbers again. Pictures hold that out of sight, as metadata.
"""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from PySide6.QtCore import QPoint, QRectF
from PySide6.QtGui import QImageWriter, QPainter
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
    """What the numbers come from: model, prompt, ids before the position on show, settings."""
    model, row = session.model, session.row
    return {
        "model": None if model is None else model.name,
        "header_hash": None if model is None else model.header_hash,
        "backend": None if model is None else model.backend,
        "prompt_ids": list(session.state.prompt_ids),
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


def save_png(widget: QWidget, path: Path, made_from: dict[str, object] | None = None) -> None:
    """The widget as it is on screen, at the screen's resolution; ``made_from`` becomes its text
    ``Description`` as JSON. Raises OSError.
    """
    path.touch()
    image = widget.grab().toImage()
    image.setText("Description", _described(made_from))
    if not QImageWriter(str(path), b"png").write(image):
        raise OSError(0, "the picture could not be saved")


def save_svg(widget: QWidget, path: Path, made_from: dict[str, object] | None = None) -> None:
    """The widget as vector graphics; ``made_from`` is its ``<desc>`` as JSON. Raises OSError."""
    # Qt's generator says nothing of a file it cannot open.
    path.touch()
    generator = QSvgGenerator()
    generator.setFileName(str(path))
    generator.setSize(widget.size())
    generator.setViewBox(QRectF(widget.rect()))
    generator.setTitle("Logitscope")
    generator.setDescription(_described(made_from))
    painter = QPainter(generator)
    widget.render(painter, QPoint())
    painter.end()


def _described(made_from: dict[str, object] | None) -> str:
    """JSON in ASCII without what XML reserves: not every Qt escapes a description."""
    text = json.dumps(made_from or {})
    return text.replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e")
