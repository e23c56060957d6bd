"""The bar on top: which model is loaded, what it costs, and what it is doing now."""

from __future__ import annotations

import time
from pathlib import Path

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QMenu,
    QProgressBar,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from logitscope.backends.base import ModelInfo
from logitscope.backends.messages import Phase
from logitscope.gui import icons, theme
from logitscope.gui.engine import IDLE, Activity
from logitscope.gui.older_row import OlderRow
from logitscope.gui.reading import Stage
from logitscope.gui.session import Session
from logitscope.gui.widgets import numbers
from logitscope.gui.widgets.facts import FactRow
from logitscope.gui.widgets.frame_progress import show_progress
from logitscope.gui.widgets.plain import plain, plain_tip, set_tip
from logitscope.gui.widgets.status_dot import StatusDot

FRAME_MS = 200
"""Faster changing figures cannot be read, and a progress bar paints the window each time."""
PATIENCE_MS = 150
"""Reading a prompt is shown only where it takes longer: typing should not make the bar blink."""
NEARLY_FULL = 0.95
PROGRESS_WIDTH = 96
NAME_SHARE = 0.25
"""Of the bar, for the model's name at most: a long one drove out the figures."""


class ModelBar(QWidget):
    """Shows ``session.model`` and ``session.engine.activity``."""

    stop_wanted = Signal()

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._shown = IDLE
        self._older = OlderRow(session, self)
        self.name = _name_button(self)
        self.facts = FactRow(self)
        self._add_facts()
        self.dot = StatusDot(self)
        self.doing = plain(QLabel(self))
        self.progress = QProgressBar(self, textVisible=False)
        self.stop = self._stop_button()
        self._lay_out()
        self._frame = QTimer(self, interval=FRAME_MS, singleShot=True)
        self._frame.timeout.connect(self._draw)
        self._drawn = 0.0
        """When it was drawn last."""
        self._follow()
        self._restyle()
        self._draw()

    def set_menu(self, menu: QMenu) -> None:
        """What a click on the name opens."""
        self.name.setMenu(menu)

    # -- making -----------------------------------------------------------------------------

    def _add_facts(self) -> None:
        add = self.facts.add
        self.quantization = add("", self.tr("How the weights are stored"), 7)
        self.device = add("", self.tr("Where the model runs"), 4)
        self.weights = add(self.tr("weights"), self.tr("Memory of the weights"), 2)
        self._context_tip = self.tr("Tokens in use, and how many the model can hold")
        self.context = add(self.tr("context"), self._context_tip, 6)
        self.cache = add(
            self.tr("KV"), self.tr("Memory of the keys and values of the tokens in use"), 3
        )
        self.speed = add("", self.tr("Speed of the last tokens, in the model process"), 5)

    def _stop_button(self) -> QToolButton:
        button = QToolButton(self)
        button.setIcon(icons.icon("stop"))
        button.setProperty("flat", True)
        button.setToolTip(self.tr("Stop what the model is doing (Esc)"))
        button.setAccessibleName(self.tr("Stop"))
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.clicked.connect(self.stop_wanted)
        policy = button.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        button.setSizePolicy(policy)
        return button

    def _lay_out(self) -> None:
        self.doing.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.progress.setFixedWidth(PROGRESS_WIDTH)
        policy = QSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        policy.setRetainSizeWhenHidden(True)
        self.progress.setSizePolicy(policy)
        self.progress.setAccessibleName(self.tr("Progress"))
        row = QHBoxLayout(self)
        row.setContentsMargins(theme.GRID, 4, theme.GRID, 4)
        row.setSpacing(theme.GRID)
        row.addWidget(self.name)
        row.addSpacing(4)
        row.addWidget(self.facts, 1)
        row.addWidget(self.progress)
        row.addWidget(self.doing)
        row.addWidget(self.dot)
        row.addWidget(self.stop)

    def _follow(self) -> None:
        session = self._session
        session.model_changed.connect(self._draw)
        for signal in (
            session.path_changed,
            session.cost_changed,
            session.run_changed,
            session.reading.changed,
            self._older.changed,
        ):
            signal.connect(self._soon)
        session.frames.triggered.connect(self._draw_with_others)
        session.engine.activity_changed.connect(self._activity_changed)
        theme.notifier().changed.connect(self._restyle)

    # -- showing ----------------------------------------------------------------------------

    def _activity_changed(self, activity: Activity) -> None:
        phase, shown = activity.phase, self._shown.phase
        if phase is Phase.PREFILL and shown is None:
            if not self._frame.isActive():
                self._frame.start(PATIENCE_MS)
        elif (phase, shown) != (Phase.DECODE, Phase.DECODE):
            self._soon()

    def _soon(self) -> None:
        if not self._frame.isActive():
            self._frame.start(FRAME_MS)

    def _draw_with_others(self) -> None:
        """What changes with the panels is painted with them, and the window once instead of twice;
        all the same no more often than it can be read."""
        is_due = 1000 * (time.monotonic() - self._drawn) >= FRAME_MS
        if self._session.is_running and is_due:
            self._draw()

    def _restyle(self) -> None:
        font = theme.ui_font(1)
        font.setWeight(font.Weight.DemiBold)
        self.name.setFont(font)
        self.doing.setFont(theme.number_font())
        room = self.doing.fontMetrics().horizontalAdvance(self._widest())
        self.doing.setMinimumWidth(room + theme.GRID)
        self.facts.fit()

    def _widest(self) -> str:
        return self.tr("Prefill {done} / {total}").format(done="00,000", total="00,000")

    def _draw(self) -> None:
        self._drawn = time.monotonic()
        self._frame.stop()
        self._shown = self._session.engine.activity
        self._draw_model()
        self._draw_activity()
        self.facts.fit()

    def _draw_model(self) -> None:
        model = self._session.model
        self.name.setText(self._fitted(self._title()))
        if model is None:
            for fact in (self.quantization, self.device, self.weights, self.context, self.cache):
                fact.set_value("")
            self.speed.set_value("")
            return
        speed = self._session.tokens_per_second
        about = f"{model.name}\n{model.path}\n{model.architecture} · {model.backend}"
        set_tip(self.name, plain_tip(about))
        self.quantization.set_value(model.quantization)
        self.device.set_value(model.device)
        self.weights.set_value(size_text(model.weight_bytes))
        self._draw_context(model)
        set_tip(self.context, plain_tip("\n".join((self._context_tip, *model.notes))))
        self.speed.set_value("" if speed is None else self.tr("{:.1f} tok/s").format(speed))

    def _draw_context(self, model: ModelInfo) -> None:
        held = model.context_length
        if not self._session.is_ready:
            # How many tokens the text has is not known before the model has read it.
            self.context.set_value(f"{numbers.UNKNOWN} / {held:,}")
            self.cache.set_value(numbers.UNKNOWN)
            return
        used = len(self._session.ids)
        self.context.set_value(f"{used:,} / {held:,}", warns=used >= NEARLY_FULL * held)
        # Of a text that is longer than the context no more than that is ever held.
        self.cache.set_value(size_text(round(min(used, held) * model.kv_bytes_per_token)))

    def _fitted(self, title: str) -> str:
        """As a button shows it: cut in the middle, for models differ at either end."""
        metrics, room = self.name.fontMetrics(), round(NAME_SHARE * self.width())
        return metrics.elidedText(title, Qt.TextElideMode.ElideMiddle, room).replace("&", "&&")

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.name.setText(self._fitted(self._title()))

    def _title(self) -> str:
        session = self._session
        if session.model is not None:
            return session.model.name
        if session.loading_path is not None:
            return Path(session.loading_path).name
        return self.tr("Open a model")

    def _draw_activity(self) -> None:
        activity = self._shown
        busy = activity.phase is not None or self._is_reading()
        self.doing.setText(self._words(activity))
        self.progress.setVisible(busy and activity.total > 1)
        show_progress(self.progress, activity.done, activity.total)
        self.stop.setVisible(activity.phase is not None)
        self.dot.set_state(busy=busy, ready=self._session.model is not None)

    def _words(self, activity: Activity) -> str:
        if activity.phase is None:
            return self._words_without_activity()
        if activity.phase is Phase.LOAD:
            share = activity.done * 100 // max(1, activity.total)
            return self.tr("Loading {share} %").format(share=share)
        if activity.phase is Phase.PREFILL and not activity.total:
            return self.tr("Reading …")
        words = {
            Phase.PREFILL: self.tr("Prefill {done} / {total}"),
            Phase.DECODE: self.tr("Decoding {done} / {total}"),
            Phase.SCORE: self.tr("Scoring {done} / {total}"),
            Phase.ORIGIN: self.tr("Origin {done} / {total}"),
        }[activity.phase]
        return words.format(done=f"{activity.done:,}", total=f"{activity.total:,}")

    def _words_without_activity(self) -> str:
        if self._session.model is None:
            return self.tr("No model")
        return self.tr("Reading …") if self._is_reading() else self.tr("Ready")

    def _is_reading(self) -> bool:
        """The text is with the model, which has not told yet how far it is: a long text becomes
        ids first, and what was asked before may have to end."""
        return self._older.is_older or self._session.reading.stage is Stage.READING


def size_text(count: int) -> str:
    """Bytes for people, in powers of 1000: ``241 MB``, ``1.1 MB``, ``0 MB``."""
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if count >= size:
            value = count / size
            return f"{value:.0f} {unit}" if value >= 100 else f"{value:.1f} {unit}"
    return f"{count / 1e3:.0f} kB" if count else "0 MB"


def _name_button(parent: QWidget) -> QToolButton:
    button = QToolButton(parent)
    button.setObjectName("modelName")
    button.setProperty("flat", True)
    button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
    button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
    button.setIcon(icons.icon("model", "accent"))
    button.setIconSize(QSize(20, 20))
    button.setAccessibleName(button.tr("Model"))
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button
