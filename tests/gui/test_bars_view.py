"""What is repainted of the bars when something else is to be seen."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, QRect
from PySide6.QtGui import QImage, QPaintEvent, QRegion
from pytestqt.qtbot import QtBot

from logitscope.gui.widgets.bars_data import Bar, Tail
from logitscope.gui.widgets.bars_view import BarsView

BARS = tuple(
    Bar(i, f"token {i}", i + 1, 5.0 - i, 0.4 / (i + 1), 0.5 / (i + 1), note="rank 2" * (i == 1))
    for i in range(8)
)
TAIL = Tail("every other token", 92, 0.1, 0.05)


class Painted(QObject):
    """The part of the viewport that was painted last."""

    def __init__(self, view: BarsView) -> None:
        super().__init__(view)
        self.last = QRect()
        view.viewport().installEventFilter(self)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QPaintEvent):
            self.last = event.rect()
        return False


@pytest.fixture
def view(qtbot: QtBot) -> BarsView:
    made = BarsView()
    qtbot.addWidget(made)
    made.resize(600, 400)
    made.set_rows(BARS, TAIL, is_forced=False)
    made.show()
    qtbot.waitExposed(made)
    return made


def moved(bars: tuple[Bar, ...]) -> tuple[Bar, ...]:
    return tuple(replace(bar, shaped=bar.shaped * 0.7) for bar in bars)


def image(view: BarsView, area: QRect) -> QImage:
    made = QImage(area.size(), QImage.Format.Format_RGB32)
    made.fill(0)
    view.viewport().render(made, QPoint(), QRegion(area))
    return made


def test_other_settings_repaint_the_bars_and_their_numbers_only(
    qtbot: QtBot, view: BarsView
) -> None:
    painted = Painted(view)
    view.set_rows(moved(BARS), replace(TAIL, shaped=0.3), is_forced=False)
    whole = view.viewport().rect()
    qtbot.waitUntil(lambda: not painted.last.isEmpty())
    assert painted.last.width() < 0.7 * whole.width()
    part = painted.last
    assert image(view, part) == image(view, whole).copy(part)


@pytest.mark.parametrize("change", [{"text": "other"}, {"removed_by": "top-k"}, {"logit": 9.0}])
def test_anything_else_repaints_the_row_as_a_whole(
    qtbot: QtBot, view: BarsView, change: dict[str, object]
) -> None:
    painted = Painted(view)
    view.set_rows((replace(BARS[0], **change), *BARS[1:]), TAIL, is_forced=False)
    qtbot.waitUntil(lambda: painted.last == view.viewport().rect())


def test_another_sentence_takes_the_place_of_the_one_before(qtbot: QtBot, view: BarsView) -> None:
    painted, whole = Painted(view), view.viewport().rect()
    view.empty_text = "Loading the model, which takes a while …"
    view.set_rows((), None, is_forced=False)
    qtbot.waitUntil(lambda: painted.last == whole)
    painted.last = QRect()
    view.empty_text = "The model is reading the text …"
    view.set_rows((), None, is_forced=False)
    qtbot.waitUntil(lambda: painted.last == whole)
