"""The list of the whole vocabulary in the next-token panel, and the search in it."""

from __future__ import annotations

import distribution_stage
import numpy as np
import pytest
from distribution_stage import TEXTBOOK, Opened, open_list, random_row, softmax
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot
from stub_engine import BOS

from logitscope.gui.panels.distribution import DistributionPanel
from logitscope.gui.panels.ranked_model import Column
from logitscope.gui.widgets import numbers

stage = distribution_stage.stage
opened = distribution_stage.opened


def cell(panel: DistributionPanel, row: int, column: Column) -> str:
    model = panel.list.model
    return str(model.data(model.index(row, column)))


@pytest.mark.parametrize("size", [5, 262_144])
def test_the_list_holds_the_whole_vocabulary(opened: Opened, size: int) -> None:
    logits = random_row(size)
    _, panel = opened(logits, top_k=3)
    open_list(panel)
    expected = softmax(logits)
    order = np.argsort(-expected, kind="stable")
    assert panel.list.model.rowCount() == size
    for row in (0, 1, 3, size // 2, size - 1):
        token_id = int(order[row])
        assert cell(panel, row, Column.RANK) == f"{row + 1:,}"
        assert cell(panel, row, Column.ID) == str(token_id)
        assert cell(panel, row, Column.RAW) == numbers.probability(expected[token_id])
        assert float(cell(panel, row, Column.CUMULATIVE)) == pytest.approx(
            expected[order[: row + 1]].sum(), abs=1e-6
        )
        log = np.log(expected[token_id])
        assert float(cell(panel, row, Column.LOG).replace("−", "-")) == pytest.approx(log, abs=6e-4)
        assert cell(panel, row, Column.REMOVED) == ("" if row < 3 else "top-k")
    shaped = softmax(logits[order[:3]])
    assert cell(panel, 2, Column.SHAPED) == numbers.probability(shaped[2])
    assert cell(panel, size - 1, Column.SHAPED) == "0"


def test_the_odds_are_e_to_the_lead(opened: Opened) -> None:
    _, panel = opened(np.array([3.0, 1.0], dtype=np.float32))
    open_list(panel)
    assert cell(panel, 1, Column.ODDS) == "7.389×"


def test_where_is_budapest(opened: Opened) -> None:
    logits = random_row(262_144)
    logits[5] = logits.max() - 28.0
    _, panel = opened(logits)
    open_list(panel)
    panel.list.search.bar.line.setText(" Budapest")
    rank = int((logits > logits[5]).sum() + (logits[:5] == logits[5]).sum()) + 1
    p = softmax(logits)[5]
    assert p < 1e-12
    assert panel.list.search.bar.answer.text() == (
        f"“·Budapest”: rank {rank:,} · p {p:.3e} · 1 of 1"
    )
    assert panel.list.view.currentIndex().row() == rank - 1
    assert panel.how.token == 5


def test_search_goes_round_the_hits_from_the_likeliest_on(opened: Opened, qtbot: QtBot) -> None:
    logits = random_row(1000)
    _, panel = opened(logits)
    open_list(panel)
    search = panel.list.search
    search.bar.line.setText(" t99")
    names = {i for i in range(BOS + 1, 1000) if str(i).startswith("99")}
    expected = sorted(names, key=lambda i: (-logits[i], i))
    assert search.hits.tolist() == expected
    seen = []
    for _ in expected:
        seen.append(panel.list.model.id_at(panel.list.view.currentIndex().row()))
        qtbot.keyClick(search.bar.line, Qt.Key.Key_Return)
    assert seen == expected
    assert panel.list.model.id_at(panel.list.view.currentIndex().row()) == expected[0]
    qtbot.keyClick(search.bar.line, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert panel.list.model.id_at(panel.list.view.currentIndex().row()) == expected[-1]


@pytest.mark.parametrize(
    ("way", "minds_case", "text", "ids"),
    [
        ("exact", True, " a", [2]),
        ("prefix", True, " B", [5]),
        ("prefix", True, " b", [1]),
        ("prefix", False, " b", [1, 5]),
        ("contains", True, "udap", [5]),
        ("exact", True, "E2 80", [6]),
        ("exact", True, "#7", [7]),
        ("prefix", True, "nowhere", []),
    ],
)
def test_ways_to_search(
    opened: Opened, way: str, minds_case: bool, text: str, ids: list[int]
) -> None:
    _, panel = opened(-np.arange(9, dtype=np.float32))
    open_list(panel)
    search = panel.list.search
    search.bar.way.setCurrentIndex(search.bar.way.findData(way))
    search.bar.case.setChecked(minds_case)
    search.bar.line.setText(text)
    assert search.hits.tolist() == ids
    if not ids:
        assert "No token" in search.bar.answer.text()


def test_a_new_row_orders_the_hits_anew_and_stays_with_the_token(opened: Opened) -> None:
    stage, panel = opened(-np.arange(9, dtype=np.float32))
    open_list(panel)
    search = panel.list.search
    search.bar.way.setCurrentIndex(search.bar.way.findData("contains"))
    search.bar.line.setText("b")
    assert search.hits.tolist() == [1, 8]
    stage.show(np.arange(9, dtype=np.float32))
    panel.flush()
    assert search.hits.tolist() == [8, 1]
    assert search.bar.answer.text().startswith("“·blue”: rank 8")
    assert search.bar.answer.text().endswith("2 of 2")


def test_enter_in_the_list_forces_its_token(opened: Opened, qtbot: QtBot) -> None:
    stage, panel = opened(TEXTBOOK)
    open_list(panel)
    panel.list.show_token(2)
    qtbot.keyClick(panel.list.view, Qt.Key.Key_Return)
    assert stage.session.document.tail_ids == (2,)
