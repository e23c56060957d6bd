"""The loss panel through its own widgets, on a live fake model."""

from __future__ import annotations

import itertools
import json
import math
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent, QGuiApplication
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from logitscope import textfile
from logitscope.backends.base import LoadOptions
from logitscope.backends.fake import load as load_fake
from logitscope.distribution import log_softmax
from logitscope.gui import export, theme
from logitscope.gui.engine import Engine
from logitscope.gui.notices import Notice
from logitscope.gui.panels import loss_opening
from logitscope.gui.panels.loss import LossPanel
from logitscope.gui.panels.step_words import ActualToken, actual_token
from logitscope.gui.session import Session
from logitscope.gui.widgets import heat_pages
from logitscope.gui.widgets.drop_overlay import is_text_file
from logitscope.gui.widgets.heat_view import UNKNOWN
from logitscope.heat import Measure

MODEL = "fake:vocab=400,seed=5,context=64"
TEXT = "The sky is blue.\n\nIt is the sea."


@pytest.fixture
def session(qtbot: QtBot, styled_app: QApplication) -> Iterator[Session]:
    del styled_app
    engine = Engine()
    made = Session(engine)
    made.open_model(MODEL)
    qtbot.waitUntil(lambda: made.model is not None, timeout=60_000)
    yield made
    engine.close()


@pytest.fixture
def panel(qtbot: QtBot, session: Session) -> LossPanel:
    made = LossPanel(session)
    qtbot.addWidget(made)
    made.resize(800, 360)
    made.show()
    qtbot.waitExposed(made)
    return made


@pytest.fixture
def notices(session: Session) -> list[Notice]:
    heard: list[Notice] = []
    session.noticed.connect(heard.append)
    return heard


def wait(qtbot: QtBot, panel: LossPanel) -> None:
    """Until every token of the text on show is scored and drawn."""
    subject = panel.scorer.subject

    def is_done() -> bool:
        table = panel.table
        return (
            subject.is_ready
            and len(table) == len(subject.ids) > 0
            and table.first_unknown == len(table)
            and not panel.scorer.is_scoring
            and (panel.curve.has_plot or not panel.isVisible())
        )

    qtbot.waitUntil(is_done, timeout=20_000)
    panel.flush()


def write(qtbot: QtBot, panel: LossPanel, session: Session, text: str = TEXT) -> None:
    before = session.ids
    session.set_prompt(text)
    qtbot.waitUntil(lambda: session.is_ready and session.ids != before)
    wait(qtbot, panel)


def losses(ids: tuple[int, ...]) -> np.ndarray:
    backend = load_fake(MODEL, LoadOptions())
    found = [-log_softmax(backend.next_logits(ids[:p]))[ids[p]] for p in range(1, len(ids))]
    backend.close()
    return np.array(found)


# -- the text on screen -------------------------------------------------------------------------


def test_the_tints_follow_the_losses(qtbot: QtBot, session: Session, panel: LossPanel) -> None:
    write(qtbot, panel, session)
    expected = np.round(np.clip(losses(session.ids) / 10.0, 0, 1) * 255)
    assert panel.heat.codes[0] == UNKNOWN
    assert np.abs(panel.heat.codes[1:] - expected).max() <= 1
    view = panel.heat_view.view
    assert tuple(view.ids) == session.ids


def test_the_averages_are_those_of_the_text(
    qtbot: QtBot, session: Session, panel: LossPanel
) -> None:
    write(qtbot, panel, session)
    known = losses(session.ids)
    said = panel.figures.summary.text()
    assert f"mean {known.mean():.3f} nats" in said
    assert f"perplexity {math.exp(known.mean()):,.1f}" in said
    assert f"{known.sum() / math.log(2) / len(TEXT.encode()):.3f} bits/byte" in said
    assert f"{len(known)} tokens" in said


def test_a_chosen_range_has_its_own_averages(
    qtbot: QtBot, session: Session, panel: LossPanel
) -> None:
    write(qtbot, panel, session)
    panel.heat_view.view.choose(3, 7)
    known = losses(session.ids)[2:6]
    assert f"mean {known.mean():.3f} nats" in panel.figures.summary.text()
    assert "selected: 4 tokens" in panel.figures.summary.text()
    panel.curve.range_chosen.emit(2, 4)
    assert panel.heat_view.chosen == range(2, 4)
    assert panel.heat_view.view.chosen == range(2, 4)


def test_selection_goes_both_ways(qtbot: QtBot, session: Session, panel: LossPanel) -> None:
    write(qtbot, panel, session)
    panel.heat_view.view.position_selected.emit(5)
    assert session.position == 5
    panel.curve.scrubbed.emit(7)
    assert session.position == 7
    assert panel.heat_view.view.selected_position == 7
    session.select(3)
    assert panel.heat_view.view.selected_position == 3
    panel.curve.step_wanted.emit(1)
    assert session.position == 4


def test_a_drag_on_the_curve_scrubs_and_with_shift_chooses(
    qtbot: QtBot, session: Session, panel: LossPanel
) -> None:
    write(qtbot, panel, session)
    curve = panel.curve
    viewport = curve.plot.viewport()
    middle = viewport.rect().center()
    at = curve.position_at(QPointF(middle))
    qtbot.mousePress(viewport, Qt.MouseButton.LeftButton, pos=middle)
    assert session.position == at
    qtbot.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=middle)
    left = middle - middle / 3
    first = curve.position_at(QPointF(left))
    assert at is not None and first is not None and first < at
    shift = Qt.KeyboardModifier.ShiftModifier
    qtbot.mousePress(viewport, Qt.MouseButton.LeftButton, shift, left)
    assert panel.heat_view.chosen == range(first, at + 1)
    qtbot.mouseRelease(viewport, Qt.MouseButton.LeftButton, shift, left)


def test_pointing_at_one_marks_the_other(qtbot: QtBot, session: Session, panel: LossPanel) -> None:
    write(qtbot, panel, session)
    curve, view = panel.curve, panel.heat_view.view
    curve.hovered.emit(6)
    assert view._hovered == 6
    assert curve._pointer.value() == 6
    curve.hovered.emit(None)
    assert view._hovered is None and not curve._pointer.isVisible()


def test_a_chosen_range_survives_generation_of_nothing_new(
    qtbot: QtBot, session: Session, panel: LossPanel
) -> None:
    write(qtbot, panel, session)
    panel.heat_view.view.choose(3, 7)
    session.path_changed.emit()
    panel.flush()
    assert panel.heat_view.chosen == range(3, 7)
    assert panel.curve._region.isVisible()


def test_numbers_below_tokens_are_short(qtbot: QtBot, session: Session, panel: LossPanel) -> None:
    write(qtbot, panel, session)
    panel.bar.number_row.setChecked(True)
    expected = losses(session.ids)
    assert panel._number_of(0) == "–"
    for position in range(1, len(session.ids)):
        said = panel._number_of(position)
        assert len(said) <= 5
        assert float(said) == pytest.approx(expected[position - 1], abs=0.051)


def test_n_and_p_walk_over_the_surprises(qtbot: QtBot, session: Session, panel: LossPanel) -> None:
    write(qtbot, panel, session)
    strong = [p + 1 for p, loss in enumerate(losses(session.ids)) if loss >= 5.0]
    assert len(strong) > 2
    view = panel.heat_view.view
    view.setFocus()
    qtbot.keyClick(view, Qt.Key.Key_N)
    assert session.position == strong[0]
    qtbot.keyClick(view, Qt.Key.Key_N)
    assert session.position == strong[1]
    qtbot.keyClick(view, Qt.Key.Key_P)
    assert session.position == strong[0]


def test_measures_change_legend_and_tints(qtbot: QtBot, session: Session, panel: LossPanel) -> None:
    write(qtbot, panel, session)
    table = panel.table
    box = panel.bar.measure
    box.setCurrentIndex(list(Measure).index(Measure.RANK))
    panel.flush()
    ranks = table.rank[1:]
    buckets = np.digitize(ranks, [2, 11, 101, 1001])
    assert panel.heat.codes[1:].tolist() == np.round(buckets / 4 * 255).astype(int).tolist()
    assert panel.figures.legend.accessibleDescription().split() == [
        "1",
        "≤10",
        "≤100",
        "≤1000",
        ">1000",
    ]
    box.setCurrentIndex(list(Measure).index(Measure.SURPRISE))
    panel.flush()
    share = np.clip((table.loss[1:] - table.entropy[1:] + 5) / 10, 0, 1)
    assert np.abs(panel.heat.codes[1:] - share * 255).max() <= 0.51
    assert "nats" in panel.figures.legend.accessibleDescription()


def test_fitting_spans_the_text(qtbot: QtBot, session: Session, panel: LossPanel) -> None:
    write(qtbot, panel, session)
    panel.bar.fit.setChecked(True)
    panel.flush()
    assert panel.heat.scale.high == pytest.approx(np.percentile(losses(session.ids), 99), abs=1e-5)
    panel.bar.fit.setChecked(False)
    panel.flush()
    assert panel.heat.scale.high == 10.0


def test_a_tooltip_tells_what_was_expected(
    qtbot: QtBot, session: Session, panel: LossPanel
) -> None:
    write(qtbot, panel, session)
    said = panel._tooltip_of(4)
    assert f"loss {losses(session.ids)[3]:.3f} nats" in said
    assert said.count("<tr>") == 10
    assert "unknown" in panel._tooltip_of(0)


def test_a_hidden_panel_asks_for_nothing(qtbot: QtBot, session: Session, panel: LossPanel) -> None:
    write(qtbot, panel, session)
    panel.hide()
    asked: list[object] = []
    score = session.engine.score
    session.engine.score = lambda *a: asked.append(a) or score(*a)  # type: ignore[method-assign]
    session.set_prompt("Another text.")
    qtbot.waitUntil(lambda: session.is_ready and session.row_is_current)
    assert asked == []
    panel.show()
    wait(qtbot, panel)
    assert len(asked) == 1


def test_stop_and_go_on(qtbot: QtBot, session: Session, panel: LossPanel) -> None:
    write(qtbot, panel, session)
    assert not panel.bar.stop.isVisible()
    panel.scorer.stop()
    panel.table.forget()
    panel.flush()
    assert panel.bar.stop.isVisible() and panel.bar.progress.value() == 0
    panel.bar.stop.click()
    wait(qtbot, panel)
    assert not panel.bar.stop.isVisible()


# -- opened texts -------------------------------------------------------------------------------


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


# -- taking it out ------------------------------------------------------------------------------


def test_exported_numbers(qtbot: QtBot, session: Session, panel: LossPanel) -> None:
    write(qtbot, panel, session)
    table = panel.export._later()()
    assert len(table.rows) == len(session.ids)
    assert table.rows[0][3] is None
    column = [row[3] for row in table.rows[1:]]
    np.testing.assert_allclose(np.array(column, dtype=float), losses(session.ids), atol=1e-6)
    made = json.loads(export.as_json(table, panel.export.made_from()))
    assert made["text"] == "on screen" and made["window"] == 64
    panel.heat_view.view.choose(2, 5)
    assert [row[0] for row in panel.export._chosen().rows] == [2, 3, 4]


def test_exported_page_and_picture(
    qtbot: QtBot,
    session: Session,
    panel: LossPanel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write(qtbot, panel, session)
    monkeypatch.setattr(panel.export, "_ask", lambda suffix: tmp_path / f"loss.{suffix}")
    with qtbot.waitSignal(session.noticed) as said:
        panel.export.save_html()
    assert "Exported" in said.args[0].sentence
    page = (tmp_path / "loss.html").read_text("utf-8")
    assert page.count("<span class=") > len(session.ids)
    export.save_svg(panel.body, tmp_path / "loss.svg")
    assert "<svg" in (tmp_path / "loss.svg").read_text("utf-8")


@pytest.mark.parametrize("mode", [theme.Mode.LIGHT, theme.Mode.DARK])
def test_expected_tokens_have_the_page_colour(
    qtbot: QtBot, session: Session, panel: LossPanel, mode: theme.Mode
) -> None:
    theme.set_mode(mode)
    try:
        style = panel.heat_view.view._style(0, 0)
        assert style.background is not None
        assert style.background.name() == theme.palette().page.name()
    finally:
        theme.set_mode(theme.Mode.LIGHT)


def test_a_narrow_panel_puts_its_controls_into_two_lines(panel: LossPanel) -> None:
    bar = panel.bar
    height = bar.height()
    bar.resize(240, height)
    controls = [bar.source, bar.measure, bar.fit, bar.underlines, bar.number_row, bar.next]
    assert all(bar.rect().contains(control.geometry()) for control in controls)
    assert bar.height() > height and bar.next.y() > bar.source.y()
    assert not any(
        one.geometry().intersects(other.geometry())
        for one, other in itertools.combinations(controls, 2)
    )
