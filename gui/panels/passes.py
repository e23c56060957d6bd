"""The passes panel: prefill and decode made visible, and the two kinds of number."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QLabel,
    QScrollArea,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from logitscope.backends.base import ModelInfo
from logitscope.gui import theme
from logitscope.gui.export import Table
from logitscope.gui.export_menu import ExportMenu, TableMaker
from logitscope.gui.session import Session
from logitscope.gui.throttle import Throttle
from logitscope.gui.widgets import numbers
from logitscope.gui.widgets.pass_strip import PassStrip
from logitscope.gui.widgets.plain import plain, rich
from logitscope.passes import Pass, PassKind

REFRESH_MS = 1000
"""Sentences that change faster cannot be read, and laying them out takes 10 ms."""
NARROW = 640
"""Pixels below which the three texts stand one below the other."""
NARROWEST = 400
"""Pixels below which prefill and decode stand side by side in the table, each figure in a line."""
STRIP_HEIGHT = 96


class PassesPanel(QWidget):
    """Shows ``session.passes`` and what they read: weights, and keys and values."""

    HELP = (
        "Passes",
        "Each bar is one pass through the model: its length is the number of tokens that went "
        "through, its height the time, both on logarithmic scales. "
        "A prefill (hatched, with its number of tokens) reads the prompt many tokens at once; a "
        "decode (solid) reads one token and takes the keys and values of all others from the "
        "cache. "
        "Scoring a text is not counted here.",
    )

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.empty = plain(QLabel())
        self.strip = PassStrip()
        self.detail = plain(QLabel())
        self.totals = rich(QLabel())
        self.weights = rich(QLabel())
        self.activations = rich(QLabel())
        self._lay_out()
        self._set_fonts()
        self.menu = ExportMenu(session, self, "passes", self._table)
        self._follow()

    def _lay_out(self) -> None:
        self.strip.setAccessibleName(self.tr("Passes through the model, newest on the right"))
        self.strip.tooltip_of = self._words_of
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        for label in (self.empty, self.detail, self.weights, self.activations):
            label.setWordWrap(True)
        for label in (self.detail, self.totals, self.weights, self.activations):
            label.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
            label.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)
        self.strip.setMinimumHeight(STRIP_HEIGHT)
        self._texts = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._texts.setSpacing(2 * theme.GRID)
        self._texts.addWidget(self.totals)
        for label in (self.weights, self.activations):
            self._texts.addWidget(label, 1)
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(theme.GRID)
        column.addWidget(self.strip, 1)
        column.addWidget(self.detail)
        column.addLayout(self._texts)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidget(body)
        self.stack = QStackedWidget()
        self.stack.addWidget(self.empty)
        self.stack.addWidget(area)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(theme.GRID, theme.GRID, theme.GRID, theme.GRID)
        layout.addWidget(self.stack)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        direction = QBoxLayout.Direction
        narrow = event.size().width() < NARROW
        self._texts.setDirection(direction.TopToBottom if narrow else direction.LeftToRight)
        if (event.size().width() < NARROWEST) != (event.oldSize().width() < NARROWEST):
            self._refresh()

    def _set_fonts(self) -> None:
        for label in (self.detail, self.totals, self.weights, self.activations):
            label.setFont(theme.number_font())

    def _follow(self) -> None:
        session = self._session
        self._throttle = Throttle(REFRESH_MS, self)
        self._throttle.triggered.connect(self._refresh)
        for signal in (
            session.passes.changed,
            session.model_changed,
            session.path_changed,
            session.reading.changed,
        ):
            signal.connect(self._throttle.throttle)
        self.strip.current_changed.connect(self._show_detail)
        theme.notifier().changed.connect(self._set_fonts)

    # -- showing ----------------------------------------------------------------------------

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._refresh()

    def _refresh(self) -> None:
        if not self.isVisible():
            return
        log, model = self._session.passes.log, self._session.model
        self.strip.set_passes(log.passes)
        if model is None or log.last is None:
            self.empty.setText(self._empty_text())
            self.stack.setCurrentIndex(0)
            return
        self._show_detail()
        self.totals.setText(self._totals_text())
        self.weights.setText(self._weights_text(model))
        self.activations.setText(self._activations_text(model))
        self.stack.setCurrentIndex(1)

    def _empty_text(self) -> str:
        nothing = self.tr("Nothing went through the model yet: type a prompt, then press Step.")
        said = self._session.reading.sentence(
            no_model=self.tr("Open a model to see what goes through it, and what it costs."),
            empty=nothing,
        )
        return said or nothing

    def _show_detail(self) -> None:
        one = self.strip.current or self._session.passes.log.last
        self.detail.setText("" if one is None else self._words_of(one))

    def _words_of(self, one: Pass) -> str:
        if one.kind is PassKind.DECODE:
            words = self.tr("Pass {n}, decode: 1 token read, {cached} from the KV cache, {time}.")
        else:
            words = self.tr(
                "Pass {n}, prefill: {count} tokens read at once, {cached} from the KV cache, "
                "{time} ({each} a token)."
            )
            if one.evaluated == 1:
                words = self.tr(
                    "Pass {n}, prefill: 1 token read, {cached} from the KV cache, {time}."
                )
        return words.format(
            n=numbers.count(one.number),
            count=numbers.count(one.evaluated),
            cached=numbers.count(one.cached),
            time=numbers.duration(one.seconds),
            each=numbers.duration(one.seconds / one.evaluated),
        )

    def _totals_text(self) -> str:
        lines: list[tuple[str, ...]] = [
            (
                "",
                self.tr("passes"),
                self.tr("tokens"),
                self.tr("from cache"),
                self.tr("time"),
                self.tr("a token"),
            )
        ]
        for kind, name in (
            (PassKind.PREFILL, self.tr("Prefill")),
            (PassKind.DECODE, self.tr("Decode")),
        ):
            of = self._session.passes.log.totals(kind)
            each = of.seconds_per_token
            lines.append(
                (
                    f"<b>{name}</b>",
                    numbers.count(of.passes),
                    numbers.count(of.evaluated),
                    numbers.count(of.cached),
                    numbers.duration(of.seconds),
                    numbers.UNKNOWN if each is None else numbers.duration(each),
                )
            )
        turned = list(zip(*lines, strict=True))
        return _table(turned if self.width() < NARROWEST else lines)

    def _weights_text(self, model: ModelInfo) -> str:
        log, weights = self._session.passes.log, model.weight_bytes
        text = self.tr(
            "<b>Weights: {size}.</b> Fixed, and shared by every text. A decode reads up to all of "
            "them for its one token: {size} a token{speed}."
        )
        decode, prefill = log.last_of(PassKind.DECODE), log.last_of(PassKind.PREFILL)
        speed = ""
        if decode is not None and decode.seconds > 0:
            rate = numbers.size(weights / decode.seconds)
            speed = self.tr(", {rate} a second").format(rate=rate)
        text = text.format(size=numbers.size(weights), speed=speed)
        if prefill is None or prefill.evaluated < 2:
            return text
        shared = self.tr("The last prefill shared one reading among {n} tokens: {each} a token.")
        each = numbers.size(weights / prefill.evaluated)
        return f"{text} {shared.format(n=numbers.count(prefill.evaluated), each=each)}"

    def _activations_text(self, model: ModelInfo) -> str:
        tokens, each = len(self._session.ids), model.kv_bytes_per_token
        if each == 0:
            return self.tr(
                "<b>State: of fixed size.</b> Activations, yours for this one text. This model "
                "keeps no keys and values, so that its memory does not grow with the text."
            )
        return self.tr(
            "<b>Keys and values: {all}.</b> Activations, yours for this one text: {each} a token "
            "× {n} tokens. The next token reads all of them and adds its own {each}."
        ).format(all=numbers.size(tokens * each), each=numbers.size(each), n=numbers.count(tokens))

    # -- taking away ------------------------------------------------------------------------

    def _table(self) -> TableMaker:
        passes = self._session.passes.log.passes
        titles = ("pass", "kind", "tokens_evaluated", "tokens_from_cache", "seconds")

        def make() -> Table:
            rows = tuple(
                (one.number, one.kind.value, one.evaluated, one.cached, one.seconds)
                for one in passes
            )
            return Table("passes", titles, rows)

        return make


def _table(lines: list[tuple[str, ...]]) -> str:
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td align='{'left' if index == 0 else 'right'}' "
            f"style='padding: 0 {theme.GRID}px 2px 0'>{cell.replace(' ', '&nbsp;')}</td>"
            for index, cell in enumerate(line)
        )
        + "</tr>"
        for line in lines
    )
    return f"<table>{rows}</table>"
