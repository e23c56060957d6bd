"""The line above the texts: totals, what is being worked out, and the buttons."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QVBoxLayout, QWidget

from logitscope.gui import theme
from logitscope.gui.origin_style import LOOKS, ORDER, line_color
from logitscope.gui.originating import Originator
from logitscope.gui.panels import origin_words
from logitscope.gui.widgets.card import popover
from logitscope.gui.widgets.eliding_label import ElidingLabel
from logitscope.gui.widgets.plain import plain_tip
from logitscope.gui.widgets.stack_bar import Part, StackBar
from logitscope.gui.widgets.token_painter import Mark
from logitscope.gui.widgets.two_line_label import TwoLineLabel
from logitscope.origin_totals import totals
from logitscope.origin_types import OriginReport

PATTERNS = {
    Mark.UNDERLINE: Qt.BrushStyle.SolidPattern,
    Mark.DASHED: Qt.BrushStyle.FDiagPattern,
    Mark.DOUBLE: Qt.BrushStyle.HorPattern,
    Mark.DOTTED: Qt.BrushStyle.Dense6Pattern,
    Mark.DASH_DOT: Qt.BrushStyle.VerPattern,
    Mark.NONE: Qt.BrushStyle.BDiagPattern,
}


class OriginHead(QWidget):
    """How many words came from where."""

    def __init__(self, originator: Originator, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._originator = originator
        self.summary = TwoLineLabel(self)
        self.summary.setAccessibleName(self.tr("Words and bits by origin"))
        self.working = ElidingLabel(self)
        self.working.setProperty("muted", True)
        self.stop = self._button("", self.tr("Stop working this out, or go on"))
        self.lay = self._button(
            self.tr("Over the text"), self.tr("Mark the words of the text above in the same way")
        )
        self.lay.setCheckable(True)
        self.calibrate = self._button(
            self.tr("Calibrate"),
            self.tr(
                "Measure with twenty irrelevant texts how large a difference this model makes of "
                "nothing, and raise the threshold to it"
            ),
        )
        self.limits = self._button(
            self.tr("What this cannot say"), self.tr("The limits of the method, in plain words")
        )
        self.bar = StackBar(self)
        self.bar.setAccessibleName(self.tr("Share of the words by origin"))
        self._lay_out()
        self.stop.clicked.connect(self._toggle_work)
        self.limits.clicked.connect(self.show_limits)
        self.calibrate.clicked.connect(originator.calibrate)
        originator.progressed.connect(self._show_progress)

    def _button(self, title: str, tip: str) -> QToolButton:
        button = QToolButton(self)
        button.setText(title)
        button.setToolTip(tip)
        button.setProperty("small", True)
        button.setMinimumHeight(3 * theme.GRID)
        return button

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        top.setSpacing(theme.GRID)
        top.addWidget(self.summary, 1)
        for widget in (self.working, self.stop, self.lay, self.calibrate, self.limits):
            top.addWidget(widget)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.GRID // 2)
        column.addLayout(top)
        column.addWidget(self.bar)

    # -- showing ----------------------------------------------------------------------------

    def show_report(self, report: OriginReport | None) -> None:
        """Show the totals of a report; None: there is none."""
        originator = self._originator
        task = originator.task
        self.working.setText("" if task is None else origin_words.task_text(task))
        self.stop.setVisible(originator.is_working or originator.is_stopped)
        self.stop.setText(self.tr("Stop") if originator.is_working else self.tr("Go on"))
        self.bar.setVisible(report is not None)
        for button in (self.lay, self.calibrate):
            button.setVisible(report is not None)
        self.calibrate.setEnabled(not originator.is_calibrated)
        if report is None:
            self.summary.setText("")
        else:
            self._show_totals(report)

    def _show_totals(self, report: OriginReport) -> None:
        found = {total.label: total for total in totals(report)}
        text = origin_words.totals_text(tuple(found.values()))
        if self._originator.is_against_bos:
            text = self.tr("Against no prompt at all: {text}").format(text=text)
        self.summary.setFont(theme.number_font())
        self.summary.setText(text)
        self.summary.setToolTip(plain_tip(text))
        self.bar.set_parts(
            tuple(
                Part(
                    found[label].words,
                    line_color(label),
                    PATTERNS[LOOKS[label].mark],
                    origin_words.part_tip(found[label]),
                )
                for label in ORDER
                if label in found
            )
        )

    def _show_progress(self, done: int, total: int) -> None:
        task = self._originator.task
        if task is not None and total:
            self.working.setText(f"{origin_words.task_text(task)} {done} / {total}")

    # -- intents ----------------------------------------------------------------------------

    def _toggle_work(self) -> None:
        if self._originator.is_working:
            self._originator.stop()
        else:
            self._originator.resume()

    def show_limits(self) -> None:
        """What the panel cannot say."""
        where = self.limits.mapToGlobal(self.limits.rect().bottomLeft())
        popover(self.limits, self.limits.text(), origin_words.limits_html()).popup(where)
