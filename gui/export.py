"""Taking a view out of the window: as text, CSV, JSON or a picture, with what made it.

Every copy names the model, the hash of its header, the ids and the sampler settings: enough to
make the same numbers again.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QPoint, QRectF, Qt
from PySide6.QtGui import QGuiApplication, QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from logitscope.gui.notices import Notice
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
    """One object: where the numbers come from, and one object a row."""
    rows = [dict(zip(table.titles, row, strict=True)) for row in table.rows]
    return json.dumps({**made_from, table.name: rows}, ensure_ascii=False, indent=1)


def as_text(table: Table) -> str:
    """Tab-separated, as spreadsheets and chats take it."""
    lines = [table.titles, *table.rows]
    return "\n".join(
        "\t".join("" if cell is None else str(cell) for cell in line) for line in lines
    )


class Exporter:
    """The menu entries of one view."""

    def __init__(
        self, session: Session, widget: QWidget, table: Callable[[], Table], name: str
    ) -> None:
        self._session = session
        self._widget = widget
        self._table = table
        self._name = name

    def fill(self, menu: QMenu) -> None:
        """Add copy and export entries to a menu."""
        menu.addAction(_tr("Copy as text"), lambda: _copy(as_text(self._table())))
        menu.addAction(_tr("Copy as CSV"), lambda: _copy(self.csv()))
        menu.addSeparator()
        for title, suffix, write in self._writers():
            menu.addAction(title, partial(self._save, suffix, write))

    def csv(self) -> str:
        return as_csv(self._table(), provenance(self._session))

    def json(self) -> str:
        return as_json(self._table(), provenance(self._session))

    def _writers(self) -> Sequence[tuple[str, str, Callable[[Path], None]]]:
        return (
            (_tr("Export CSV …"), "csv", lambda path: _write(path, self.csv())),
            (_tr("Export JSON …"), "json", lambda path: _write(path, self.json())),
            (_tr("Export PNG …"), "png", lambda path: save_png(self._widget, path)),
            (_tr("Export SVG …"), "svg", lambda path: save_svg(self._widget, path)),
        )

    def _save(self, suffix: str, write: Callable[[Path], None]) -> None:
        chosen, _ = QFileDialog.getSaveFileName(
            self._widget, _tr("Export"), f"{self._name}.{suffix}", f"{suffix.upper()} (*.{suffix})"
        )
        if not chosen:
            return
        path = Path(chosen)
        try:
            write(path if path.suffix else path.with_suffix(f".{suffix}"))
        except OSError as error:
            reason = error.strerror or str(error)
            sentence = _tr("{path} cannot be written: {reason}.")
            self._session.noticed.emit(Notice(sentence.format(path=path, reason=reason)))


def save_png(widget: QWidget, path: Path) -> None:
    """The widget as it is on screen, at the screen's resolution. Raises OSError."""
    if not widget.grab().save(str(path), "PNG"):
        raise OSError(0, _tr("the picture could not be saved"))


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


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _copy(text: str) -> None:
    QGuiApplication.clipboard().setText(text)


def _tr(text: str) -> str:
    return QCoreApplication.translate("Export", text)


def attach_menu(widget: QWidget, exporter: Exporter) -> None:
    """Let a right click, or the menu key, show the entries."""

    def show(place: QPoint) -> None:
        menu = QMenu(widget)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        exporter.fill(menu)
        menu.popup(widget.mapToGlobal(place))

    widget.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
    widget.customContextMenuRequested.connect(show)
