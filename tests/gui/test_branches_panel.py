"""The branches panel through its own widgets, on a live fake model."""

from __future__ import annotations

import csv
from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from logitscope.gui.engine import Engine
from logitscope.gui.panels.branches import BranchesPanel
from logitscope.gui.session import Session
from logitscope.gui.widgets.branch_model import NAME, OWN, PATH, TEXT, TOKENS


@pytest.fixture
def session(qtbot: QtBot) -> Iterator[Session]:
    engine = Engine()
    made = Session(engine)
    made.open_model("fake:vocab=500,seed=3")
    made.set_prompt("abc")
    qtbot.waitUntil(lambda: made.row is not None and made.row_is_current, timeout=20_000)
    yield made
    engine.close()


@pytest.fixture
def panel(qtbot: QtBot, session: Session) -> BranchesPanel:
    made = BranchesPanel(session)
    qtbot.addWidget(made)
    made.show()
    qtbot.waitExposed(made)
    return made


def grow(qtbot: QtBot, session: Session, count: int) -> None:
    before = len(session.ids)
    session.run(count)
    qtbot.waitUntil(
        lambda: not session.is_running and len(session.ids) > before and session.row_is_current
    )


def fork(qtbot: QtBot, session: Session) -> int:
    """Two branches behind the first token; the path is on the forced one. Returns its id."""
    grow(qtbot, session, 3)
    position = session.prompt_length + 1
    session.select(position)
    qtbot.waitUntil(lambda: session.row_is_current)
    assert session.row is not None
    taken = session.ids[position]
    other = next(int(i) for i in session.row.distribution.top(3) if int(i) != taken)
    session.force(other)
    qtbot.waitUntil(lambda: session.row_is_current)
    return other


def test_empty_tree_says_what_to_do(panel: BranchesPanel) -> None:
    assert panel.stack.currentWidget() is panel.empty
    assert "Step" in panel.empty.text()


def test_a_fork_shows_both_branches_and_enter_walks_to_the_other(
    qtbot: QtBot, session: Session, panel: BranchesPanel
) -> None:
    fork(qtbot, session)
    qtbot.waitUntil(lambda: len(panel.model.branches.segments) == 3)
    old, new = panel.model.branches.segments[1:]
    assert new.is_on_path
    assert not old.is_on_path
    steps = session.document.steps
    expected = sum(step.log_probability for step in steps)
    assert panel.model.index_of(2, PATH).data() == f"{expected:.2f}"
    panel.tree.setCurrentIndex(panel.model.index_of(1))
    qtbot.keyClick(panel.tree, Qt.Key.Key_Return)
    assert session.state.leaf == old.nodes[-1]


def test_expanding_by_the_button_adds_width_times_depth(
    qtbot: QtBot, session: Session, panel: BranchesPanel
) -> None:
    panel.width_box.setValue(2)
    panel.depth_box.setValue(3)
    with qtbot.waitSignal(session.explored, check_params_cb=lambda done, total: total == 0):
        qtbot.mouseClick(panel.expand, Qt.MouseButton.LeftButton)
    assert session.state.count == 6
    qtbot.waitUntil(lambda: [s.path_length for s in panel.model.branches.segments].count(3) == 2)
    assert panel.stack.currentWidget() is panel.tree
    assert panel.expand.text() == "Expand"


def test_expanding_can_be_stopped_and_undone(
    qtbot: QtBot, session: Session, panel: BranchesPanel
) -> None:
    session.open_model("fake:vocab=500,seed=3,decode_ms=30")
    qtbot.waitUntil(lambda: session.model is not None and session.row_is_current, timeout=20_000)
    qtbot.waitUntil(panel.expand.isEnabled)
    panel.width_box.setValue(10)
    panel.depth_box.setValue(10)
    qtbot.mouseClick(panel.expand, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: session.state.count >= 10)
    assert panel.expand.text() == "Stop"
    assert "of at most 91 evaluations" in panel.state.text()
    qtbot.mouseClick(panel.expand, Qt.MouseButton.LeftButton)
    assert not session.is_exploring
    assert panel.expand.text() == "Expand"
    kept = session.state.count
    assert 10 <= kept < 100
    # The model process is free at once, and nothing of the stopped search comes after.
    grow(qtbot, session, 1)
    assert session.state.count <= kept + 1
    session.undo()
    session.undo()
    assert session.state.count == 0


def test_branches_leave_with_their_ids_and_their_source(
    qtbot: QtBot, session: Session, panel: BranchesPanel
) -> None:
    fork(qtbot, session)
    qtbot.waitUntil(lambda: len(panel.model.branches.segments) == 3)
    panel._export.copy_csv()
    lines = QGuiApplication.clipboard().text().splitlines()
    made_from = [line for line in lines if line.startswith("# ")]
    rows = list(csv.DictReader(line for line in lines if not line.startswith("# ")))
    assert len(rows) == 3
    path = [int(i) for row in (rows[0], rows[2]) for i in row["ids"].split()]
    assert tuple(path) == session.document.tail_ids
    expected = sum(step.log_probability for step in session.document.steps)
    assert float(rows[2]["path_log_probability"]) == pytest.approx(expected, rel=1e-12)
    assert session.model is not None
    assert f'# model: "{session.model.name}"' in made_from
    assert f'# header_hash: "{session.model.header_hash}"' in made_from
    assert f"# prompt_ids: {list(session.state.prompt_ids)}" in made_from
    assert any(f'"seed": {session.settings.seed}' in line for line in made_from)


def test_naming_and_deleting_are_undoable(
    qtbot: QtBot, session: Session, panel: BranchesPanel
) -> None:
    fork(qtbot, session)
    qtbot.waitUntil(lambda: len(panel.model.branches.segments) == 3)
    assert panel.model.setData(panel.model.index_of(1, NAME), "old way")
    qtbot.waitUntil(lambda: panel.model.index_of(1, NAME).data() == "old way")
    panel.tree.setCurrentIndex(panel.model.index_of(1))
    qtbot.keyClick(panel.tree, Qt.Key.Key_Delete)
    qtbot.waitUntil(lambda: len(panel.model.branches.segments) == 1)
    session.undo()
    qtbot.waitUntil(lambda: len(panel.model.branches.segments) == 3)
    session.undo()
    qtbot.waitUntil(lambda: panel.model.index_of(1, NAME).data() == "")


def test_two_selected_branches_are_compared(
    qtbot: QtBot, session: Session, panel: BranchesPanel
) -> None:
    fork(qtbot, session)
    qtbot.waitUntil(lambda: len(panel.model.branches.segments) == 3)
    selection = panel.tree.selectionModel()
    flag = selection.SelectionFlag.Select | selection.SelectionFlag.Rows
    for number in (1, 2):
        selection.select(panel.model.index_of(number, TEXT), flag)
    assert "share 1 token;" in panel.comparison.text()
    assert panel.comparison.isVisible()


def test_a_prompt_that_changes_leaves_nothing_to_trip_over(
    qtbot: QtBot, session: Session, panel: BranchesPanel
) -> None:
    fork(qtbot, session)
    qtbot.waitUntil(lambda: len(panel.model.branches.segments) == 3)
    session.set_prompt("abcd")
    # The panel has not been told yet: what it still shows must be readable, and lead nowhere.
    for number in range(3):
        assert panel.model.index_of(number, TEXT).data() != ""
    panel.walk_to(panel.model.index_of(1))
    assert session.document.path == ()
    qtbot.waitUntil(lambda: panel.stack.currentWidget() is panel.empty)


@pytest.mark.parametrize("width", [340, 400, 520, 900])
def test_continuations_can_be_read_in_a_narrow_panel(
    qtbot: QtBot, styled_app: QApplication, session: Session, panel: BranchesPanel, width: int
) -> None:
    del styled_app
    fork(qtbot, session)
    qtbot.waitUntil(lambda: len(panel.model.branches.segments) == 3)
    header, scroll_bar = panel.tree.header(), panel.tree.horizontalScrollBar()
    panel.resize(width, 300)
    qtbot.waitUntil(lambda: header.width() < width)
    assert header.sectionSize(TEXT) >= 20 * header.fontMetrics().averageCharWidth()
    # No number is cut, and what is not in sight can be scrolled to.
    for column in (TOKENS, OWN, PATH):
        assert header.sectionSize(column) >= panel.tree.sizeHintForColumn(column)
    qtbot.waitUntil(lambda: scroll_bar.maximum() == max(0, header.length() - header.width()))
    assert (scroll_bar.maximum() == 0) == (width >= 520)
