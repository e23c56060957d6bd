"""The controls of the comparison panel: both sides, what the colours show, progress."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QLabel,
    QMenu,
    QProgressBar,
    QToolButton,
    QWidget,
)

from logitscope.gui import icons, theme
from logitscope.gui.panels.compare_heat import Difference
from logitscope.gui.panels.compare_words import difference_name, difference_tip, short
from logitscope.gui.widgets import numbers
from logitscope.gui.widgets.flow_row import FlowRow
from logitscope.gui.widgets.frame_progress import show_progress
from logitscope.gui.widgets.plain import plain, plain_tip

PROGRESS_WIDTH = 72


class CompareBar(FlowRow):
    """A row of controls, two where there is no room; it knows no session."""

    look_changed = Signal()
    toggled_scoring = Signal()
    toggled_divergence = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.left = self._side(self.tr("Left side: model and text"))
        self.add(plain(QLabel("↔", self)))
        self.right = self._side(self.tr("Right side: what is compared with"))
        self.measure = QComboBox(self)
        self.measure.setAccessibleName(self.tr("What the colours show"))
        for place, difference in enumerate(Difference):
            self.measure.addItem(difference_name(difference), difference)
            tip = difference_tip(difference)
            self.measure.setItemData(place, tip, Qt.ItemDataRole.ToolTipRole)
        self.measure.currentIndexChanged.connect(self.look_changed)
        self.add(self.measure)
        self.fit = self._switch(self.tr("Fit"), self.tr("Let the colours span this text"))
        self.underlines = self._switch(
            "U̲", self.tr("Underline: the stronger the tint, the heavier the line")
        )
        self._add_progress()

    def _side(self, name: str) -> QToolButton:
        button = QToolButton(self)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        button.setIcon(icons.icon("down"))
        button.setIconSize(QSize(12, 12))
        button.setProperty("small", True)
        button.setMinimumHeight(3 * theme.GRID)
        button.setAccessibleName(name)
        menu = QMenu(button)
        menu.setToolTipsVisible(True)
        button.setMenu(menu)
        self.add(button)
        return button

    def _switch(self, title: str, tip: str) -> QToolButton:
        button = QToolButton(self)
        button.setText(title)
        button.setToolTip(tip)
        button.setAccessibleName(tip)
        button.setCheckable(True)
        button.setChecked(True)
        button.setProperty("small", True)
        button.setMinimumSize(4 * theme.GRID, 3 * theme.GRID)
        button.toggled.connect(self.look_changed)
        self.add(button)
        return button

    def _add_progress(self) -> None:
        self.progress = QProgressBar(self)
        self.progress.setFixedSize(PROGRESS_WIDTH, theme.GRID)
        self.progress.setTextVisible(False)
        self.progress.setAccessibleName(self.tr("Tokens scored"))
        self.add(self.progress)
        self.stop = self._button(self.toggled_scoring.emit)
        self.stop.setIconSize(QSize(16, 16))
        self.divergence = self._button(self.toggled_divergence.emit)
        self.divergence.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.show_progress(0, 0, is_scoring=False)
        self.show_divergence(is_possible=False, is_running=False, done=0, total=0)

    def _button(self, call: Callable[[], object]) -> QToolButton:
        button = QToolButton(self)
        button.setProperty("small", True)
        button.setMinimumSize(3 * theme.GRID, 3 * theme.GRID)
        button.clicked.connect(call)
        self.add(button)
        return button

    # -- showing ----------------------------------------------------------------------------

    @property
    def difference(self) -> Difference:
        return Difference(self.measure.currentData())

    def set_names(self, left: str, right: str, left_tip: str, right_tip: str) -> None:
        """What stands on both sides."""
        for button, name, tip in ((self.left, left, left_tip), (self.right, right, right_tip)):
            button.setText(short(name))
            button.setToolTip(plain_tip(tip or name))
            button.setAccessibleDescription(name)

    def show_progress(self, done: int, total: int, *, is_scoring: bool) -> None:
        """A bar and a stop button while scoring; a button to go on where it was stopped."""
        is_open = done < total
        self.progress.setVisible(is_scoring or is_open)
        show_progress(self.progress, done, total)
        self.progress.setToolTip(
            self.tr("{done} of {total} tokens of both sides scored").format(
                done=numbers.count(done), total=numbers.count(total)
            )
        )
        self.stop.setVisible(is_scoring or is_open)
        self.stop.setIcon(icons.icon("stop" if is_scoring else "run"))
        tip = self.tr("Stop scoring") if is_scoring else self.tr("Go on scoring")
        self.stop.setToolTip(tip)
        self.stop.setAccessibleName(tip)

    def show_divergence(
        self, *, is_possible: bool, is_running: bool, done: int, total: int
    ) -> None:
        """The button that finds the divergence, and ends it while it runs."""
        button = self.divergence
        button.setVisible(is_possible)
        button.setText(f"KL {done}/{total}" if is_running else self.tr("Find KL"))
        button.setIcon(icons.icon("stop" if is_running else "run"))
        tip = (
            self.tr("Stop; what was found stays")
            if is_running
            else self.tr(
                "Read the text token by token on both models and set the whole distributions "
                "against each other; 512 positions at a time, from the selected one on"
            )
        )
        button.setToolTip(tip)
        button.setAccessibleName(tip)
