"""The comparison panel on live fake models: other vocabularies, other seeds, other texts."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from logitscope.backends.base import LoadOptions
from logitscope.backends.fake import load as load_fake
from logitscope.gui import export
from logitscope.gui.comparing import Against
from logitscope.gui.engine import Engine
from logitscope.gui.main_window import MainWindow
from logitscope.gui.panels import compare_words
from logitscope.gui.panels.compare import ComparePanel
from logitscope.gui.panels.compare_heat import Difference
from logitscope.gui.session import Session
from logitscope.gui.widgets.heat_view import UNKNOWN

MODEL = "fake:vocab=300,seed=5"
OTHER_CUT = "fake:vocab=700,seed=9"
SAME_CUT = "fake:vocab=300,seed=9"
"""So small a vocabulary is the same for every seed; the rows are not."""
TEXT = "The sky is blue.\n\nIt is the sea — über."
LOAD_MS = 60_000


@pytest.fixture
def session(qtbot: QtBot, styled_app: QApplication) -> Iterator[Session]:
    del styled_app
    engine = Engine()
    made = Session(engine)
    made.open_model(MODEL)
    qtbot.waitUntil(lambda: made.model is not None, timeout=LOAD_MS)
    made.set_prompt(TEXT)
    qtbot.waitUntil(lambda: made.is_ready and len(made.ids) > 5, timeout=LOAD_MS)
    yield made
    engine.close()


@pytest.fixture
def panel(qtbot: QtBot, session: Session) -> Iterator[ComparePanel]:
    made = ComparePanel(session)
    qtbot.addWidget(made)
    made.resize(1000, 360)
    made.show()
    qtbot.waitExposed(made)
    yield made
    made.shut_down()


def wait(qtbot: QtBot, panel: ComparePanel) -> None:
    """Until both sides are scored and the ranges are those of their tokens."""
    comparison = panel.comparison

    def is_done() -> bool:
        sides = comparison.left, comparison.right
        if comparison.result is None or sides[1] is None:
            return False
        tables = [side.table for side in sides if side is not None]
        known = comparison.result
        return (
            all(
                len(table) > 0
                and table.first_unknown == len(table)
                and np.array_equal(table.ids, tokens.ids)
                for table, tokens in zip(tables, (known.left, known.right), strict=True)
            )
            and known.totals.unknown_bytes == 0
        )

    qtbot.waitUntil(is_done, timeout=LOAD_MS)
    panel.flush()


def losses(model: str, ids: tuple[int, ...]) -> np.ndarray:
    """(n - 1,) of the tokens from the second on."""
    rows = rows_of(model, ids)
    return np.array([-row[ids[p + 1]] for p, row in enumerate(rows)])


def rows_of(model: str, ids: tuple[int, ...]) -> list[np.ndarray]:
    backend = load_fake(Path(model), LoadOptions())
    rows = [torch.tensor(backend.next_logits(ids[:p])).double() for p in range(1, len(ids))]
    backend.close()
    return [row.log_softmax(0).numpy() for row in rows]


def test_it_says_what_to_do(qtbot: QtBot, session: Session, panel: ComparePanel) -> None:
    panel.flush()
    assert "Choose above what to compare with" in panel.empty.text()
    assert panel.stack.currentWidget() is panel.empty
    assert not panel.bar.divergence.isVisible()


def test_two_models_with_other_vocabularies(
    qtbot: QtBot, session: Session, panel: ComparePanel
) -> None:
    panel.comparison.open_model(OTHER_CUT)
    wait(qtbot, panel)
    result = panel.comparison.result
    assert result is not None
    assert result.left.text == result.right.text == TEXT.encode()
    assert result.left.ids.tolist() != result.right.ids.tolist()
    assert result.pairing.is_paired.all()
    left, right = losses(MODEL, session.ids), losses(OTHER_CUT, tuple(result.right.ids.tolist()))
    found = result.differences
    # BOS, which brings no bytes, stands in front: every loss is known.
    np.testing.assert_allclose(found.left.sum(), left.sum(), atol=1e-4)
    np.testing.assert_allclose(found.right.sum(), right.sum(), atol=1e-4)
    said = panel.summary.text()
    assert f"{left.sum() / math.log(2) / len(TEXT.encode()):.3f}" in said
    assert panel.body.right_view.isVisible() and not panel.bar.divergence.isVisible()
    second = panel.comparison.second
    assert second is not None and second.session.model is not None
    assert second.session.model.name in panel.bar.right.text()


def test_tints_are_two_sided_and_fitted(
    qtbot: QtBot, session: Session, panel: ComparePanel
) -> None:
    panel.comparison.open_model(OTHER_CUT)
    wait(qtbot, panel)
    result = panel.comparison.result
    assert result is not None
    panel.bar.fit.setChecked(False)
    panel.flush()
    codes = panel.body.left_view.view._codes
    for code, place in zip(codes, result.pairing.left_range, strict=True):
        value = result.differences.per_byte[place] if place >= 0 else math.nan
        if math.isnan(value):
            assert code == UNKNOWN
        else:
            assert abs(code - np.clip((value + 1) / 2, 0, 1) * 255) <= 0.51
    assert "nats per byte" in panel.legend.accessibleDescription()


def test_the_list_is_sorted_and_leads_to_the_text(
    qtbot: QtBot, session: Session, panel: ComparePanel
) -> None:
    panel.comparison.open_model(OTHER_CUT)
    wait(qtbot, panel)
    result = panel.comparison.result
    assert result is not None
    panel.bar.measure.setCurrentIndex(list(Difference).index(Difference.PER_RANGE))
    panel.flush()
    sizes = np.abs(result.differences.nats)
    assert sizes[panel.body.listed[0]] == np.nanmax(sizes)
    shown = sizes[panel.body.listed]
    assert (np.diff(shown) <= 0).all()
    panel.body.table.clicked.emit(panel.body.rows.index(2, 0))
    chosen = int(panel.body.listed[2])
    assert result.pairing.left_range[session.position] == chosen
    right = panel.body.right_view.view.selected_position
    assert right is not None and result.pairing.right_range[right] == chosen


def test_two_models_with_one_vocabulary(
    qtbot: QtBot, session: Session, panel: ComparePanel
) -> None:
    panel.comparison.open_model(SAME_CUT)
    wait(qtbot, panel)
    comparison = panel.comparison
    ids = session.ids
    assert comparison.can_diverge and panel.bar.divergence.isVisible()
    assert not panel.body.right_view.isVisible()
    ours, theirs = rows_of(MODEL, ids), rows_of(SAME_CUT, ids)
    same = sum(a.argmax() == b.argmax() for a, b in zip(ours, theirs, strict=True))
    assert comparison.agreement == (same, len(ids) - 1)
    panel.bar.divergence.click()
    assert comparison.divergence.is_running
    qtbot.waitUntil(lambda: not comparison.divergence.is_running, timeout=LOAD_MS)
    pairs = [(torch.tensor(a), torch.tensor(b)) for a, b in zip(ours, theirs, strict=True)]
    divergence = torch.nn.functional.kl_div
    # PyTorch's order: kl_div(log q, log p) is KL(p || q).
    expected = [divergence(b, a, reduction="sum", log_target=True).item() for a, b in pairs]
    assert min(expected) > 0.01
    found = comparison.divergence.values
    assert np.isnan(found[0])
    np.testing.assert_allclose(found[1:], expected, atol=1e-6)
    panel.flush()
    assert "mean KL" in panel.models.text() and "same top token" in panel.models.text()


def test_finding_the_divergence_can_be_stopped(
    qtbot: QtBot, session: Session, panel: ComparePanel
) -> None:
    panel.comparison.open_model(SAME_CUT + ",decode_ms=40")
    wait(qtbot, panel)
    divergence = panel.comparison.divergence
    panel.bar.divergence.click()
    qtbot.waitUntil(lambda: divergence.progress[0] >= 2, timeout=LOAD_MS)
    panel.flush()
    assert panel.bar.divergence.text().startswith("KL ")
    panel.bar.divergence.click()
    assert not divergence.is_running
    kept = int((~np.isnan(divergence.values)).sum())
    assert 2 <= kept < len(session.ids) - 1
    before = divergence.values[1:3].copy()
    session.set_prompt(TEXT + " More.")
    qtbot.waitUntil(lambda: len(divergence.values) > len(before) + 30, timeout=LOAD_MS)
    wait(qtbot, panel)
    assert divergence.values[1:3].tolist() == before.tolist()


def test_the_right_side_follows_what_is_typed(
    qtbot: QtBot, session: Session, panel: ComparePanel
) -> None:
    panel.comparison.open_model(OTHER_CUT)
    wait(qtbot, panel)
    session.set_prompt("Another text of its own.")
    comparison = panel.comparison
    qtbot.waitUntil(
        lambda: (
            comparison.result is not None
            and comparison.result.right.text == b"Another text of its own."
        ),
        timeout=LOAD_MS,
    )
    wait(qtbot, panel)
    assert comparison.result is not None and comparison.result.pairing.is_paired.all()


def test_two_texts_on_one_model(qtbot: QtBot, session: Session, panel: ComparePanel) -> None:
    other = "The sky was grey.\n\nIt is the sea — über."
    panel.choice.right_opener.opened.emit(other, "other.txt", "")
    comparison = panel.comparison
    assert comparison.against is Against.TEXT
    wait(qtbot, panel)
    result = comparison.result
    assert result is not None and result.right.text == other.encode()
    paired = result.pairing.is_paired
    assert paired.any() and not paired.all()
    right = losses(MODEL, tuple(result.right.ids.tolist()))
    for place in np.flatnonzero(paired):
        at = int(np.flatnonzero(result.pairing.right_range == place)[0])
        assert result.differences.right[place] == pytest.approx(right[at - 1], abs=1e-6)
    assert panel.bar.right.text() == "other.txt"
    assert "on one side only" in panel.summary.text()
    assert not panel.bar.divergence.isVisible()


def test_two_opened_texts(qtbot: QtBot, session: Session, panel: ComparePanel) -> None:
    panel.choice.left_opener.opened.emit("One two three.", "a.txt", "")
    panel.choice.right_opener.opened.emit("One two four.", "b.txt", "")
    wait(qtbot, panel)
    result = panel.comparison.result
    assert result is not None and result.left.text == b"One two three."
    assert panel.bar.left.text() == "a.txt"
    place = 4
    panel.body.left_view.view.position_selected.emit(place)
    read = tuple(result.left.ids[:place].tolist())
    qtbot.waitUntil(lambda: session.row is not None and session.row.ids == read)
    assert panel.body.right_view.view.selected_position == place


def test_the_same_text_twice_differs_nowhere(
    qtbot: QtBot, session: Session, panel: ComparePanel
) -> None:
    panel.comparison.compare_text(TEXT, "same")
    wait(qtbot, panel)
    result = panel.comparison.result
    assert result is not None and result.same_ids
    assert (result.totals.left_better, result.totals.right_better) == (0.0, 0.0)
    assert np.abs(result.differences.nats).max() == 0


def test_export_names_both_sides(qtbot: QtBot, session: Session, panel: ComparePanel) -> None:
    panel.comparison.open_model(OTHER_CUT)
    wait(qtbot, panel)
    result = panel.comparison.result
    assert result is not None
    made = json.loads(export.as_json(panel.export._table()(), panel.export.made_from()))
    assert made["against"] == "model" and made["right_header_hash"] != made["header_hash"]
    assert sum(row["left_bytes"] for row in made["ranges"]) == len(TEXT.encode())
    assert made["ranges"][3]["difference_nats"] == result.differences.nats[3]


def test_a_model_that_cannot_be_loaded_is_told(
    qtbot: QtBot, session: Session, panel: ComparePanel
) -> None:
    panel.comparison.open_model("fake:vocab=300,fail=load")
    qtbot.waitUntil(lambda: panel.note.text != "", timeout=LOAD_MS)
    assert panel.note.button.isVisible()
    assert session.model is not None


def test_a_second_model_that_dies_leaves_the_first_alone(
    qtbot: QtBot, session: Session, panel: ComparePanel
) -> None:
    panel.comparison.open_model(SAME_CUT)
    wait(qtbot, panel)
    second = panel.comparison.second
    assert second is not None
    psutil.Process(second.engine._client.pid).kill()
    qtbot.waitUntil(lambda: panel.note.text != "", timeout=LOAD_MS)
    assert session.model is not None
    assert compare_words.empty_text(panel.comparison).startswith("There is no second model")
    assert "loading" not in panel.bar.right.text()
    panel.note.button.click()
    wait(qtbot, panel)
    assert panel.note.text == ""


# -- in the window ------------------------------------------------------------------------------


def model_processes() -> set[int]:
    return {
        process.pid
        for process in psutil.Process().children(recursive=True)
        if not any("resource_tracker" in word for word in process.cmdline())
    }


def test_closing_the_panel_ends_the_second_process(
    qtbot: QtBot,
    loaded: MainWindow,
    read: Callable[[MainWindow, str], None],
) -> None:
    read(loaded, TEXT)
    before = model_processes()
    panel = loaded.panels["compare"]
    assert isinstance(panel, ComparePanel) and not panel.isVisible()
    loaded.focus_panel("compare")
    panel.comparison.open_model(OTHER_CUT)
    wait(qtbot, panel)
    assert len(model_processes() - before) == 1
    loaded.toggle_panel("compare")
    qtbot.waitUntil(lambda: model_processes() == before, timeout=LOAD_MS)
    loaded.toggle_panel("compare")
    assert "closed with the panel" in panel.note.text
    panel.note.button.click()
    wait(qtbot, panel)


def test_a_panel_behind_another_keeps_its_model(
    qtbot: QtBot,
    loaded: MainWindow,
    read: Callable[[MainWindow, str], None],
) -> None:
    read(loaded, TEXT)
    panel = loaded.panels["compare"]
    assert isinstance(panel, ComparePanel)
    loaded.focus_panel("compare")
    panel.comparison.open_model(OTHER_CUT)
    wait(qtbot, panel)
    loaded.focus_panel("loss")
    qtbot.waitUntil(loaded.panels["loss"].isVisible)
    assert panel.comparison.second is not None
    # The window closes with two processes: the fixture looks whether one is left.


def test_the_menu_offers_recent_models(loaded: MainWindow) -> None:
    panel = loaded.panels["compare"]
    assert isinstance(panel, ComparePanel)
    menu = panel.bar.right.menu()
    menu.aboutToShow.emit()
    titles = [action.text() for action in menu.actions()]
    assert titles[0].startswith("Second model")
    assert any("fake:" in title for title in titles)


def test_two_texts_on_two_models_are_refused_in_one_sentence(
    qtbot: QtBot, session: Session, panel: ComparePanel
) -> None:
    comparison = panel.comparison
    comparison.open_model(SAME_CUT)
    wait(qtbot, panel)
    QGuiApplication.clipboard().setText("The sky is grey.")
    panel.choice.right_opener.paste()
    assert comparison.against is Against.TEXT
    assert comparison.second is None
    assert panel.note.isVisible()
    assert panel.note.text == "Two texts are compared on one model: the second model was closed."
    wait(qtbot, panel)
    assert panel.note.button.text() == "Load again"
    panel.note.button.click()
    assert comparison.against is Against.MODEL
    said = "Two models are compared on one text: “Pasted text” was put away."
    assert panel.note.isVisible()
    assert panel.note.text == said
    wait(qtbot, panel)
