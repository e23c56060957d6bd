"""What the import of pyqtgraph needs, in pieces that a window can do between two keys.

As one, the import takes a quarter of a second, of which two thirds are not pyqtgraph's own code:
its module ``Qt`` touches every name of Qt, and PySide makes a class when its name is first used.
That PySide does so safely in two threads at once is nowhere promised, so that none is used.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial

NAMES_A_PIECE = 40
"""Some 6 ms."""

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


def pieces() -> Iterator[Callable[[], object]]:
    """Calls that each take a few milliseconds; behind them the import itself takes a third."""
    if "pyqtgraph" in sys.modules:
        return
    for module in _QT:
        names = dir(importlib.import_module(module))
        for begin in range(0, len(names), NAMES_A_PIECE):
            yield partial(_touch, module, names[begin : begin + NAMES_A_PIECE])
    for module in _MODULES:
        yield partial(_bring, module)


def _touch(module: str, names: Sequence[str]) -> None:
    for name in names:
        getattr(sys.modules[module], name, None)


def _bring(module: str) -> None:
    """A module that is not there is none that pyqtgraph depends on."""
    with suppress(ImportError):
        loaded = importlib.import_module(module)
        if module.startswith("PySide6."):
            _touch(module, dir(loaded))
