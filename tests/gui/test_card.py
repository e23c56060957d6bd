"""Where the window of a popped-out panel opens."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QRect

from logitscope.gui.widgets.card import within

ROOM = QRect(0, 0, 1280, 720)


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (QRect(100, 100, 300, 200), QPoint(100, 100)),
        (QRect(-24, 500, 500, 220), QPoint(0, 500)),
        (QRect(900, 600, 400, 200), QPoint(880, 520)),
        (QRect(40, 40, 2000, 900), QPoint(0, 0)),
    ],
)
def test_a_window_lies_on_the_screen(place: QRect, expected: QPoint) -> None:
    assert within(place, ROOM) == expected
