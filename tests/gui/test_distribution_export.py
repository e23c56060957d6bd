"""Numbers and pictures that leave the next-token panel."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import distribution_stage
import numpy as np
import pytest
from distribution_stage import TEXTBOOK, Opened, divergence, open_list, random_row, softmax
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QFileDialog, QMenu
from pytestqt.qtbot import QtBot
from stub_engine import Stage

from logitscope.gui.export_menu import ExportMenu
from logitscope.gui.panels.distribution import DistributionPanel
from logitscope.sampling import SamplerSettings

stage = distribution_stage.stage
opened = distribution_stage.opened


def read_csv(text: str) -> tuple[list[str], list[dict[str, str]]]:
    lines = text.splitlines()
    comments = [line for line in lines if line.startswith("# ")]
    return comments, list(csv.DictReader(line for line in lines if not line.startswith("# ")))


def choose(menu: ExportMenu, title: str) -> None:
    shown = QMenu()
    menu.fill(shown)
    next(action for action in shown.actions() if action.text() == title).trigger()


@pytest.fixture
def save_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Answers the file dialog with a path."""

    def answer(name: str) -> Path:
        path = tmp_path / name
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
        return path

    return answer


def test_copied_numbers_are_exact_and_name_their_source(opened: Opened) -> None:
    logits = random_row(1000)
    _, panel = opened(logits, top_k=3, seed=7)
    choose(panel.bars.menu, "Copy as CSV")
    comments, rows = read_csv(QGuiApplication.clipboard().text())
    expected = softmax(logits)
    for row in rows[:-1]:
        assert float(row["raw"]) == pytest.approx(expected[int(row["id"])], rel=1e-14)
    assert sum(float(row["raw"]) for row in rows) == pytest.approx(1.0, abs=1e-12)
    assert sum(float(row["shaped"]) for row in rows) == pytest.approx(1.0, abs=1e-12)
    assert '# header_hash: "0123abcd"' in comments
    assert "# ids: [0, 1]" in comments
    assert any('"seed": 7' in line and '"top_k": 3' in line for line in comments)


def test_copying_with_the_keyboard_gives_tab_separated_text(opened: Opened, qtbot: QtBot) -> None:
    _, panel = opened(TEXTBOOK)
    # A shortcut answers in the active window only.
    panel.activateWindow()
    qtbot.waitUntil(panel.isActiveWindow)
    panel.bars.view.setFocus()
    qtbot.keyClick(panel.bars.view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    copied = QGuiApplication.clipboard().text().splitlines()
    assert copied[0].split("\t")[:3] == ["rank", "token", "id"]
    assert copied[1].split("\t")[:3] == ["1", "·the", "0"]


def test_the_whole_list_goes_into_a_file(
    opened: Opened, qtbot: QtBot, save_to: Callable[[str], Path]
) -> None:
    logits = random_row(2000)
    stage, panel = opened(logits, top_p=0.9)
    open_list(panel)
    path = save_to("all")
    with qtbot.waitSignal(stage.session.noticed) as said:
        choose(panel.list.menu, "Export CSV …")
    assert said.args[0].sentence == f"Exported to {path}.csv."
    _, rows = read_csv(path.with_name("all.csv").read_text("utf-8"))
    expected = softmax(logits)
    assert [int(row["id"]) for row in rows] == np.argsort(-expected, kind="stable").tolist()
    assert sum(float(row["raw"]) for row in rows) == pytest.approx(1.0, abs=1e-12)
    assert float(rows[-1]["cumulative"]) == pytest.approx(1.0, abs=1e-12)
    assert bytes.fromhex(rows[0]["bytes"]).decode() == rows[0]["token"].replace("·", " ")


def test_selected_rows_are_copied(opened: Opened) -> None:
    _, panel = opened(TEXTBOOK)
    open_list(panel)
    panel.list.view.selectRow(2)
    choose(panel.list.menu, "Copy as text")
    lines = QGuiApplication.clipboard().text().splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("3\t·a\t")


def test_json_has_no_infinite_number(
    opened: Opened, qtbot: QtBot, save_to: Callable[[str], Path]
) -> None:
    stage, panel = opened(np.array([1.0, -np.inf], dtype=np.float32))
    path = save_to("x.json")
    with qtbot.waitSignal(stage.session.noticed):
        choose(panel.bars.menu, "Export JSON …")

    def refuse(name: str) -> None:
        raise AssertionError(name)

    document = json.loads(path.read_text("utf-8"), parse_constant=refuse)
    assert document["settings"]["temperature"] == 1.0
    assert [entry["logit"] for entry in document["tokens"]] == [1.0, "-inf"]


def test_a_comparison_says_what_both_come_from(opened: Opened) -> None:
    first, second = random_row(1000), random_row(1000, seed=1)
    stage, panel = opened(first, seed=7)
    panel.tabs.setCurrentWidget(panel.compare)
    panel.compare.pin.click()
    stage.session.set_settings(SamplerSettings(temperature=2.0, seed=8))
    stage.show(second, prompt=(0, 1, 2))
    panel.flush()
    choose(panel.compare.menu, "Copy as CSV")
    comments, rows = read_csv(QGuiApplication.clipboard().text())
    facts = {
        name: json.loads(value)
        for name, value in (line.removeprefix("# ").split(": ", 1) for line in comments)
    }
    assert (facts["ids"], facts["pinned"]["ids"]) == ([0, 1, 2], [0, 1])
    assert (facts["settings"]["seed"], facts["pinned"]["settings"]["seed"]) == (8, 7)
    assert facts["pinned"]["header_hash"] == "0123abcd"
    assert facts["compared"] == "raw"
    assert facts["kl_pinned_now"] == pytest.approx(divergence(softmax(first), softmax(second)))
    assert facts["kl_now_pinned"] == pytest.approx(divergence(softmax(second), softmax(first)))
    biggest = int(rows[0]["id"])
    assert float(rows[0]["pinned"]) == pytest.approx(softmax(first)[biggest], rel=1e-12)


def test_the_three_moves_can_be_copied(opened: Opened, qtbot: QtBot) -> None:
    _, panel = opened(TEXTBOOK)
    panel.look_at(1)
    panel.tabs.setCurrentWidget(panel.how)
    choose(panel.how.menu, "Copy as CSV")
    _, (row,) = read_csv(QGuiApplication.clipboard().text())
    assert float(row["exponential"]) == pytest.approx(np.exp(-3.0), rel=1e-12)
    assert float(row["probability"]) == pytest.approx(softmax(TEXTBOOK)[1], rel=1e-12)
    # What is selected in the text is still copied as it is.
    panel.activateWindow()
    qtbot.waitUntil(panel.isActiveWindow)
    panel.how.moves.setFocus()
    panel.how.moves.setSelection(0, 7)
    qtbot.keyClick(panel.how.moves, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "Softmax"


@pytest.mark.parametrize("suffix", ["PNG", "SVG"])
def test_pictures(
    opened: Opened, qtbot: QtBot, save_to: Callable[[str], Path], suffix: str
) -> None:
    _, panel = opened(TEXTBOOK)
    panel.tabs.setCurrentWidget(panel.curve)
    path = save_to("curve")
    choose(panel.curve.menu, f"Export {suffix} …")
    image = QImage(str(path.with_name(f"curve.{suffix.lower()}")))
    view = panel.curve.view
    assert view is not None
    assert image.width() / image.height() == pytest.approx(view.width() / view.height(), rel=0.01)
    colors = {image.pixelColor(x, image.height() // 2).name() for x in range(image.width())}
    assert len(colors) > 1


def test_a_place_that_cannot_be_written_is_said_in_a_sentence(
    opened: Opened, qtbot: QtBot, save_to: Callable[[str], Path]
) -> None:
    stage, panel = opened(TEXTBOOK)
    path = save_to("missing/x.csv")
    for title in ("Export CSV …", "Export PNG …", "Export SVG …"):
        with qtbot.waitSignal(stage.session.noticed) as said:
            choose(panel.bars.menu, title)
        assert said.args[0].sentence.startswith(f"{path} cannot be written")


def test_copying_nothing_is_harmless(qtbot: QtBot, stage: Stage) -> None:
    panel = DistributionPanel(stage.session)
    qtbot.addWidget(panel)
    panel.list.menu.copy_csv()
    assert "rank,token" in QGuiApplication.clipboard().text()
