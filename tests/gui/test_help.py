"""Every panel says in three sentences how to read it, and has a page in the documentation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from logitscope.gui.main_window import MainWindow
from logitscope.gui.panel_table import PANELS, PanelSpec

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = {
    "text": "text",
    "distribution": "next-token",
    "sampling": "sampling",
    "loss": "loss",
    "origin": "origin",
    "branches": "text",
    "passes": "passes",
    "compare": "compare",
    "lessons": "lessons",
    "game": "game",
}
"""Which page speaks of a panel."""
SENTENCE_END = re.compile(r"[.!?](?= |$)")


@pytest.mark.parametrize("spec", PANELS, ids=lambda spec: spec.id)
def test_every_panel_explains_itself(window: MainWindow, spec: PanelSpec) -> None:
    title, text = window.panels[spec.id].HELP  # type: ignore[attr-defined]
    assert title
    assert len(SENTENCE_END.findall(text)) == 3, text
    assert text.endswith(".")


@pytest.mark.parametrize("spec", PANELS, ids=lambda spec: spec.id)
def test_every_panel_has_a_page(spec: PanelSpec) -> None:
    page = DOCS / f"{PAGES[spec.id]}.md"
    assert page.is_file()
    words = page.read_text("utf-8").casefold().replace("-", " ")
    assert spec.title.casefold() in words
