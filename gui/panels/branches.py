"""The branches panel: every continuation there is, and the way from one to another."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import groupby

from PySide6.QtCore import QModelIndex, QPoint, Qt
from PySide6.QtGui import QKeyEvent, QShowEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHBoxLayout,
    QLabel,
    QMenu,
    QPushButton,
    QSpinBox,
    QStackedWidget,
    QTreeView,
    QVBoxLayout,
    QWidget,
)

from logitscope.beam import MAX_EVALUATIONS
from logitscope.branches import Segment, branches, common_length
from logitscope.display import label_of_bytes, name_of
from logitscope.gui.export import Table
from logitscope.gui.export_menu import ExportMenu
from logitscope.gui.session import Session
from logitscope.gui.throttle import Throttle
from logitscope.gui.widgets import numbers
from logitscope.gui.widgets.branch_header import BranchHeader
from logitscope.gui.widgets.branch_model import NAME, BranchModel
from logitscope.gui.widgets.plain import plain

REFRESH_MS = 500
"""Reading a tree of thousands of nodes takes some ms: four times a second is enough."""
SHOWN_TOKENS = 40
"""Of a long segment the beginning says which one it is."""


class BranchTree(QTreeView):
    """A tree whose Enter, Delete and F2 belong to the panel."""

    def __init__(self, panel: BranchesPanel) -> None:
        super().__init__(panel)
        self._panel = panel
        self.titles = BranchHeader(self)
        self.setHeader(self.titles)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setUniformRowHeights(True)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        self.setExpandsOnDoubleClick(False)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self.state() != QAbstractItemView.State.EditingState:
            if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
                self._panel.walk_to(self.currentIndex())
                return
            if event.key() in {Qt.Key.Key_Delete, Qt.Key.Key_Backspace}:
                self._panel.delete_current()
                return
        super().keyPressEvent(event)


class BranchesPanel(QWidget):
    """Shows the document's tree; walks, names, deletes, compares and expands."""

    HELP = (
        "Branches",
        "Every continuation the text ever had is kept: rewinding or forcing a token starts a new "
        "branch beside the old one. "
        "Log p is the sum of the raw log-probabilities of the tokens in nats, once for the "
        "stretch and once from the end of the prompt: closer to 0 is likelier. "
        "Double-click or Enter walks there, F2 names, Delete hides; two selected ones are "
        "compared below.",
    )

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        titles = (
            self.tr("Continuation"),
            self.tr("Tokens"),
            self.tr("log p"),
            self.tr("log p from the prompt"),
            self.tr("Name"),
        )
        self.model = BranchModel(titles, self._text_of, session.name_branch, self)
        self.tree = BranchTree(self)
        self._shown_tree = session.state.tree
        self._lay_out()
        self._export = ExportMenu(session, self.tree, "branches", self._table_later)
        self.tree.customContextMenuRequested.disconnect()
        self.tree.customContextMenuRequested.connect(self._show_menu)
        self._throttle = Throttle(REFRESH_MS, self)
        self._throttle.triggered.connect(self._refresh)
        for signal in (session.path_changed, session.model_changed, session.prompt_changed):
            signal.connect(self._throttle.throttle)
        session.reading.changed.connect(self._show_why)
        session.explored.connect(self._show_exploring)

    # -- making -----------------------------------------------------------------------------

    def _lay_out(self) -> None:
        self.tree.setModel(self.model)
        self.tree.setAccessibleName(self.tr("Tree of continuations"))
        self.tree.titles.share_out()
        self.tree.doubleClicked.connect(self.walk_to)
        self.tree.selectionModel().selectionChanged.connect(self._compare)
        self.empty = plain(QLabel())
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.empty.setWordWrap(True)
        self.stack = QStackedWidget()
        self.stack.addWidget(self.empty)
        self.stack.addWidget(self.tree)
        self.comparison = plain(QLabel())
        self.comparison.setWordWrap(True)
        self.comparison.hide()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 8, 8, 8)
        layout.setSpacing(8)
        layout.addLayout(self._expand_row())
        layout.addWidget(self.stack, 1)
        layout.addWidget(self.comparison)

    def _expand_row(self) -> QHBoxLayout:
        self.width_box = _box(3, self.tr("Branches kept at each depth"))
        self.depth_box = _box(4, self.tr("Tokens of each branch"))
        self.expand = QPushButton(self.tr("Expand"))
        self.expand.setToolTip(
            self.tr("Add the likeliest continuations behind the path, without any draw.")
        )
        self.expand.clicked.connect(self._toggle_expanding)
        self.state = plain(QLabel())
        row = QHBoxLayout()
        for widget in (self.expand, self.width_box, plain(QLabel("×")), self.depth_box, self.state):
            row.addWidget(widget)
        row.addStretch(1)
        return row

    # -- showing ----------------------------------------------------------------------------

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._refresh()

    def _refresh(self) -> None:
        if not self.isVisible():
            return
        self._shown_tree = self._session.state.tree
        made = branches(self._session.document)
        if self.model.set_branches(made):
            self.tree.expandAll()
        self.stack.setCurrentWidget(self.tree if made.segments else self.empty)
        self._show_why()
        self.expand.setEnabled(self._session.is_ready and bool(self._session.ids))
        left_out = self.tr("{n} more branches are not shown.").format(n=f"{made.left_out:,}")
        self.state.setText(left_out if made.left_out else "")
        self._compare()

    def _show_why(self) -> None:
        """Why there is no tree."""
        said = self._session.reading.sentence(
            no_model=self.tr("Open a model to see the branches of its continuations."),
            empty=self.tr("Type a prompt; its continuations appear here as a tree."),
        )
        self.empty.setText(
            said or self.tr("No continuation yet: press Step, or expand the tree by probability.")
        )

    def _text_of(self, segment: Segment) -> str:
        vocabulary = self._session.vocabulary
        ids = segment.token_ids[:SHOWN_TOKENS]
        if vocabulary is None or any(token_id >= len(vocabulary) for token_id in ids):
            return " ".join(map(str, ids))
        more = "…" if len(segment.nodes) > SHOWN_TOKENS else ""
        # Characters can be split over tokens, so what stands between special tokens is one text.
        runs = [
            "".join(name_of(vocabulary, i) for i in run)
            if special
            else label_of_bytes(vocabulary.text_bytes(list(run)))
            for special, run in groupby(ids, vocabulary.is_special)
        ]
        return "".join(runs) + more

    def _show_exploring(self, done: int, total: int) -> None:
        self.expand.setText(self.tr("Stop") if total else self.tr("Expand"))
        busy = self.tr("{done} of at most {total} evaluations").format(done=done, total=total)
        self.state.setText(busy if total else "")

    def _compare(self) -> None:
        chosen = [self.model.segment_at(i) for i in self.tree.selectionModel().selectedRows()]
        two = [segment for segment in chosen if segment is not None]
        is_present = self._shown_tree is self._session.state.tree
        self.comparison.setVisible(len(two) == 2 and is_present)
        if len(two) == 2 and is_present:
            self.comparison.setText(self._comparison_of(*two))

    def _comparison_of(self, one: Segment, other: Segment) -> str:
        shared = common_length(self._session.document, one.nodes[-1], other.nodes[-1])
        lead = one.path_log_probability - other.path_log_probability
        ratio = f"{math.exp(abs(lead)):.3g}" if abs(lead) < 700 else f"e^{abs(lead):.0f}"
        likelier = self.tr("the first") if lead >= 0 else self.tr("the second")
        return self.tr(
            "They share {shared}; {a:.2f} against {b:.2f} nats: {likelier} is {ratio} times "
            "as likely as a whole ({c:.3f} and {d:.3f} nats a token)."
        ).format(
            shared=numbers.tokens(shared),
            a=one.path_log_probability,
            b=other.path_log_probability,
            likelier=likelier,
            ratio=ratio,
            c=one.path_log_probability / one.path_length,
            d=other.path_log_probability / other.path_length,
        )

    def _table_later(self) -> Callable[[], Table]:
        table = self._table()
        return lambda: table

    def _table(self) -> Table:
        made = self.model.branches.segments
        rows = tuple(
            (
                self._text_of(segment),
                segment.path_length,
                segment.log_probability,
                segment.path_log_probability,
                segment.name,
                " ".join(map(str, segment.token_ids)),
            )
            for segment in made
        )
        titles = ("text", "depth", "log_probability", "path_log_probability", "name", "ids")
        return Table("branches", titles, rows)

    # -- doing ------------------------------------------------------------------------------

    def walk_to(self, index: QModelIndex) -> None:
        """Make the path end at the end of a segment."""
        segment = self._segment_now(index)
        if segment is not None:
            self._session.go_to(segment.nodes[-1])

    def delete_current(self) -> None:
        segment = self._segment_now(self.tree.currentIndex())
        if segment is not None:
            self._session.delete_branch(segment.nodes[0])

    def _segment_now(self, index: QModelIndex) -> Segment | None:
        """The segment, if its nodes are still there: the tree on show may be a moment old."""
        segment, state = self.model.segment_at(index), self._session.state
        if (
            segment is None
            or self._shown_tree is not state.tree
            or segment.nodes[-1] >= state.count
        ):
            return None
        return segment

    def _rename_current(self) -> None:
        index = self.tree.currentIndex()
        if index.isValid():
            self.tree.edit(index.siblingAtColumn(NAME))

    def _toggle_expanding(self) -> None:
        if self._session.is_exploring:
            self._session.stop()
        else:
            self._session.explore(self.width_box.value(), self.depth_box.value())

    def _show_menu(self, place: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if self.tree.indexAt(place).isValid():
            current = self.tree.currentIndex()
            menu.addAction(self.tr("Walk there"), lambda: self.walk_to(current))
            menu.addAction(self.tr("Name…"), self._rename_current)
            menu.addAction(self.tr("Delete"), self.delete_current)
            menu.addSeparator()
        self._export.fill(menu)
        menu.popup(self.tree.viewport().mapToGlobal(place))


def _box(value: int, tip: str) -> QSpinBox:
    box = QSpinBox()
    box.setRange(1, math.isqrt(MAX_EVALUATIONS))
    box.setValue(value)
    box.setToolTip(tip)
    box.setAccessibleName(tip)
    return box
