"""Texts that are opened, pasted or dropped into the loss panel."""

from __future__ import annotations

import json
import math
import threading
from pathlib import Path

import loss_stage
import numpy as np
import pytest
from loss_stage import TEXT, losses, wait, write
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent, QGuiApplication
from pytestqt.qtbot import QtBot

from logitscope import textfile
from logitscope.gui.notices import Notice
from logitscope.gui.panels import loss_opening
from logitscope.gui.panels.loss import LossPanel
from logitscope.gui.panels.step_words import ActualToken, actual_token
from logitscope.gui.session import Session
from logitscope.gui.widgets import heat_pages
from logitscope.gui.widgets.drop_overlay import is_text_file
from logitscope.gui.widgets.heat_view import UNKNOWN

session = loss_stage.session
panel = loss_stage.panel
notices = loss_stage.notices


def test_an_opened_text_is_scored_beside_the_document(
    qtbot: QtBot, session: Session, panel: LossPanel, tmp_path: Path
) -> None:
    write(qtbot, panel, session)
    path = tmp_path / "other.txt"
    path.write_bytes("Überall blaues Meer.".encode("utf-16"))
    panel.opener.open(str(path))
    qtbot.waitUntil(lambda: panel.shows_opened)
    wait(qtbot, panel)
    ids = tuple(panel.scorer.subject.ids)
    np.testing.assert_allclose(panel.table.loss[1:], losses(ids), atol=1e-6)
    assert panel.bar.source.currentText() == "other.txt"
    assert session.state.text == TEXT


def test_a_file_is_shown_from_its_beginning(qtbot: QtBot, panel: LossPanel, tmp_path: Path) -> None:
    first, second = tmp_path / "first.txt", tmp_path / "second.txt"
    first.write_text("The sea is grey.\n" * 60, encoding="utf-8")
    second.write_text("The sea is blue and cold.\n" * 80, encoding="utf-8")
    bar = panel.heat_view.view.verticalScrollBar()
    for path in (first, second):
        panel.opener.open(path)
        qtbot.waitUntil(lambda path=path: panel.opened_text.name == path.name)
        wait(qtbot, panel)
        assert bar.maximum() > 0
        assert bar.value() == 0
        # Whoever has read the first to its end begins the second at its beginning, too.
        bar.setValue(bar.maximum())


def test_the_text_on_screen_is_followed_again_after_a_file(
    qtbot: QtBot, session: Session, panel: LossPanel
) -> None:
    write(qtbot, panel, session, "a\n" * 25)
    bar = panel.heat_view.view.verticalScrollBar()
    assert 0 < bar.maximum() == bar.value()
    panel.show_text("The sea is grey.\n" * 60, "sample")
    wait(qtbot, panel)
    assert bar.value() == 0
    panel.bar.source_chosen.emit(False)
    wait(qtbot, panel)
    assert 0 < bar.maximum() == bar.value()


def test_a_click_shows_the_row_of_the_opened_text(
    qtbot: QtBot, session: Session, panel: LossPanel
) -> None:
    write(qtbot, panel, session)
    panel.show_text("The sea is grey. " * 12, "sample")
    wait(qtbot, panel)
    ids = tuple(panel.scorer.subject.ids)
    assert len(ids) > 70
    position = 70
    panel.heat_view.view.position_selected.emit(position)
    read = panel.scorer.context_of(position)
    qtbot.waitUntil(lambda: session.row is not None and session.row.ids == read)
    row = session.row
    assert row is not None
    assert actual_token(session) == ActualToken(ids[position], "in the text")
    logarithm = row.distribution.log_probability(ids[position])
    assert -logarithm == pytest.approx(panel.table.loss[position], abs=1e-6)
    before = session.ids
    session.force(5)
    assert session.ids == before
    session.select(3)
    qtbot.waitUntil(lambda: session.row_is_current)
    assert session.inspected is None


def test_windows_of_a_long_text_can_be_changed(
    qtbot: QtBot, session: Session, panel: LossPanel
) -> None:
    write(qtbot, panel, session)
    assert panel.windows.isHidden()
    panel.show_text("The sea is grey. " * 12, "sample")
    wait(qtbot, panel)
    assert panel.windows.isVisible()
    assert (panel.windows.size_box.value(), panel.windows.stride_box.value()) == (64, 32)
    panel.windows.size_box.setValue(32)
    assert panel.scorer.window_size == 32
    assert panel.scorer.stride <= 16
    wait(qtbot, panel)


def test_json_lines_ask_for_a_field(
    qtbot: QtBot, session: Session, panel: LossPanel, tmp_path: Path
) -> None:
    write(qtbot, panel, session)
    path = tmp_path / "lines.jsonl"
    lines = [json.dumps({"id": n, "text": f"line {n}"}) for n in range(3)]
    path.write_text("\n".join(lines), "utf-8")
    panel.opener.open(str(path))
    qtbot.waitUntil(lambda: panel.shows_opened)
    assert panel.opened_text.text == "line 0\n\nline 1\n\nline 2"


def test_records_are_parsed_off_the_windows_thread(
    qtbot: QtBot, panel: LossPanel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = threading.current_thread()
    seen: list[threading.Thread] = []
    parse = json.loads

    def parse_here(line: str) -> object:
        seen.append(threading.current_thread())
        return parse(line)

    monkeypatch.setattr(textfile.json, "loads", parse_here)
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps({"text": "a" * 5_000_000}) + "\n")
    panel.opener.open(str(path))
    qtbot.waitUntil(lambda: panel.shows_opened, timeout=20_000)
    assert len(panel.opened_text.text) == 5_000_000
    assert seen and here not in seen


def test_a_large_file_tells_how_far_it_is_and_can_be_stopped(
    qtbot: QtBot, panel: LossPanel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loss_opening, "LARGE", 1 << 20)
    path = tmp_path / "many.jsonl"
    line = json.dumps({"text": "a" * 1_000_000}) + "\n"
    path.write_text(line * 4)
    said: list[str] = []
    parse, stopped = json.loads, threading.Event()

    def parse_late(text: str) -> object:
        assert stopped.wait(20)
        return parse(text)

    monkeypatch.setattr(textfile.json, "loads", parse_late)
    panel.opener.progressed.connect(said.append)
    panel.opener.progressed.connect(lambda words: panel.note.button.click() if words else None)
    panel.opener.open(str(path))
    qtbot.waitUntil(lambda: said[-1:] == [""] and len(said) > 1, timeout=20_000)
    stopped.set()
    assert said[0].startswith("Reading many.jsonl: ") and said[0].endswith(" %")
    assert panel.note.isHidden()
    assert not panel.shows_opened
    path.write_text(line)
    panel.opener.open(str(path))
    qtbot.waitUntil(lambda: panel.shows_opened, timeout=20_000)
    assert len(panel.opened_text.text) == 1_000_000


def test_a_file_too_large_for_the_window_is_refused_unread(
    qtbot: QtBot, panel: LossPanel, notices: list[Notice], tmp_path: Path
) -> None:
    path = tmp_path / "huge.jsonl"
    with path.open("wb") as file:
        file.truncate(200 << 20)
    panel.opener.open(str(path))
    qtbot.waitUntil(lambda: bool(notices))
    assert notices[-1].sentence == f"{path} is larger than 32 MB: cut it into parts."
    assert not panel.shows_opened


@pytest.mark.parametrize("data", [b"GGUF\x03\0\0\0" + bytes(100), bytes(range(256)) * 9])
def test_binary_files_are_refused(
    qtbot: QtBot, panel: LossPanel, notices: list[Notice], tmp_path: Path, data: bytes
) -> None:
    path = tmp_path / "data.txt"
    path.write_bytes(data)
    panel.opener.open(str(path))
    qtbot.waitUntil(lambda: bool(notices))
    assert "binary file" in notices[-1].sentence and not notices[-1].is_bug
    assert not panel.shows_opened


def test_a_guessed_encoding_is_said(qtbot: QtBot, panel: LossPanel, tmp_path: Path) -> None:
    path = tmp_path / "old.txt"
    path.write_bytes("Où est la bibliothèque ?".encode("latin-1"))
    panel.opener.open(str(path))
    qtbot.waitUntil(lambda: panel.shows_opened)
    assert "Latin-1" in panel.note.text
    panel.note.button.click()
    assert panel.note.isHidden()


def test_pasting(qtbot: QtBot, session: Session, panel: LossPanel) -> None:
    write(qtbot, panel, session)
    QGuiApplication.clipboard().setText("Pasted words.")
    panel.bar.paste_wanted.emit()
    wait(qtbot, panel)
    assert panel.opened_text.text == "Pasted words."
    panel.bar.source.setCurrentIndex(0)
    panel.bar.source.activated.emit(0)
    assert not panel.shows_opened
    panel.flush()
    assert tuple(panel.heat_view.view.ids) == session.ids


def test_a_text_can_be_dropped_but_a_model_cannot(
    qtbot: QtBot, session: Session, panel: LossPanel, tmp_path: Path
) -> None:
    write(qtbot, panel, session)
    path = tmp_path / "dropped.md"
    path.write_text("# Title\n")
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    copy, left = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
    none = Qt.KeyboardModifier.NoModifier
    panel.dropEvent(QDropEvent(QPointF(9, 9), copy, data, left, none))
    qtbot.waitUntil(lambda: panel.shows_opened)
    assert panel.opened_text.text == "# Title\n"
    model = tmp_path / "model.gguf"
    model.touch()
    assert not is_text_file(str(model))
    assert not is_text_file(str(tmp_path))


@pytest.mark.parametrize("text", [" ", "\n\n\t ", "a", "a\0b", "a\ud800b"], ids=repr)
def test_unusual_texts(
    qtbot: QtBot, session: Session, panel: LossPanel, notices: list[Notice], text: str
) -> None:
    panel.show_text(text, "odd")
    wait(qtbot, panel)
    assert notices == []
    assert math.isfinite(panel.table.loss[1:].mean())
    assert session.model is not None


def test_an_empty_text_says_so(qtbot: QtBot, panel: LossPanel) -> None:
    panel.show_text("", "empty.txt")
    panel.flush()
    assert len(panel.table) == 0
    assert "empty" in panel.heat_view.view._placeholder
    assert panel.figures.summary.text() == ""


def test_one_token_alone_has_no_loss(qtbot: QtBot, session: Session, panel: LossPanel) -> None:
    """An empty prompt still has the model's BOS in front."""
    session.set_prompt("a")
    qtbot.waitUntil(lambda: len(session.ids) == 2)
    session.set_prompt("")
    qtbot.waitUntil(lambda: len(session.ids) == 1 and session.is_ready)
    panel.flush()
    assert panel.heat.codes.tolist() == [UNKNOWN]
    assert panel.figures.summary.text() == "One token alone has no loss: nothing stands before it."


def test_another_model_reads_the_opened_text_anew(
    qtbot: QtBot, session: Session, panel: LossPanel
) -> None:
    panel.show_text("The sea.", "sample")
    wait(qtbot, panel)
    before = panel.table.loss.copy()
    # A smaller vocabulary: some of the old ids are outside it.
    session.open_model("fake:vocab=300,seed=6,context=64")
    qtbot.waitUntil(
        lambda: (
            panel.table.first_unknown == len(panel.table) > 1
            and not np.array_equal(panel.table.loss, before, equal_nan=True)
        ),
        timeout=60_000,
    )
    panel.flush()
    assert session.vocabulary is not None
    assert session.vocabulary.text_bytes(panel.heat_view.view.ids) == b"The sea."


def test_pages_of_a_very_long_text(
    qtbot: QtBot, session: Session, panel: LossPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heat_pages, "PAGE", 20)
    panel.show_text("The sea is grey. " * 5, "sample")
    wait(qtbot, panel)
    pages, ids = panel.heat_view, tuple(panel.scorer.subject.ids)
    assert pages.page_count == math.ceil(len(ids) / 20) > 1
    panel.curve.scrubbed.emit(25)
    assert pages.page == 1
    assert tuple(pages.view.ids) == ids[20:40]
    assert pages.view.selected_position == 5
    pages.view.position_selected.emit(7)
    assert panel.position == 27
    pages.next.click()
    assert tuple(pages.view.ids) == ids[40:60]
    assert pages._heat_of_page()[0].tolist() == panel.heat.codes[40:60].tolist()
