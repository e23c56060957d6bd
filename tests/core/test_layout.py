"""The repository itself: what is shipped, what imports what, what must not be in a file."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = {
    "core": "logitscope",
    "backends": "logitscope.backends",
    "gui": "logitscope.gui",
    "resources": "logitscope.resources",
}
MODEL_LIBRARIES = {"torch", "transformers", "llama_cpp", "tokenizers", "accelerate"}
SKIPPED = {"build", "dist", "__pycache__", "node_modules"}


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def modules_of(room: str) -> list[str]:
    """Import names of all modules of a room."""
    names = []
    for path in sorted((ROOT / room).rglob("*.py")):
        parts = path.relative_to(ROOT / room).with_suffix("").parts
        names.append(".".join([ROOMS[room], *(p for p in parts if p != "__init__")]))
    return names


def test_every_package_is_listed_for_the_wheel(project: dict[str, Any]) -> None:
    found = {name for room in ROOMS for name in modules_of(room)}
    packages = {
        ".".join([ROOMS[room], *init.parent.relative_to(ROOT / room).parts])
        for room in ROOMS
        for init in (ROOT / room).rglob("__init__.py")
    }
    assert packages <= found
    assert set(project["tool"]["setuptools"]["packages"]) == packages


def test_every_folder_with_modules_is_a_package() -> None:
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            assert (path.parent / "__init__.py").is_file(), path.parent


def test_package_data_covers_every_other_file(project: dict[str, Any]) -> None:
    globs = project["tool"]["setuptools"]["package-data"]
    shipped = {
        path
        for room, package in ROOMS.items()
        for pattern in globs.get(package, [])
        for path in (ROOT / room).glob(pattern)
    }
    others = {
        path
        for room in ROOMS
        for path in (ROOT / room).rglob("*")
        if path.is_file() and path.suffix not in {".py", ".pyc"}
    }
    assert others
    assert {str(p.relative_to(ROOT)) for p in others - shipped} == set()


def test_packaging_folder_hides_no_library() -> None:
    assert not (ROOT / "packaging" / "__init__.py").exists()


def test_every_requirement_is_pinned_for_the_tests(project: dict[str, Any]) -> None:
    lines = (ROOT / "packaging" / "constraints.txt").read_text().splitlines()
    pins = {line.split("==")[0].casefold() for line in lines if "==" in line}
    extras = project["project"]["optional-dependencies"]
    wanted = [*project["project"]["dependencies"], *(r for group in extras.values() for r in group)]
    names = {re.split(r"[\[<>=!~;\s]", requirement)[0].casefold() for requirement in wanted}
    assert names - {"logitscope"} <= pins


def test_entry_points_name_modules_that_are_there(project: dict[str, Any]) -> None:
    backends = project["project"]["entry-points"]["logitscope.backends"]
    for value in backends.values():
        module = value.partition(":")[0].removeprefix("logitscope.").replace(".", "/")
        assert (ROOT / f"{module}.py").is_file(), value


# -- files ----------------------------------------------------------------------------------------


def text_files() -> Iterator[Path]:
    for folder, subfolders, files in os.walk(ROOT):
        subfolders[:] = [
            name
            for name in subfolders
            if name not in SKIPPED
            and not name.endswith(".egg-info")
            and (not name.startswith(".") or name == ".ci")
        ]
        for name in files:
            path = Path(folder) / name
            suffixes = {".py", ".md", ".toml", ".txt", ".svg", ".json", ".spec", ".desktop", ""}
            if path.suffix in suffixes and path.stat().st_size < 1_000_000:
                yield path


def test_no_file_names_a_place_of_one_machine() -> None:
    # Put together here, so that this file does not hold them.
    places = re.compile(
        "|".join(f"/{place}/" for place in ("work", "root", "home/[a-z]+", "Users"))
    )
    checked = 0
    for path in text_files():
        if (ROOT / ".git") in path.parents or path.name == "LICENSE":
            continue
        checked += 1
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), start=1):
            assert not places.search(line), f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
    assert checked > 50


# -- imports --------------------------------------------------------------------------------------


def imported_at_load(tree: ast.Module) -> Iterator[str]:
    """Top-level names that importing a module imports: not within functions or TYPE_CHECKING."""
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
        waiting.extend(ast.iter_child_nodes(node))


def test_backends_import_model_libraries_inside_functions_only() -> None:
    for path in sorted((ROOT / "backends").rglob("*.py")):
        found = set(imported_at_load(ast.parse(path.read_text(encoding="utf-8"))))
        assert not found & MODEL_LIBRARIES, path.name


def loaded_by(modules: list[str]) -> set[str]:
    """Top-level modules in a fresh interpreter that has imported the given ones."""
    code = "import sys, importlib\nfor name in sys.argv[1:]: importlib.import_module(name)\n"
    code += "print(*{name.partition('.')[0] for name in sys.modules})"
    result = subprocess.run(
        [sys.executable, "-c", code, *modules],
        capture_output=True,
        text=True,
        env=os.environ | {"QT_QPA_PLATFORM": "offscreen"},
        check=False,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    return set(result.stdout.split())


def test_core_and_backends_load_neither_qt_nor_a_model_library() -> None:
    modules = [m for m in modules_of("core") + modules_of("backends") if "__main__" not in m]
    loaded = loaded_by(modules)
    assert "numpy" in loaded
    assert not loaded & (MODEL_LIBRARIES | {"PySide6", "pyqtgraph"})


def test_window_loads_no_model_library() -> None:
    loaded = loaded_by(modules_of("gui"))
    assert "PySide6" in loaded
    assert not loaded & (MODEL_LIBRARIES | {"gguf", "safetensors", "huggingface_hub"})
