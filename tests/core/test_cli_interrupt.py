"""Ctrl-C while the program starts: it ends, and without a word of Python's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from logitscope import cli
from logitscope.backends import library, library_check
from logitscope.backends.library import LibraryEntry
from logitscope.backends.library_check import Checked
from logitscope.interrupts import end_at_once

FAKE = "fake:vocab=400"
AT_IMPORT = """
import os, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["INTERRUPT_AT"]:
            signal.raise_signal(signal.SIGINT)

is_child = "--multiprocessing-fork" in sys.orig_argv
if is_child == (os.environ["INTERRUPT_IN"] == "child"):
    sys.meta_path.insert(0, Interrupt())
"""
"""Run by Python before anything of ours: the moment of the interrupt is that of an import."""
CONSOLE_SCRIPT = ("-c", "import sys\nfrom logitscope.__main__ import main\nsys.exit(main())")
MODULE = ("-m", "logitscope")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals differ")


def interrupted(
    folder: Path, module: str, *words: str, way: tuple[str, ...] = MODULE, where: str = "parent"
) -> subprocess.CompletedProcess[str]:
    (folder / "sitecustomize.py").write_text(AT_IMPORT)
    return subprocess.run(
        [sys.executable, *way, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        cwd=folder,
        env=os.environ
        | {
            "INTERRUPT_AT": module,
            "INTERRUPT_IN": where,
            "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]),
            "QT_QPA_PLATFORM": "offscreen",
        },
        check=False,
    )


COMMANDS = {
    "next": ("next", FAKE, "x"),
    "score": ("score", FAKE, "x.txt"),
    "origin": ("origin", FAKE, "x.json"),
    "info": ("info", FAKE),
    "models": ("models",),
    "open": ("open", FAKE),
    "window": (FAKE,),
}
OWN_IMPORTS = {
    "next": "logitscope.backends.next_process",
    "score": "logitscope.backends.scoring",
    "origin": "logitscope.backends.origin_process",
    "info": "logitscope.backends.inspect",
    "models": "logitscope.backends.library",
    "open": "logitscope.gui.app",
    "window": "PySide6.QtWidgets",
}


@pytest.mark.parametrize("way", [MODULE, CONSOLE_SCRIPT], ids=["module", "script"])
@pytest.mark.parametrize("command", COMMANDS)
def test_while_it_imports_there_is_nothing_to_say(
    command: str, way: tuple[str, ...], tmp_path: Path
) -> None:
    first = ("logitscope.interrupts", "logitscope.start", OWN_IMPORTS[command])
    for module in first if command == "window" else (*first, "typer.core"):
        result = interrupted(tmp_path, module, *COMMANDS[command], way=way)
        assert (result.returncode, result.stdout, result.stderr) == (130, "", ""), module


def test_a_model_that_is_about_to_start_does_not_hear_it(tmp_path: Path) -> None:
    """A terminal sends it to all its programs, and the command alone is to decide what to do."""
    words = ("next", FAKE, "x", "-k", "1")
    result = interrupted(tmp_path, "logitscope.backends.registry", *words, where="child")
    assert (result.returncode, result.stderr) == (0, "")


def test_neither_does_the_reader_of_a_header(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    words = ("info", "model.gguf")
    result = interrupted(tmp_path, "logitscope.backends.summary", *words, where="child")
    assert "the file ends inside its header" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_the_readers_of_a_list_of_models_do_not_lose_their_parent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One that is about to start would print a traceback."""
    found: list[object] = []

    def check(entries: Sequence[LibraryEntry]) -> Checked:
        found.append(signal.getsignal(signal.SIGINT))
        return Checked(tuple(entries), 0)

    monkeypatch.setattr(library, "find_models", list)
    monkeypatch.setattr(library_check, "check", check)
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        end_at_once()
        cli.models()
    finally:
        signal.signal(signal.SIGINT, before)
    assert found == [signal.default_int_handler]
