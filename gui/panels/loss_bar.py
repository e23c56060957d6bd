"""The controls of the loss panel: which text, which measure, how it is marked."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QLabel,
    QProgressBar,
    QSpinBox,
    QToolButton,
    QWidget,
)

from logitscope.gui import icons, theme
from logitscope.gui.panels.loss_words import TIPS, measure_name
from logitscope.gui.widgets import numbers
from logitscope.gui.widgets.eliding_label import ElidingLabel
from logitscope.gui.widgets.flow_row import FlowRow
from logitscope.gui.widgets.frame_progress import show_progress
from logitscope.gui.widgets.plain import plain, set_tip
from logitscope.gui.widgets.slider_field import make_plain
from logitscope.gui.words import translated
from logitscope.heat import Measure

SCREEN, OPENED, OPEN, PASTE = "screen", "opened", "open", "paste"
NAME_LIMIT = 24
PROGRESS_WIDTH = 96
LEAST_NOTE = 16 * theme.GRID


class LossBar(FlowRow):
    """A row of controls, two where there is no room; it knows no session."""

    source_chosen = Signal(bool)
    """True: the opened text; False: the one on screen."""
    open_wanted = Signal()
    paste_wanted = Signal()
    look_changed = Signal()
    """The measure, the scale or a mark is another."""
    toggled_scoring = Signal()
    jump_wanted = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.source = QComboBox(self)
        self.source.setAccessibleName(self.tr("Text that is scored"))
        self.source.setToolTip(self.tr("Which text is scored: the one on screen, or another"))
        self.source.activated.connect(self._choose_source)
        self.measure = QComboBox(self)
        self.measure.setAccessibleName(self.tr("What the colours show"))
        for place, measure in enumerate(Measure):
            self.measure.addItem(measure_name(measure), measure)
            tip = translated("LossPanel", TIPS[measure])
            self.measure.setItemData(place, tip, Qt.ItemDataRole.ToolTipRole)
        self.measure.currentIndexChanged.connect(self.look_changed)
        for box in (self.source, self.measure):
            self.add(box)
        self._add_switches()
        self._add_progress()
        self.set_opened("")

    def _add_switches(self) -> None:
        self.fit = self._switch(
            self.tr("Fit"), self.tr("Let the colours span this text; else all texts compare")
        )
        self.underlines = self._switch(
            "U̲", self.tr("Underline: the stronger the tint, the heavier the line")
        )
        self.number_row = self._switch("1.2", self.tr("Write the number below each token"))
        self.entropy = self._switch("H", self.tr("Draw the entropy into the curve, dotted"))
        self.previous = self._button(
            "previous", self.tr("Previous surprising token (P)"), lambda: self.jump_wanted.emit(-1)
        )
        self.next = self._button(
            "next",
            self.tr("Next surprising token (N)"),
            lambda: self.jump_wanted.emit(1),
            with_last=True,
        )

    def _add_progress(self) -> None:
        self.progress = QProgressBar(self)
        self.progress.setFixedWidth(PROGRESS_WIDTH)
        self.progress.setTextVisible(False)
        self.progress.setFixedHeight(theme.GRID)
        self.progress.setAccessibleName(self.tr("Tokens scored"))
        self.stop = self._button("stop", "", self.toggled_scoring.emit)
        self.add(self.progress)
        self.show_progress(0, 0, is_scoring=False)

    def _switch(self, title: str, tip: str) -> QToolButton:
        button = QToolButton(self)
        button.setText(title)
        button.setToolTip(tip)
        button.setAccessibleName(tip)
        button.setCheckable(True)
        button.setProperty("small", True)
        button.setMinimumSize(4 * theme.GRID, 3 * theme.GRID)
        button.toggled.connect(self.look_changed)
        self.add(button)
        return button

    def _button(self, icon: str, tip: str, call: object, *, with_last: bool = False) -> QToolButton:
        button = QToolButton(self)
        button.setIcon(icons.icon(icon))
        button.setIconSize(QSize(16, 16))
        button.setProperty("small", True)
        button.setMinimumSize(3 * theme.GRID, 3 * theme.GRID)
        button.setToolTip(tip)
        button.setAccessibleName(tip)
        button.clicked.connect(call)
        self.add(button, with_last=with_last)
        return button

    # -- sources ----------------------------------------------------------------------------

    def set_opened(self, name: str) -> None:
        """Name of the opened text, which is then chosen; "" for none: then the screen's is."""
        self.source.clear()
        self.source.addItem(self.tr("Text on screen"), SCREEN)
        if name:
            short = name if len(name) <= NAME_LIMIT else name[: NAME_LIMIT - 1] + "…"
            self.source.addItem(short, OPENED)
            self.source.setCurrentIndex(1)
        self.source.insertSeparator(self.source.count())
        self.source.addItem(self.tr("Open text …"), OPEN)
        self.source.addItem(self.tr("Paste text"), PASTE)
        self._source_index = self.source.currentIndex()

    def _choose_source(self, index: int) -> None:
        kind = self.source.itemData(index)
        if kind in (OPEN, PASTE):
            self.source.setCurrentIndex(self._source_index)
            (self.open_wanted if kind == OPEN else self.paste_wanted).emit()
        else:
            self._source_index = index
            self.source_chosen.emit(kind == OPENED)

    # -- progress ---------------------------------------------------------------------------

    def show_progress(self, done: int, total: int, *, is_scoring: bool) -> None:
        """A bar with a stop button while scoring; a button to go on where it was stopped."""
        is_open = done < total
        self.progress.setVisible(is_scoring or is_open)
        show_progress(self.progress, done, total)
        words = self.tr("{done} of {total} tokens scored").format(
            done=numbers.count(done), total=numbers.count(total)
        )
        set_tip(self.progress, words)
        self.stop.setVisible(is_scoring or is_open)
        self.stop.setIcon(icons.icon("stop" if is_scoring else "run"))
        tip = self.tr("Stop scoring") if is_scoring else self.tr("Go on scoring")
        set_tip(self.stop, tip)
        self.stop.setAccessibleName(tip)


class WindowsRow(FlowRow):
    """How a text that is longer than the context is read; hidden for shorter ones."""

    chosen = Signal(int, int)
    """Size and stride."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.size_box = _spin(self.tr("Tokens of a window"))
        self.stride_box = _spin(self.tr("Tokens from window to window"))
        self.note = ElidingLabel()
        self.note.setProperty("muted", True)
        lead = ElidingLabel()
        lead.setText(self.tr("Longer than the context: windows of"))
        every, unit = plain(QLabel(self.tr("every"))), plain(QLabel(self.tr("tokens")))
        for widget in (lead, self.size_box, every, self.stride_box, unit, self.note):
            widget.setParent(self)
            self.add(widget, least=LEAST_NOTE if widget is self.note else None)
        self.size_box.valueChanged.connect(self._choose)
        self.stride_box.valueChanged.connect(self._choose)

    def show_windows(self, context: int, size: int, stride: int) -> None:
        """Show what is in force, without telling anyone."""
        for box, limits, value in (
            (self.size_box, (2, max(context, 2)), size),
            (self.stride_box, (1, max(size // 2, 1)), stride),
        ):
            box.blockSignals(True)
            box.setRange(*limits)
            box.setValue(value)
            box.blockSignals(False)
        words = self.tr("– every token is scored with at least {n} before it, or all there are")
        self.note.setText(words.format(n=numbers.count(size - stride)))
        self.note.setToolTip(self.note.text())

    def _choose(self) -> None:
        self.chosen.emit(self.size_box.value(), self.stride_box.value())


def _spin(name: str) -> QSpinBox:
    box = QSpinBox()
    make_plain(box)
    box.setKeyboardTracking(False)
    box.setAccessibleName(name)
    box.setToolTip(name)
    return box
