"""The branches panel through its own widgets, on a live fake model."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from logitscope.gui.engine import Engine
from logitscope.gui.panels.branches import BranchesPanel
from logitscope.gui.session import Session
from logitscope.gui.widgets.branch_model import NAME, PATH, TEXT


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
    assert "share 1 tokens" in panel.comparison.text()
    assert panel.comparison.isVisible()
