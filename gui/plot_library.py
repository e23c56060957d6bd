"""The import of pyqtgraph, in pieces that a window can do between two keys.

As one it takes a quarter of a second, and little of that is pyqtgraph's own code. Its module ``Qt``
touches every name of Qt, and PySide makes a class when its name is first used; other modules come
with it; its own are read from 130 files, and PySide reads the source of each, too, to see whether
Qt is mentioned. All this is done beforehand. That PySide makes classes safely in two threads at
once is nowhere promised, so that no thread is used.
"""

from __future__ import annotations

import importlib
import importlib.util
import linecache
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType

NAMES_A_PIECE = 40
"""Some 6 ms."""
FILES_A_PIECE = 10
"""Some 3 ms."""

_LIBRARY = "pyqtgraph"
_QT = ("PySide6.QtCore", "PySide6.QtGui", "PySide6.QtWidgets")
_MODULES = (
    "PySide6.QtSvg",
    "PySide6.QtTest",
    "PySide6.QtOpenGL",
    "PySide6.QtOpenGLWidgets",
    "cProfile",
    "colorama",
    "decimal",
    "pydoc",
    "xml.etree.ElementTree",
)
_NEVER_IMPORTED = "examples"
_PACKAGE = "__init__.py"


def pieces() -> Iterator[Callable[[], object]]:
    """Calls that each take a few milliseconds, and the import, which then takes some 40."""
    if _LIBRARY in sys.modules:
        return
    for module in _QT:
        names = dir(importlib.import_module(module))
        for begin in range(0, len(names), NAMES_A_PIECE):
            yield partial(_touch, module, names[begin : begin + NAMES_A_PIECE])
    for module in _MODULES:
        yield partial(_bring, module)
    at_hand = _AtHand()
    files = tuple(_files())
    for begin in range(0, len(files), FILES_A_PIECE):
        yield partial(at_hand.read, files[begin : begin + FILES_A_PIECE])
    yield at_hand.import_library


class _ReadLoader(SourceFileLoader):
    """Loads a module whose bytecode it has read when it was made."""

    def __init__(self, fullname: str, path: str) -> None:
        super().__init__(fullname, path)
        self._read = super().get_code(fullname)

    def get_code(self, fullname: str) -> CodeType | None:
        read, self._read = self._read, None
        return super().get_code(fullname) if read is None else read


class _AtHand(MetaPathFinder):
    """Finds the modules that were read."""

    def __init__(self) -> None:
        self._specs: dict[str, ModuleSpec] = {}

    def read(self, files: Sequence[tuple[str, Path]]) -> None:
        """``files``: names of modules, and where they are."""
        for name, file in files:
            inside = [str(file.parent)] if file.name == _PACKAGE else None
            loader = _ReadLoader(name, str(file))
            spec = importlib.util.spec_from_file_location(
                name, file, loader=loader, submodule_search_locations=inside
            )
            if spec is not None:
                self._specs[name] = spec
            # What PySide reads the source with.
            linecache.getlines(str(file))

    def find_spec(self, fullname: str, *_where: object) -> ModuleSpec | None:
        return self._specs.get(fullname)

    def import_library(self) -> None:
        sys.meta_path.insert(0, self)
        try:
            importlib.import_module(_LIBRARY)
        finally:
            sys.meta_path.remove(self)
            self._specs.clear()


def _files() -> Iterator[tuple[str, Path]]:
    """Modules of the library that are compiled; in a bundled program there are no files."""
    spec = importlib.util.find_spec(_LIBRARY)
    if spec is None or not isinstance(spec.loader, SourceFileLoader):
        return
    root = Path(spec.loader.path).parent
    folders = (each for each in root.iterdir() if each.is_dir() and each.name != _NEVER_IMPORTED)
    for file in (*root.glob("*.py"), *(file for each in folders for file in each.rglob("*.py"))):
        if Path(importlib.util.cache_from_source(str(file))).exists():
            within = file.relative_to(root.parent)
            parts = within.parent.parts if file.name == _PACKAGE else within.with_suffix("").parts
            yield ".".join(parts), file


def _touch(module: str, names: Sequence[str]) -> None:
    for name in names:
        getattr(sys.modules[module], name, None)


def _bring(module: str) -> None:
    """A module that is not there is none that pyqtgraph depends on."""
    with suppress(ImportError):
        loaded = importlib.import_module(module)
        if module.startswith("PySide6."):
            _touch(module, dir(loaded))
        else:
            linecache.getlines(loaded.__file__ or "")
