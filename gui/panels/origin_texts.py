"""Prompt above, answer below, both marked; a line from the selected word to where it came from."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QPointF, Qt, Signal
from PySide6.QtGui import QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSplitter, QVBoxLayout, QWidget

from logitscope.gui import colors, theme
from logitscope.gui.origin_style import (
    evidence_tint,
    line_color,
    source_tint,
    source_word_style,
    style_of,
)
from logitscope.gui.panels.origin_words import word_tip
from logitscope.gui.widgets.plain import plain_tip
from logitscope.gui.widgets.token_painter import CellStyle
from logitscope.gui.widgets.token_view import TokenView
from logitscope.origin_types import Label, OriginReport, Range, WordOrigin
from logitscope.vocabulary import Vocabulary

LEAST_WIDTH, LEAST_HEIGHT = 96, 32


class OriginTexts(QWidget):
    """Two token views; what is chosen in the answer is told as a token of it."""

    answer_selected = Signal(int)
    """A token of the answer."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._report: OriginReport | None = None
        self._word: int | None = None
        self._word_of: dict[int, int] = {}
        self._evidence: dict[int, float] = {}
        """Tokens of the prompt in a span, with its evidence in nats."""
        self._span_of: dict[int, int] = {}
        self._top_word: Range = (0, 0)
        self.prompt, self.answer = TokenView(self), TokenView(self)
        self.prompt.setAccessibleName(self.tr("Prompt with its sources"))
        self.answer.setAccessibleName(self.tr("Answer, each word marked by its origin"))
        self.prompt.set_style(self._prompt_style)
        self.answer.set_style(self._answer_style)
        self.answer.set_tooltip(self._answer_tip)
        splitter = QSplitter(Qt.Orientation.Vertical, self)
        splitter.addWidget(self.prompt)
        splitter.addWidget(self.answer)
        splitter.setSizes([100, 100])
        for view in (self.prompt, self.answer):
            view.setMinimumSize(LEAST_WIDTH, LEAST_HEIGHT)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(splitter)
        self.lines = Connection(self)
        self.answer.position_selected.connect(self._tell)
        for view in (self.prompt, self.answer):
            view.verticalScrollBar().valueChanged.connect(self.lines.update)
        splitter.splitterMoved.connect(self.lines.update)

    # -- showing ----------------------------------------------------------------------------

    def show_report(
        self,
        report: OriginReport | None,
        answer_ids: tuple[int, ...],
        vocabulary: Vocabulary | None,
        word: int | None,
    ) -> None:
        """``answer_ids`` may go on behind the report's."""
        self._report, self._word = report, word
        self._word_of = {
            token: number
            for number, each in enumerate(() if report is None else report.words)
            for token in range(*each.tokens)
        }
        self._read_sources()
        prompt_ids = () if report is None else report.case.prompt_ids
        self.prompt.set_tokens(prompt_ids, vocabulary)
        self.answer.set_tokens(answer_ids, vocabulary)
        self._show_word()
        for view in (self.prompt, self.answer):
            view.viewport().update()
        self.lines.update()

    @property
    def word(self) -> WordOrigin | None:
        report = self._report
        if report is None or self._word is None or self._word >= len(report.words):
            return None
        return report.words[self._word]

    def _read_sources(self) -> None:
        report, word = self._report, self.word
        self._evidence, self._span_of, self._top_word = {}, {}, (0, 0)
        if report is None:
            return
        found = {} if word is None else {each.span: each for each in word.sources or ()}
        for number, span in enumerate(report.case.sources):
            self._span_of.update(dict.fromkeys(range(*span), number))
            if number in found:
                self._evidence.update(dict.fromkeys(range(*span), found[number].evidence))
        self._top_word = self.source_word or (0, 0)

    @property
    def source_word(self) -> Range | None:
        """Tokens of the prompt that the selected word came from."""
        word = self.word
        if word is None:
            return None
        if word.copied_from is not None:
            return word.copied_from
        told = [each for each in word.sources or () if each.word is not None]
        best = max(told, key=lambda each: each.evidence, default=None)
        is_told = word.label in (Label.DERIVED, Label.COPIED)
        return best.word if best is not None and is_told else None

    def _show_word(self) -> None:
        word = self.word
        if word is not None and word.tokens[1] <= len(self.answer.ids):
            blocked = self.answer.blockSignals(True)
            self.answer.choose(*word.tokens)
            self.answer.blockSignals(blocked)
            self.answer.scroll_to(word.tokens[0])
        place = self.source_word
        if place is not None and place[1] <= len(self.prompt.ids):
            self.prompt.scroll_to(place[0])

    # -- hooks ------------------------------------------------------------------------------

    def _prompt_style(self, token: int) -> CellStyle:
        vocabulary = self.prompt.vocabulary
        is_chip = vocabulary is not None and vocabulary.is_special(self.prompt.ids[token])
        span = self._span_of.get(token)
        if span is None:
            return CellStyle(is_chip=is_chip, text=theme.palette().muted)
        word = self.word
        if word is not None and self._top_word[0] <= token < self._top_word[1]:
            return source_word_style(word.label)
        evidence = self._evidence.get(token)
        ground = source_tint(span) if evidence is None else evidence_tint(evidence)
        return CellStyle(ground, colors.readable(theme.palette().text, ground))

    def _answer_style(self, token: int) -> CellStyle:
        number, report = self._word_of.get(token), self._report
        if number is None or report is None:
            return CellStyle()
        word = report.words[number]
        return style_of(word, is_last=token + 1 == word.tokens[1])

    def _answer_tip(self, token: int) -> str:
        number, report = self._word_of.get(token), self._report
        if number is None or report is None:
            return ""
        return plain_tip(word_tip(report.words[number]))

    def _tell(self, token: int | None) -> None:
        if token is not None:
            self.answer_selected.emit(token)


class Connection(QWidget):
    """The line between the two views, over them and deaf to the mouse."""

    def __init__(self, texts: OriginTexts) -> None:
        super().__init__(texts)
        self._texts = texts
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAttribute(Qt.WidgetAttribute.WA_NoSystemBackground)
        texts.installEventFilter(self)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Show):
            self.resize(self._texts.size())
            self.raise_()
        return False

    def ends(self) -> tuple[QPointF, QPointF] | None:
        """(at the source, at the word), where there is a line and both are in view."""
        word, place = self._texts.word, self._texts.source_word
        if word is None or place is None:
            return None
        above = self._point(self._texts.prompt, place, lambda rect: rect.bottom() - 4)
        below = self._point(self._texts.answer, word.tokens, lambda rect: rect.top() + 2)
        return None if above is None or below is None else (above, below)

    def _point(
        self, view: TokenView, tokens: Range, height_of: Callable[..., float]
    ) -> QPointF | None:
        if tokens[1] > len(view.ids):
            return None
        first, last = view.rect_of(tokens[0]), view.rect_of(tokens[1] - 1)
        if not view.lines_rect.intersects(first):
            return None
        right = last.right() if last.top() == first.top() else first.right()
        middle = QPointF((first.left() + right) / 2, height_of(first))
        return QPointF(view.viewport().mapTo(self._texts, middle))

    def paintEvent(self, _event: QPaintEvent) -> None:
        ends, word = self.ends(), self._texts.word
        if ends is None or word is None:
            return
        above, below = ends
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        color = line_color(word.label)
        is_copied = word.label is Label.COPIED
        style = Qt.PenStyle.SolidLine if is_copied else Qt.PenStyle.DashLine
        painter.setPen(QPen(color, 2.0, style, Qt.PenCapStyle.RoundCap))
        middle = (above.y() + below.y()) / 2
        path = QPainterPath(above)
        path.cubicTo(QPointF(above.x(), middle), QPointF(below.x(), middle), below)
        painter.drawPath(path)
        painter.setBrush(color)
        for end in ends:
            painter.drawEllipse(end, 2.5, 2.5)
        painter.end()
