"""What is dropped onto the window: a model, a saved session, or a text to be scored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject

from logitscope.gui.kept import SUFFIX
from logitscope.gui.message import Action, Message
from logitscope.gui.notify import Messages
from logitscope.session_file import is_session

MODELS = (".gguf", ".bigram.json", ".safetensors", ".bin", ".pt", ".pth")
TEXTS = (
    ".asm .bash .bat .bib .c .cc .cfg .cpp .cs .css .csv .cu .cxx .dart .diff .erl .ex .f90 .fs "
    ".go .h .hpp .hs .htm .html .ini .ipynb .java .jl .js .jsonl .jsx .kt .less .lisp .log .lua "
    ".m .markdown .md .ml .mm .nim .patch .php .pl .pm .po .ps1 .py .pyi .r .rb .rs .rst .scala "
    ".scss .sh .sql .srt .swift .tcl .tex .text .toml .ts .tsv .tsx .txt .vb .vim .xml .yaml "
    ".yml .zig"
)
"""Ends of the names of files that are texts without a doubt."""
_GGUF_MAGIC = b"GGUF"


class Kind(StrEnum):
    """What a path is taken for, by its name and its first bytes."""

    MODEL = "model"
    SESSION = "session"
    TEXT = "text"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class Ways:
    """How each kind is opened."""

    model: Callable[[str], object]
    session: Callable[[Path], object]
    text: Callable[[str], object]


def kind_of(path: Path) -> Kind:
    """Folders, and what cannot be read, count as models: their loader says what is wrong."""
    name = path.name.lower()
    if name.endswith(SUFFIX) or (path.is_file() and is_session(path)):
        return Kind.SESSION
    if name.endswith(MODELS) or not path.is_file():
        return Kind.MODEL
    if path.suffix.lower() in TEXTS.split():
        return Kind.TEXT
    try:
        with path.open("rb") as file:
            is_gguf = file.read(len(_GGUF_MAGIC)) == _GGUF_MAGIC
    except OSError:
        is_gguf = False
    return Kind.MODEL if is_gguf else Kind.UNSURE


class Drops(QObject):
    """Opens the first of what is dropped; where it may be two things, it asks and waits."""

    def __init__(self, ways: Ways, messages: Messages, parent: QObject) -> None:
        super().__init__(parent)
        self._ways = ways
        self._messages = messages

    def open(self, paths: list[str]) -> None:
        if not paths:
            return
        path = Path(paths[0])
        if len(paths) > 1:
            words = self.tr("One thing at a time: of what was dropped, “{name}” was opened.")
            self._messages.say(words.format(name=path.name))
        match kind_of(path):
            case Kind.MODEL:
                self._ways.model(str(path))
            case Kind.SESSION:
                self._ways.session(path)
            case Kind.TEXT:
                self._ways.text(str(path))
            case Kind.UNSURE:
                self._ask(path)

    def _ask(self, path: Path) -> None:
        words = self.tr("“{name}” can be read as a text, or be a part of a model: open it as what?")
        actions = (
            Action(self.tr("As text"), partial(self._ways.text, str(path))),
            Action(self.tr("As model"), partial(self._ways.model, str(path))),
        )
        self._messages.put(Message(words.format(name=path.name), actions=actions))
