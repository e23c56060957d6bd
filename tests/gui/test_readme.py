"""What the README promises is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from logitscope.gui.commands import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def keyboard_table() -> list[tuple[str, str]]:
    """Pairs (title, keys) of the README's table."""
    pairs = []
    for line in README.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == 4 and cells[0] and not cells[0].startswith("-"):
            pairs += [(cells[0], cells[1]), (cells[2], cells[3])]
    return pairs


def test_there_is_a_keyboard_table() -> None:
    assert len(keyboard_table()) >= 10


@pytest.mark.parametrize(("title", "keys"), keyboard_table())
def test_every_key_of_the_readme_does_what_it_says(title: str, keys: str) -> None:
    shortcuts = {command.title: command.all_keys for command in COMMANDS}
    first_title, first_key = title.split(" … ", maxsplit=1)[0], keys.split(" … ", maxsplit=1)[0]
    assert first_key in shortcuts[first_title]
    if " … " in title:
        last = first_title.rsplit(" ", 1)[0] + " " + title.split(" … ")[1]
        assert keys.split(" … ")[1] in shortcuts[last]


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#]+)\)", text)
    for target in targets:
        assert (page.parent / target).is_file(), target


def test_readme_fits_two_screens() -> None:
    assert len(README.splitlines()) <= 100
