"""The context menu of a view that shows numbers: copy them, or save them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QPoint, Qt
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from logitscope.gui.background import Background
from logitscope.gui.export import (
    Table,
    as_csv,
    as_json,
    as_text,
    provenance,
    save_png,
    save_svg,
)
from logitscope.gui.notices import Notice
from logitscope.gui.session import Session

TableMaker = Callable[[], Table]
PictureWriter = Callable[[QWidget, Path, dict[str, object]], None]


class ExportMenu(QObject):
    """Shown on a right click, or with the menu key, over ``widget``.

    ``table`` is called in the window's thread and gives a function that makes the table in
    another one: the whole vocabulary as text takes seconds.
    """

    def __init__(
        self,
        session: Session,
        widget: QWidget,
        name: str,
        table: Callable[[], TableMaker],
        copied: Callable[[], Table] | None = None,
        *,
        is_own: bool = True,
    ) -> None:
        """``copied``: what is copied, where that is not all that is exported. ``is_own``: False
        where the widget has a copy key and a menu already, and calls ``fill`` or ``show_at``.
        """
        super().__init__(widget)
        self._session = session
        self._widget = widget
        self._name = name
        self._table = table
        self._copied = copied
        self._background = Background(self)
        if is_own:
            self._take_over(widget)

    def _take_over(self, widget: QWidget) -> None:
        widget.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        widget.customContextMenuRequested.connect(self.show_at)
        copy = QShortcut(QKeySequence(QKeySequence.StandardKey.Copy), widget)
        copy.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        copy.activated.connect(self.copy_text)

    def show_at(self, place: QPoint) -> None:
        """Open the menu at a point of the widget."""
        menu = QMenu(self._widget)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.fill(menu)
        menu.popup(self._widget.mapToGlobal(place))

    def fill(self, menu: QMenu) -> None:
        """Add the entries to a menu."""
        menu.addAction(self.tr("Copy as text"), self.copy_text)
        menu.addAction(self.tr("Copy as CSV"), self.copy_csv)
        menu.addSeparator()
        menu.addAction(self.tr("Export CSV …"), partial(self._save_text, "csv", as_csv))
        menu.addAction(self.tr("Export JSON …"), partial(self._save_text, "json", as_json))
        menu.addAction(self.tr("Export PNG …"), partial(self._save_picture, "png", save_png))
        menu.addAction(self.tr("Export SVG …"), partial(self._save_picture, "svg", save_svg))

    def copy_text(self) -> None:
        """Put the table on the clipboard, tab-separated."""
        QGuiApplication.clipboard().setText(as_text(self._to_copy()))

    def copy_csv(self) -> None:
        """Put the table on the clipboard as CSV that says where the numbers come from."""
        text = as_csv(self._to_copy(), self.made_from())
        QGuiApplication.clipboard().setText(text)

    def made_from(self) -> dict[str, object]:
        """What the numbers come from; goes into every export."""
        return provenance(self._session)

    def _to_copy(self) -> Table:
        return self._copied() if self._copied is not None else self._table()()

    # -- saving -----------------------------------------------------------------------------

    def _save_text(self, suffix: str, write: Callable[[Table, dict[str, object]], str]) -> None:
        make, made_from = self._table(), self.made_from()
        self.save_later(
            suffix, lambda path: path.write_text(write(make(), made_from), encoding="utf-8")
        )

    def save_later(self, suffix: str, write: Callable[[Path], object]) -> None:
        """Ask where to, then call ``write`` in a thread."""
        path = self._ask(suffix)
        if path is None:
            return

        def work() -> Path:
            write(path)
            return path

        self._background.start(work, self._saved, partial(self._failed, path))

    def _save_picture(self, suffix: str, write: PictureWriter) -> None:
        path, made_from = self._ask(suffix), self.made_from()
        if path is None:
            return
        try:
            write(self._widget, path, made_from)
        except OSError as error:
            self._failed(path, error)
        else:
            self._saved(path)

    def _ask(self, suffix: str) -> Path | None:
        chosen, _ = QFileDialog.getSaveFileName(
            self._widget,
            self.tr("Export"),
            f"{self._name}.{suffix}",
            f"{suffix.upper()} (*.{suffix})",
        )
        if not chosen:
            return None
        path = Path(chosen)
        return path if path.suffix else path.with_name(f"{path.name}.{suffix}")

    def _saved(self, path: Path) -> None:
        self._say(self.tr("Exported to {path}.").format(path=path))

    def _failed(self, path: Path, error: Exception) -> None:
        if isinstance(error, OSError):
            reason = error.strerror or str(error)
            words = self.tr("{path} cannot be written ({reason}): choose another place.")
            self._say(words.format(path=path, reason=reason))
        else:
            words = self.tr("The export to {path} failed; nothing else is lost.")
            self._session.noticed.emit(Notice(words.format(path=path), repr(error), is_bug=True))

    def _say(self, sentence: str) -> None:
        self._session.noticed.emit(Notice(sentence))
