"""The origin panel: prompt or weights, for every word of the answer, with the evidence."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import (
    QAbstractScrollArea,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSplitter,
    QStackedWidget,
    QTabWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from logitscope.gui import theme
from logitscope.gui.origin_case import Obstacle
from logitscope.gui.origin_style import LOOKS, ORDER, SIGNS, line_color
from logitscope.gui.originating import Originator
from logitscope.gui.panels import origin_words
from logitscope.gui.panels.origin_bytes import OriginBytes
from logitscope.gui.panels.origin_export import OriginExport
from logitscope.gui.panels.origin_free import OriginFree
from logitscope.gui.panels.origin_matrix import OriginMatrix
from logitscope.gui.panels.origin_overlay import overlay_of
from logitscope.gui.panels.origin_spans import OriginSpans
from logitscope.gui.panels.origin_texts import OriginTexts
from logitscope.gui.panels.origin_word import OriginWord
from logitscope.gui.session import Session
from logitscope.gui.throttle import Throttle
from logitscope.gui.widgets.card import popover
from logitscope.gui.widgets.eliding_label import ElidingLabel
from logitscope.gui.widgets.origin_legend import OriginLegend
from logitscope.gui.widgets.plain import plain, plain_tip
from logitscope.gui.widgets.stack_bar import Part, StackBar
from logitscope.gui.widgets.token_painter import CellStyle, Mark
from logitscope.gui.words import mark
from logitscope.origin_totals import totals
from logitscope.origin_types import OriginReport

FRAME_MS = 50
LEAST_PAGE = 48
"""Pixels in height of a page that is then scrolled."""
PATTERNS = {
    Mark.UNDERLINE: Qt.BrushStyle.SolidPattern,
    Mark.DASHED: Qt.BrushStyle.FDiagPattern,
    Mark.DOUBLE: Qt.BrushStyle.HorPattern,
    Mark.DOTTED: Qt.BrushStyle.Dense6Pattern,
    Mark.DASH_DOT: Qt.BrushStyle.VerPattern,
    Mark.NONE: Qt.BrushStyle.BDiagPattern,
}


class OriginPanel(QWidget):
    """Shows an ``Originator``; works while it is visible."""

    HELP = (
        mark("OriginPanel", "Origin"),
        mark(
            "OriginPanel",
            "Mark a part of the prompt as a source (Ctrl+M): every word of the answer is then "
            "scored with it, without it, and with an unrelated text in its place. "
            "Colour and underline say where a word comes from, and the stronger the colour, the "
            "more of the word’s probability disappears without the sources. "
            "Click a word for the evidence: what would stand there instead, and which sentence "
            "and which word of the sources it came from.",
        ),
    )

    overlay_changed = Signal(object)
    """How tokens of the text are to be marked: a function from position to CellStyle, or None."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.originator = Originator(session, self)
        self._make_widgets()
        self._lay_out()
        self.export = OriginExport(session, self.originator, self, matrix=False)
        self._connect()

    def _make_widgets(self) -> None:
        self.summary = ElidingLabel(self)
        self.summary.setAccessibleName(self.tr("Words and bits by origin"))
        self.working = ElidingLabel(self)
        self.working.setProperty("muted", True)
        self.stop = self._button(self.tr("Stop"), self.tr("Stop working this out"))
        self.lay = self._button(
            self.tr("Over the text"), self.tr("Mark the words of the text above in the same way")
        )
        self.lay.setCheckable(True)
        self.limits = self._button(
            self.tr("What this cannot say"), self.tr("The limits of the method, in plain words")
        )
        self.bar = StackBar(self)
        self.bar.setAccessibleName(self.tr("Share of the words by origin"))
        self.legend = OriginLegend(self)
        self.texts = OriginTexts(self)
        self.word, self.free, self.sizes = OriginWord(self), OriginFree(self), OriginBytes(self)
        self.spans = OriginSpans(self.originator, self)
        self.matrix = OriginMatrix(self._session, self.originator, self)
        self.tabs = QTabWidget(self)
        for title, page in (
            (self.tr("Word"), self.word),
            (self.tr("Spans"), self.spans),
            (self.tr("Without"), self.free),
            (self.tr("Matrix"), self.matrix),
            (self.tr("Bytes"), self.sizes),
        ):
            self.tabs.addTab(_scrolled(page), title)
        self.empty = plain(QLabel(self))
        self.empty.setWordWrap(True)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.empty.setProperty("muted", True)
        self.against_bos = QPushButton(self.tr("Compare with no prompt at all"), self)
        self.against_bos.setToolTip(
            self.tr("Take the whole prompt as the source, against the beginning of text alone")
        )
        self.stack = QStackedWidget(self)

    def _button(self, title: str, tip: str) -> QToolButton:
        button = QToolButton(self)
        button.setText(title)
        button.setToolTip(tip)
        button.setProperty("small", True)
        button.setMinimumHeight(3 * theme.GRID)
        return button

    def _lay_out(self) -> None:
        page = QWidget()
        middle = QVBoxLayout(page)
        middle.addStretch(1)
        middle.addWidget(self.empty)
        middle.addWidget(self.against_bos, 0, Qt.AlignmentFlag.AlignHCenter)
        middle.addStretch(1)
        body = QSplitter(Qt.Orientation.Horizontal)
        body.addWidget(self.texts)
        body.addWidget(self.tabs)
        body.setSizes([100, 110])
        self.stack.addWidget(page)
        self.stack.addWidget(body)
        top = QHBoxLayout()
        top.setSpacing(theme.GRID)
        top.addWidget(self.summary, 1)
        for widget in (self.working, self.stop, self.lay, self.limits):
            top.addWidget(widget)
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.GRID, 0, theme.GRID, theme.GRID // 2)
        column.setSpacing(theme.GRID // 2)
        column.addLayout(top)
        column.addWidget(self.bar)
        column.addWidget(self.stack, 1)
        column.addWidget(self.legend)

    def _connect(self) -> None:
        session, originator = self._session, self.originator
        self._frame = Throttle(FRAME_MS, self)
        self._frame.triggered.connect(self._refresh)
        for signal in (
            originator.changed,
            originator.state_changed,
            session.path_changed,
            session.model_changed,
            theme.notifier().changed,
        ):
            signal.connect(self._frame.throttle)
        originator.progressed.connect(self._show_progress)
        self.texts.answer_selected.connect(self._select_token)
        self.texts.prompt.position_selected.connect(self._select_in_prompt)
        for view in (self.texts.prompt, self.texts.answer, self.free.given, self.free.free):
            view.menu_requested.connect(lambda _token, _where: self._show_menu())
        self.matrix.word_selected.connect(originator.select)
        self.spans.span_selected.connect(self._show_span)
        self.stop.clicked.connect(self._toggle_work)
        self.lay.toggled.connect(self._lay_over)
        self.limits.clicked.connect(self.show_limits)
        self.against_bos.clicked.connect(originator.compare_with_bos)

    # -- events -----------------------------------------------------------------------------

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.originator.set_active(True)
        self._refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.originator.set_active(False)

    def shut_down(self) -> None:
        """The window closes."""
        self.originator.set_active(False)

    # -- showing ----------------------------------------------------------------------------

    def flush(self) -> None:
        """Show at once what would wait for the next frame."""
        self._refresh()

    def _refresh(self) -> None:
        if not self.isVisible():
            return
        originator, report = self.originator, self.originator.report
        is_shown = report is not None and originator.obstacle in (None, Obstacle.READING)
        self.stack.setCurrentIndex(int(is_shown))
        for widget in (self.bar, self.legend, self.summary):
            widget.setVisible(is_shown)
        self._show_state()
        if not is_shown or report is None:
            self._show_obstacle(originator.obstacle)
        else:
            self._show_report(report)
        if self.lay.isChecked():
            self._lay_over(True)

    def _show_obstacle(self, obstacle: Obstacle | None) -> None:
        self.against_bos.setVisible(obstacle is Obstacle.NO_SOURCE)
        if obstacle is not None:
            self.empty.setText(origin_words.obstacle_text(obstacle))
        elif self.originator.is_stopped:
            self.empty.setText(self.tr("Stopped: press Go on to work it out."))
        elif self._session.is_running:
            self.empty.setText(self.tr("The answer is being generated; its origin follows."))
        else:
            self.empty.setText(self.tr("Reading the answer with and without the sources …"))

    def _show_report(self, report: OriginReport) -> None:
        session, originator = self._session, self.originator
        vocabulary, number = session.text_vocabulary, originator.word
        word = None if number is None else report.words[number]
        answer = session.document.tail_ids
        self.texts.show_report(report, answer, vocabulary, number)
        self.word.show_word(report, word, vocabulary)
        self.spans.show_word(report, number, vocabulary)
        self.free.show_answers(
            answer, originator.free_answer, vocabulary, is_whole=originator.free_is_whole
        )
        self.matrix.show_report(report, number, vocabulary)
        self.sizes.show_sizes(
            session.model,
            session.state.blocks,
            originator.placement,
            session.prompt_length,
            len(answer),
        )
        self._show_totals(report)

    def _show_totals(self, report: OriginReport) -> None:
        found = {total.label: total for total in totals(report)}
        text = origin_words.totals_text(tuple(found.values()))
        if self.originator.is_against_bos:
            text = self.tr("Against no prompt at all: {text}").format(text=text)
        self.summary.setFont(theme.number_font())
        self.summary.setText(text)
        self.summary.setToolTip(plain_tip(text))
        labels = [label for label in ORDER if label in found]
        self.bar.set_parts(
            tuple(
                Part(
                    found[label].words,
                    line_color(label),
                    PATTERNS[LOOKS[label].mark],
                    origin_words.part_tip(found[label]),
                )
                for label in labels
            )
        )
        flags = {flag for word in report.words for flag in word.flags}
        self.legend.set_entries((*labels, *(flag for flag in SIGNS if flag in flags)))

    def _show_state(self) -> None:
        originator = self.originator
        task = originator.task
        self.working.setText("" if task is None else origin_words.task_text(task))
        self.stop.setVisible(originator.is_working or originator.is_stopped)
        self.stop.setText(self.tr("Stop") if originator.is_working else self.tr("Go on"))

    def _show_progress(self, done: int, total: int) -> None:
        task = self.originator.task
        if task is not None and total:
            self.working.setText(f"{origin_words.task_text(task)} {done} / {total}")

    def _show_span(self, span: int) -> None:
        report = self.originator.report
        if report is not None and span < len(report.case.sources):
            self.texts.prompt.scroll_to(report.case.sources[span][0])

    # -- intents ----------------------------------------------------------------------------

    def _select_token(self, token: int) -> None:
        self._session.select(self._session.prompt_length + token)

    def _select_in_prompt(self, token: int | None) -> None:
        self.texts.prompt.set_selected_position(None)
        if token is not None:
            self._session.select(token)

    def _toggle_work(self) -> None:
        if self.originator.is_working:
            self.originator.stop()
        else:
            self.originator.resume()

    def _lay_over(self, wanted: bool) -> None:
        overlay: Callable[[int], CellStyle | None] | None = None
        report = self.originator.report
        if wanted and report is not None:
            overlay = overlay_of(report)
        self.overlay_changed.emit(overlay)

    def show_limits(self) -> None:
        """What the panel cannot say."""
        where = self.limits.mapToGlobal(self.limits.rect().bottomLeft())
        popover(self.limits, self.limits.text(), origin_words.limits_html()).popup(where)

    def _show_menu(self) -> None:
        self.export.show_at(self.mapFromGlobal(self.cursor().pos()))


def _scrolled(page: QWidget) -> QWidget:
    """A page that may get less room than it needs."""
    if isinstance(page, QAbstractScrollArea):
        return page
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setWidget(page)
    area.setMinimumHeight(LEAST_PAGE)
    return area
