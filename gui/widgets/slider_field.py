"""A labelled number with a slider for the usual range and a box to type any other."""

from __future__ import annotations

from PySide6.QtCore import QLocale, QObject, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QValidator
from PySide6.QtWidgets import QAbstractSpinBox, QDoubleSpinBox, QGridLayout, QLabel, QSlider

from logitscope.gui.widgets.plain import plain
from logitscope.gui.widgets.slider_style import follow_clicks

SLIDER_STEPS = 1000
"""Finer than the pixels of any slider."""
BOX_WIDTH = 72

# Qt gives a styled box with ButtonSymbols.NoButtons a text field one pixel wide; buttons without
# a width leave it whole.
_PLAIN = """
QAbstractSpinBox { padding: 1px 4px; min-height: 18px; }
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button { width: 0; border: 0; }
QAbstractSpinBox::up-arrow, QAbstractSpinBox::down-arrow { image: none; width: 0; height: 0; }
"""


def make_plain(box: QAbstractSpinBox) -> None:
    """A low box without buttons, its number on the right: the arrow keys and the wheel step."""
    box.setStyleSheet(_PLAIN)
    box.setAlignment(Qt.AlignmentFlag.AlignRight)
    box.lineEdit().setTextMargins(4, 0, 4, 0)


class NumberBox(QDoubleSpinBox):
    """With a point, as the rest of the window and every file that settings are in; a comma is
    taken for one. To Qt it parts thousands here, so that "0,7" became 7."""

    def __init__(self) -> None:
        super().__init__()
        self.setLocale(QLocale.c())

    def validate(self, text: str, position: int) -> tuple[QValidator.State, str, int]:
        return super().validate(text.replace(",", "."), position)

    def valueFromText(self, text: str) -> float:
        return super().valueFromText(text.replace(",", "."))


class SliderField(QObject):
    """Label, slider and box that share one row of a grid.

    The slider covers ``low`` to ``high``; typing goes from ``least`` up to ``limit``. ``changed``
    is emitted for what the person does, never for ``set_value``.
    """

    changed = Signal(float)

    def __init__(
        self,
        text: str,
        low: float,
        high: float,
        limit: float,
        *,
        least: float | None = None,
        decimals: int = 2,
        step: float = 0.05,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._low = low
        self._high = high
        self._decimals = decimals
        self._shown: float | None = None
        """The value last shown or entered: nine fields are refreshed at every frame of a drag."""
        self.label = plain(QLabel(text))
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setRange(0, SLIDER_STEPS)
        self.slider.setSingleStep(max(1, round(step / (high - low) * SLIDER_STEPS)))
        self.slider.setPageStep(SLIDER_STEPS // 10)
        self.slider.setAccessibleName(text)
        self.slider.setMinimumSize(64, 22)
        follow_clicks(self.slider)
        self.box = NumberBox()
        self.box.setRange(low if least is None else least, limit)
        self.box.setDecimals(decimals)
        self.box.setSingleStep(step)
        # The slider and the arrow keys step; buttons beside each box would be clutter.
        make_plain(self.box)
        self.box.setFixedWidth(BOX_WIDTH)
        # Half a number must not act: "0.8" begins with the "0" of greedy.
        self.box.setKeyboardTracking(False)
        self.box.setAccessibleName(text)
        self.label.setBuddy(self.box)
        self.slider.valueChanged.connect(self._slider_moved)
        self.box.valueChanged.connect(self._box_changed)

    def add_to(self, grid: QGridLayout, row: int) -> None:
        grid.addWidget(self.label, row, 0)
        grid.addWidget(self.slider, row, 1)
        grid.addWidget(self.box, row, 2)

    @property
    def value(self) -> float:
        return self.box.value()

    def set_value(self, value: float) -> None:
        """Show a value; the slider stands at its end for one beyond it."""
        if value == self._shown:
            return
        self._shown = value
        with QSignalBlocker(self.box):
            self.box.setValue(value)
        self._place_slider(value)

    def set_enabled(self, is_enabled: bool) -> None:
        for widget in (self.label, self.slider, self.box):
            widget.setEnabled(is_enabled)

    def set_tooltip(self, text: str) -> None:
        for widget in (self.label, self.slider, self.box):
            widget.setToolTip(text)

    def _place_slider(self, value: float) -> None:
        share = (value - self._low) / (self._high - self._low)
        with QSignalBlocker(self.slider):
            self.slider.setValue(round(min(1.0, max(0.0, share)) * SLIDER_STEPS))

    def _slider_moved(self, step: int) -> None:
        value = self._low + (self._high - self._low) * step / SLIDER_STEPS
        value = self._shown = round(value, self._decimals)
        with QSignalBlocker(self.box):
            self.box.setValue(value)
        self.changed.emit(value)

    def _box_changed(self, value: float) -> None:
        self._shown = value
        self._place_slider(value)
        self.changed.emit(value)
