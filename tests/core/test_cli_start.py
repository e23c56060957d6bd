"""The start of the program: the default command, the help, and what is said of a bug."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from shell import call, logitscope

from logitscope import cli, start


def test_the_start_knows_all_commands() -> None:
    named = {c.name or c.callback.__name__ for c in cli.app.registered_commands if c.callback}
    assert named == start.COMMANDS


# -- the default command --------------------------------------------------------------------------


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """A stand-in for the window: what it was asked to open."""
    calls: list[tuple[Any, ...]] = []

    def run(*arguments: Any) -> int:
        calls.append(arguments)
        return 0

    module = ModuleType("logitscope.gui.app")
    module.run = run  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "logitscope.gui.app", module)
    return calls


def test_without_a_model_the_window_chooses(
    opened: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert call(monkeypatch) == 0
    assert opened[0][:2] == (None, "")


def test_a_first_word_that_is_no_command_is_a_model(
    opened: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "next").write_bytes(b"GGUF")
    monkeypatch.chdir(tmp_path)
    assert call(monkeypatch, "./next", "--backend", "llamacpp", "-c", "512") == 0
    path, backend, options = opened[0]
    assert (path, backend) == (str(tmp_path / "next"), "llamacpp")
    assert options.context_length == 512
    assert call(monkeypatch, "fake:seed=2") == 0
    assert opened[1][0] == "fake:seed=2"


def test_missing_qt_libraries_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "logitscope.gui.app", None)
    monkeypatch.setattr(start, "_is_missing_ours", lambda _error: False)
    assert call(monkeypatch, "fake:") == 1
    assert "libxcb-cursor0" in capsys.readouterr().err


def test_a_bug_is_one_line_unless_the_traceback_is_asked_for(
    opened: list[tuple[Any, ...]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def broken(*_arguments: Any) -> int:
        raise RuntimeError("a bug")

    monkeypatch.setattr(sys.modules["logitscope.gui.app"], "run", broken)
    assert call(monkeypatch, "fake:") == 1
    assert len(capsys.readouterr().err.splitlines()) == 1
    monkeypatch.setenv(start.SHOW_TRACEBACK, "1")
    with pytest.raises(RuntimeError, match="a bug"):
        start.main()


def test_version_and_help() -> None:
    assert logitscope("--version").stdout.strip() == f"logitscope {version('logitscope')}"
    help_text = logitscope("--help").stdout
    for command in ("open", "next", "info", "models"):
        assert command in help_text


def test_printing_the_help_loads_no_window_and_no_model_library() -> None:
    code = (
        "import sys, runpy\n"
        "sys.argv = ['logitscope', '--help']\n"
        "try:\n    runpy.run_module('logitscope', run_name='__main__')\n"
        "except SystemExit:\n    pass\n"
        "heavy = {'PySide6', 'torch', 'transformers', 'llama_cpp'} & set(sys.modules)\n"
        "sys.exit(sorted(heavy).__repr__() if heavy else 0)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
