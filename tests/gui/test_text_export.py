"""Tables and pictures of the tokens that leave the text panel."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import cast
from xml.etree import ElementTree

import pytest
import text_stage
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu
from pytestqt.qtbot import QtBot
from text_stage import entries, run

from logitscope.gui.panels.text import TextPanel
from logitscope.gui.session import Session
from logitscope.sampling import SamplerSettings

session = text_stage.session
panel = text_stage.panel
loaded = text_stage.loaded
sky = text_stage.sky


def test_the_tokens_leave_with_their_numbers_and_their_source(
    qtbot: QtBot, session: Session, sky: TextPanel
) -> None:
    session.set_settings(SamplerSettings(temperature=0.9, seed=31))
    run(qtbot, sky, session, 3)
    menu = QMenu(sky)
    sky.export.add_to(menu)
    table = cast(QMenu, entries(menu)["Table of all tokens"].menu())
    entries(table)["Copy as CSV"].trigger()
    lines = QApplication.clipboard().text().splitlines()
    made_from = [line for line in lines if line.startswith("# ")]
    rows = list(csv.DictReader(line for line in lines if not line.startswith("# ")))
    assert [int(row["id"]) for row in rows] == list(session.ids)
    prompt = b"".join(bytes.fromhex(row["bytes"]) for row in rows[1 : session.prompt_length])
    assert prompt == b"The sky is"
    assert {row["origin"] for row in rows[: session.prompt_length]} == {"prompt"}
    for row, step in zip(rows[session.prompt_length :], session.document.steps, strict=True):
        assert row["origin"] == "sampled"
        assert float(row["log_probability"]) == step.log_probability
        assert step.draw is not None
        assert float(row["low"]) <= float(row["u"]) < float(row["high"])
        assert row["top_ids"].split() == [str(i) for i in step.top_ids]
    assert session.model is not None
    assert f'# header_hash: "{session.model.header_hash}"' in made_from
    assert f"# prompt_ids: {list(session.state.prompt_ids)}" in made_from
    assert any('"seed": 31' in line and '"temperature": 0.9' in line for line in made_from)


def test_a_chosen_range_of_tokens_is_copied_as_a_table(sky: TextPanel) -> None:
    sky.view.choose(1, 3)
    sky.export.copy_text()
    lines = QApplication.clipboard().text().splitlines()
    assert [line.split("\t")[0] for line in lines] == ["position", "1", "2"]
    # The view's own copy key still copies text.
    sky.view.copy_text()
    assert "\t" not in QApplication.clipboard().text()


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_pictures_of_the_tokens_say_what_they_come_from(
    session: Session, sky: TextPanel, tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"text.{suffix}"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    session.set_settings(SamplerSettings(seed=77))
    menu = QMenu(sky)
    sky.export.fill(menu)
    entries(menu)[f"Export {suffix.upper()} …"].trigger()
    if suffix == "png":
        words = QImage(str(path)).text("Description")
    else:
        words = ElementTree.parse(path).findtext("{http://www.w3.org/2000/svg}desc") or ""
    made_from = json.loads(words)
    assert session.model is not None
    assert made_from["header_hash"] == session.model.header_hash
    assert made_from["model"] == session.model.name
    assert made_from["settings"]["seed"] == 77
    assert made_from["prompt_ids"] == list(session.ids)
