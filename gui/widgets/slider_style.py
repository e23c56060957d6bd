"""Sliders that follow the mouse to where it is pressed, instead of moving by a page."""

from __future__ import annotations

from functools import cache

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QProxyStyle,
    QSlider,
    QStyle,
    QStyleHintReturn,
    QStyleOption,
    QWidget,
)

_BUTTONS = Qt.MouseButton.LeftButton.value | Qt.MouseButton.MiddleButton.value


class _AbsoluteSet(QProxyStyle):
    """Fusion, but for one hint."""

    def styleHint(
        self,
        hint: QStyle.StyleHint,
        option: QStyleOption | None = None,
        widget: QWidget | None = None,
        returnData: QStyleHintReturn | None = None,  # noqa: N803 -- named by Qt
    ) -> int:
        if hint is QStyle.StyleHint.SH_Slider_AbsoluteSetButtons:
            return _BUTTONS
        return super().styleHint(hint, option, widget, returnData)


@cache
def _style() -> QProxyStyle:
    return _AbsoluteSet("Fusion")


def follow_clicks(slider: QSlider) -> None:
    """Let a press on the groove put the handle there.

    For sliders alone: asked by every widget, a hint that Python answers would slow the start down.
    """
    slider.setStyle(_style())
