"""The origin panel: prompt or weights, for every word of the answer, with the evidence."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import (
    QAbstractScrollArea,
    QFrame,
    QLabel,
    QPushButton,
    QScrollArea,
    QSplitter,
    QStackedWidget,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from logitscope.gui import theme
from logitscope.gui.origin_case import Obstacle
from logitscope.gui.origin_style import ORDER, SIGNS
from logitscope.gui.originating import Originator
from logitscope.gui.panels import origin_words
from logitscope.gui.panels.origin_bytes import OriginBytes
from logitscope.gui.panels.origin_export import OriginExport
from logitscope.gui.panels.origin_free import OriginFree
from logitscope.gui.panels.origin_gradients import OriginGradients
from logitscope.gui.panels.origin_head import OriginHead
from logitscope.gui.panels.origin_matrix import OriginMatrix
from logitscope.gui.panels.origin_overlay import overlay_of
from logitscope.gui.panels.origin_spans import OriginSpans
from logitscope.gui.panels.origin_texts import OriginTexts
from logitscope.gui.panels.origin_word import OriginWord
from logitscope.gui.session import Session
from logitscope.gui.throttle import Throttle
from logitscope.gui.widgets.origin_legend import OriginLegend
from logitscope.gui.widgets.plain import plain
from logitscope.gui.widgets.token_painter import CellStyle
from logitscope.gui.words import mark
from logitscope.origin_types import OriginReport

FRAME_MS = 50
LEAST_PAGE = 48
"""Pixels in height of a page that is then scrolled."""


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
        self._laid: OriginReport | None = None
        """What lies over the text."""
        self._make_widgets()
        self._lay_out()
        self.export = OriginExport(session, self.originator, self, matrix=False)
        self._connect()

    def _make_widgets(self) -> None:
        self.head = OriginHead(self.originator, self)
        self.legend = OriginLegend(self)
        self.texts = OriginTexts(self)
        self.word, self.free, self.sizes = OriginWord(self), OriginFree(self), OriginBytes(self)
        self.spans = OriginSpans(self.originator, self)
        self.matrix = OriginMatrix(self._session, self.originator, self)
        self.gradients = OriginGradients(self.originator, self)
        self.tabs = QTabWidget(self)
        for title, page in (
            (self.tr("Word"), self.word),
            (self.tr("Spans"), self.spans),
            (self.tr("Without"), self.free),
            (self.tr("Matrix"), self.matrix),
            (self.tr("Bytes"), self.sizes),
            (self.tr("Gradients"), self.gradients),
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
        self.stack.addWidget(_scrolled(page))
        self.stack.addWidget(body)
        column = QVBoxLayout(self)
        column.setContentsMargins(theme.GRID, theme.GRID // 2, theme.GRID, theme.GRID // 2)
        column.setSpacing(theme.GRID // 2)
        column.addWidget(self.head)
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
            session.reading.changed,
        ):
            signal.connect(self._frame.throttle)
        theme.notifier().changed.connect(self._restyle)
        self.texts.answer_selected.connect(self._select_token)
        self.texts.prompt.position_selected.connect(self._select_in_prompt)
        for view in (self.texts.prompt, self.texts.answer, self.free.given, self.free.free):
            view.menu_requested.connect(lambda _token, _where: self._show_menu())
        self.matrix.word_selected.connect(originator.select)
        self.spans.span_selected.connect(self._show_span)
        self.head.lay.toggled.connect(self._lay_over)
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
        is_followed = originator.obstacle is Obstacle.READING and self._session.is_reading
        is_shown = report is not None and (originator.obstacle is None or is_followed)
        self.stack.setCurrentIndex(int(is_shown))
        self.legend.setVisible(is_shown)
        self.head.show_report(report if is_shown else None)
        if not is_shown or report is None:
            self._show_obstacle(originator.obstacle)
        else:
            self._show_report(report)
        if self.head.lay.isChecked() and report is not self._laid:
            self._lay_over(True)

    def _restyle(self) -> None:
        """What lies over the text has the old colours."""
        self._laid = None
        self._frame.throttle()

    def _show_obstacle(self, obstacle: Obstacle | None) -> None:
        self.against_bos.setVisible(obstacle is Obstacle.NO_SOURCE)
        if obstacle is not None:
            self.empty.setText(origin_words.obstacle_text(obstacle, self._session.reading))
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
        if session.is_running:
            # The model needs the time: what is known is shown anew when the answer is complete.
            self.texts.answer.set_tokens(answer, vocabulary, repaint=False)
            return
        self.texts.show_report(report, answer, vocabulary, number)
        self.word.show_word(report, word, vocabulary)
        self.spans.show_word(report, number, vocabulary)
        self.free.show_answers(
            answer, originator.free_answer, vocabulary, is_whole=originator.free_is_whole
        )
        self.matrix.show_report(report, number, vocabulary)
        self.gradients.show_opinion(originator.opinion, report, number, vocabulary)
        can_ask = session.model is not None and session.model.capabilities.gradients
        self.tabs.setTabVisible(self.tabs.count() - 1, can_ask)
        self.sizes.show_sizes(
            session.model,
            session.state.blocks,
            originator.placement,
            session.prompt_length,
            len(answer),
        )
        labels = {word.label for word in report.words}
        flags = {flag for word in report.words for flag in word.flags}
        self.legend.set_entries(
            (*(one for one in ORDER if one in labels), *(one for one in SIGNS if one in flags))
        )

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

    def _lay_over(self, wanted: bool) -> None:
        overlay: Callable[[int], CellStyle | None] | None = None
        report = self._laid = self.originator.report
        if wanted and report is not None:
            overlay = overlay_of(report)
        self.overlay_changed.emit(overlay)

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
