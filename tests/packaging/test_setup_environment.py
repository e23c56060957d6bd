"""What `make run` and `make test` say where the system lacks something. Nothing is installed."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "packaging" / "setup_environment.py"
COMPILERS = {"c++", "g++", "clang++", "cl"}
"""On macOS these are there before the tools are."""

System = Callable[..., list[list[str]]]


@pytest.fixture
def setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module, for a checkout that has no environment yet."""
    spec = importlib.util.spec_from_file_location("setup_environment", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "VENV", tmp_path / ".venv")
    return module


@pytest.fixture
def system(setup: ModuleType, monkeypatch: pytest.MonkeyPatch) -> System:
    """Pretends a system with some programs and all of Qt's libraries but ``without``.

    ``tools``: those of Xcode. Gives the list of the commands that the script runs, which end with
    ``code``."""

    def pretend(
        platform: str,
        programs: set[str],
        *,
        without: set[str] | None = None,
        root: bool = False,
        pip: bool = True,
        tools: bool = False,
        code: int = 0,
    ) -> list[list[str]]:
        commands: list[list[str]] = []

        def run(command: list[str], **_: Any) -> SimpleNamespace:
            if command == ["xcode-select", "-p"]:
                return SimpleNamespace(returncode=0 if tools else 2)
            commands.append(command)
            return SimpleNamespace(returncode=code, stderr="E: no such package\n")

        monkeypatch.setattr(sys, "platform", platform)
        monkeypatch.setattr(shutil, "which", lambda name: name if name in programs else None)
        monkeypatch.setattr(subprocess, "run", run)
        monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("something is run"))
        if platform == "win32":
            monkeypatch.delattr(os, "geteuid", raising=False)
        else:
            monkeypatch.setattr(os, "geteuid", lambda: 0 if root else 1000, raising=False)
        for variable in ("ProgramFiles", "ProgramFiles(x86)"):
            monkeypatch.delenv(variable, raising=False)
        monkeypatch.setattr(setup, "loads", lambda file: file not in (without or set()))
        monkeypatch.setattr(setup, "has_module", lambda name: pip or name != "ensurepip")
        return commands

    return pretend


def said(setup: ModuleType, capsys: pytest.CaptureFixture[str], kind: str = "run") -> str:
    """The line that the check ends with; a check that finds nothing says nothing."""
    code = setup.provide(setup.missing_packages(kind))
    output = capsys.readouterr()
    assert output.out == ""
    assert code == bool(output.err)
    assert output.err.count("\n") == code
    line: str = output.err.rstrip("\n")
    return line


# -- what is missing ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("platform", "compiler"),
    [("linux", "c++"), ("linux", "g++"), ("darwin", "clang++"), ("win32", "cl"), ("win32", "g++")],
)
def test_a_whole_system_needs_nothing(
    setup: ModuleType,
    system: System,
    capsys: pytest.CaptureFixture[str],
    platform: str,
    compiler: str,
) -> None:
    commands = system(platform, {compiler, "apt-get"}, tools=True)
    assert said(setup, capsys) == ""
    assert commands == []


@pytest.mark.parametrize("place", ["lib/python3.11/site-packages", "Lib/site-packages"])
def test_no_compiler_is_asked_for_once_llama_cpp_is_built(
    setup: ModuleType, system: System, place: str
) -> None:
    system("linux", set())
    assert setup.missing_packages("test") == ["g++"]
    (setup.VENV / place / "llama_cpp").mkdir(parents=True)
    assert setup.missing_packages("test") == []


def test_visual_studios_compiler_need_not_be_on_the_path(
    setup: ModuleType, system: System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system("win32", set())
    monkeypatch.setenv("ProgramFiles(x86)", str(tmp_path))
    assert setup.missing_packages("run") == ["g++"]
    (tmp_path / "Microsoft Visual Studio/2022/BuildTools/VC/Tools/MSVC/14.4").mkdir(parents=True)
    assert setup.missing_packages("run") == []


def test_qts_libraries_for_a_window_are_asked_for_only_to_run(
    setup: ModuleType, system: System
) -> None:
    system("linux", {"g++"}, without={"libEGL.so.1", "libxcb-cursor.so.0"})
    assert setup.missing_packages("run") == ["libegl1", "libxcb-cursor0"]
    assert setup.missing_packages("test") == ["libegl1"]


def test_qts_libraries_come_with_it_on_other_systems(setup: ModuleType, system: System) -> None:
    everything = {*setup.QT_LIBRARIES, *setup.WINDOW_LIBRARIES}
    for platform in ("darwin", "win32"):
        system(platform, {"clang++"}, without=everything, tools=True)
        assert setup.missing_packages("run") == []


def test_a_library_is_looked_for_as_the_linker_does(setup: ModuleType) -> None:
    assert not setup.loads("libno-such-library.so.1")
    if sys.platform == "linux":
        assert setup.loads("libc.so.6")


# -- one line that names it ---------------------------------------------------------------------


def test_debian_without_rights_gets_the_command(
    setup: ModuleType, system: System, capsys: pytest.CaptureFixture[str]
) -> None:
    commands = system("linux", {"apt-get"}, without={"libEGL.so.1"}, pip=False)
    assert said(setup, capsys) == "Missing: sudo apt-get install python3-venv g++ libegl1"
    assert commands == []


def test_debian_as_root_installs_what_is_missing_and_no_more(
    setup: ModuleType, system: System, capsys: pytest.CaptureFixture[str]
) -> None:
    commands = system("linux", {"apt-get"}, without={"libEGL.so.1"}, root=True)
    assert setup.provide(setup.missing_packages("run")) == 0
    assert commands == [
        ["apt-get", "update"],
        ["apt-get", "install", "-y", "--no-install-recommends", "g++", "libegl1"],
    ]
    assert capsys.readouterr() == ("Installing with apt-get: g++ libegl1\n", "")


def test_what_apt_cannot_install_is_named_last(
    setup: ModuleType, system: System, capsys: pytest.CaptureFixture[str]
) -> None:
    system("linux", {"apt-get"}, root=True, code=100)
    assert setup.provide(setup.missing_packages("run")) == 1
    lines = capsys.readouterr().err.splitlines()
    assert "E: no such package" in lines
    assert lines[-1] == "apt-get could not install: g++"


@pytest.mark.parametrize("root", [True, False])
def test_other_linux_systems_get_the_names(
    setup: ModuleType, system: System, capsys: pytest.CaptureFixture[str], root: bool
) -> None:
    commands = system("linux", set(), without={"libGL.so.1"}, root=root)
    assert said(setup, capsys) == (
        "Missing (Debian names): g++ libgl1: install them with your package manager"
    )
    assert commands == []


@pytest.mark.parametrize(
    ("platform", "compiler"),
    [("darwin", "xcode-select --install"), ("win32", "Visual Studio Build Tools")],
)
def test_on_other_systems_each_thing_is_called_what_it_is(
    setup: ModuleType,
    system: System,
    capsys: pytest.CaptureFixture[str],
    platform: str,
    compiler: str,
) -> None:
    nothing = COMPILERS if platform == "darwin" else set()
    system(platform, nothing)
    line = said(setup, capsys)
    assert line.startswith("Missing: a C++ compiler")
    assert compiler in line
    system(platform, COMPILERS, pip=False, tools=True)
    line = said(setup, capsys)
    assert "ensurepip" in line
    assert "python.org" in line
    assert "compiler" not in line
    system(platform, nothing, pip=False)
    line = said(setup, capsys)
    assert "ensurepip" in line
    assert compiler in line


# -- the command --------------------------------------------------------------------------------


def test_nothing_is_made_where_something_is_missing(
    setup: ModuleType,
    system: System,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    commands = system("linux", {"apt-get"})
    monkeypatch.setattr(sys, "argv", ["setup_environment.py", "test"])
    assert setup.main() == 1
    assert capsys.readouterr().err == "Missing: sudo apt-get install g++\n"
    assert commands == []
    assert not setup.VENV.exists()


def test_the_command_says_how_it_is_called(
    setup: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["setup_environment.py"])
    assert setup.main() == 2
    assert "setup_environment.py run|test" in capsys.readouterr().err
