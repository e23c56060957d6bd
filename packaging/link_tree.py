"""Lay out the packages as they are installed, by links: build/tree/logitscope/….

mypy and import-linter follow folders and not the mapping of package names in pyproject.toml. A
fresh tree for every run sees new and removed files, which a strict editable installation does not.
"""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TREE = ROOT / "build" / "tree"


def main() -> None:
    """Replace the tree."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    mapping: dict[str, str] = settings["tool"]["setuptools"]["package-dir"]
    shutil.rmtree(TREE, ignore_errors=True)
    for package, folder in sorted(mapping.items()):
        target = TREE.joinpath(*package.split("."))
        target.mkdir(parents=True)
        for entry in (ROOT / folder).iterdir():
            if entry.name != "__pycache__":
                (target / entry.name).symlink_to(entry)


if __name__ == "__main__":
    main()
