"""Long and growing texts in the token view: what they cost, and what stays in sight."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import pytest
import token_view_stage
from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from token_view_stage import (
    BLUE,
    BOS,
    CJK,
    E2,
    IS,
    LAPTOP,
    REST,
    SKY,
    STOP,
    TAB,
    THE,
    VOCABULARY,
    WOMAN,
    ZWJ,
    A,
    picture,
)

from logitscope.gui import theme
from logitscope.gui.widgets.token_canvas import MARGIN
from logitscope.gui.widgets.token_painter import CellStyle
from logitscope.gui.widgets.token_view import TokenView
from logitscope.vocabulary import TokenKind, Vocabulary

view = token_view_stage.view
sky = token_view_stage.sky


# -- cost ----------------------------------------------------------------------------------------


@pytest.fixture
def long_view(view: TokenView, qtbot: QtBot) -> TokenView:
    """100,000 tokens."""
    view.set_tokens((THE, SKY, IS, BLUE) * 25_000, VOCABULARY)
    assert not view.is_complete, "a long text is laid out in slices"
    qtbot.waitUntil(lambda: view.is_complete, timeout=60_000)
    return view


def test_appending_to_a_long_text_lays_out_one_token(long_view: TokenView) -> None:
    before = long_view.built_tokens
    long_view.append(SKY)
    assert long_view.built_tokens == before + 1
    assert long_view.is_complete


def test_an_edit_lays_out_only_what_follows_it(long_view: TokenView, qtbot: QtBot) -> None:
    before = long_view.built_tokens
    ids = list(long_view.ids)
    ids[99_000] = A
    long_view.set_tokens(ids, VOCABULARY)
    qtbot.waitUntil(lambda: long_view.is_complete, timeout=60_000)
    assert long_view.built_tokens == before + 1000


def test_only_visible_tokens_are_painted(long_view: TokenView) -> None:
    asked: set[int] = set()

    def style(token: int) -> CellStyle:
        asked.add(token)
        return CellStyle()

    long_view.set_style(style)
    long_view.verticalScrollBar().setValue(long_view.verticalScrollBar().maximum() // 2)
    asked.clear()
    picture(long_view, 1)
    per_line = 40
    lines = long_view.viewport().height() // long_view.line_height + 2
    assert 0 < len(asked) <= per_line * lines
    assert max(asked) - min(asked) < per_line * lines


# -- scrolling -----------------------------------------------------------------------------------


def grow(view: TokenView, count: int) -> None:
    for _ in range(count):
        view.append(STOP)


def test_the_end_stays_in_view_until_the_person_scrolls_away(view: TokenView) -> None:
    view.set_tokens((STOP,) * 100, VOCABULARY)
    bar = view.verticalScrollBar()
    assert bar.value() == bar.maximum() > 0
    grow(view, 10)
    assert bar.value() == bar.maximum()
    bar.setValue(20)
    grow(view, 10)
    assert bar.value() == 20
    view.scroll_to_end()
    grow(view, 10)
    assert bar.value() == bar.maximum()


@pytest.mark.parametrize(
    "change",
    [
        lambda view: view.resize(250, 240),
        lambda view: view.set_shows_ids(True),
        lambda view: view.set_marks(False),
        lambda view: view.set_tokens((THE, *view.ids[1:]), VOCABULARY),
    ],
)
def test_what_is_read_stays_in_view_when_lines_change(
    view: TokenView, change: Callable[[TokenView], None], qtbot: QtBot
) -> None:
    view.set_tokens((A, SKY, IS, BLUE) * 500, VOCABULARY)
    qtbot.waitUntil(lambda: view.is_complete)
    view.verticalScrollBar().setValue(30 * view.line_height)
    first = view.token_at(QPoint(20, 12))
    assert first is not None
    change(view)
    qtbot.waitUntil(lambda: view.is_complete)
    assert view.viewport().rect().intersects(view.rect_of(first))


def test_selecting_scrolls_to_the_token(view: TokenView) -> None:
    view.set_tokens((STOP,) * 100, VOCABULARY)
    for token in (3, 97):
        view.set_selected_position(token)
        assert view.viewport().rect().contains(view.rect_of(token))


def test_a_shorter_text_forgets_what_was_selected_behind_its_end(sky: TokenView) -> None:
    sky.set_selected_position(5)
    sky.set_tokens((BOS, THE), VOCABULARY)
    assert sky.selected_position is None
    assert sky.drawn_lines() == ["<bos>The"]


def test_another_vocabulary_draws_the_same_ids_anew(sky: TokenView) -> None:
    other = Vocabulary.from_pieces([b"z"] * 20, [TokenKind.NORMAL] * 20, bos=None, eos=None)
    sky.set_tokens((0, 1), other)
    assert sky.drawn_lines() == ["zz"]
    sky.set_tokens((0, 1), None)
    assert sky.ids == ()


def heights_of_lines(image: QImage) -> list[int]:
    """Of the tinted stretches of a column of pixels in the first token of each line."""
    page = theme.palette().page
    x = round((MARGIN + 1.5) * image.devicePixelRatio())
    column = [image.pixelColor(x, y) != page for y in range(image.height())]
    return [len(list(run)) for is_tinted, run in itertools.groupby(column) if is_tinted]


@pytest.mark.parametrize("ratio", [1, 2])
@pytest.mark.parametrize("height", [100, 107, 114, 121])
def test_no_line_is_cut_at_an_edge(view: TokenView, qtbot: QtBot, height: int, ratio: int) -> None:
    view.resize(420, height)
    view.set_tokens((BLUE,) * 300, VOCABULARY)
    qtbot.waitUntil(lambda: view.is_complete)
    view.set_style(lambda _token: CellStyle(theme.palette().generated_tint))
    bar = view.verticalScrollBar()
    for value in (0, 7, view.line_height + 13, bar.maximum() // 2 + 5, bar.maximum()):
        bar.setValue(value)
        heights = heights_of_lines(picture(view, ratio))
        assert len(heights) == (height - MARGIN) // view.line_height
        assert len(set(heights)) == 1
    assert view.lines_rect.contains(view.rect_of(299))


def test_a_click_beside_the_lines_meets_no_token(view: TokenView) -> None:
    view.set_tokens((STOP,) * 100, VOCABULARY)
    view.verticalScrollBar().setValue(5 * view.line_height)
    shown = view.lines_rect
    assert view.token_at(QPoint(MARGIN + 2, shown.top())) == 5
    assert view.token_at(QPoint(MARGIN + 2, shown.top() - 1)) is None
    assert view.token_at(QPoint(MARGIN + 2, shown.bottom() + 1)) is None


def on_screen(view: TokenView) -> QImage:
    """What is there without painting anything again."""
    QApplication.processEvents()
    corner = view.viewport().mapTo(view.window(), QPoint())
    area = QRect(corner, view.viewport().size())
    return view.screen().grabWindow(view.window().winId()).toImage().copy(area)


def test_a_text_that_grows_looks_as_if_it_were_painted_anew(view: TokenView) -> None:
    rng = random.Random(4)
    ids: list[int] = []
    asked: set[int] = set()

    def style(token: int) -> CellStyle:
        asked.add(token)
        return CellStyle(theme.palette().generated_tint)

    view.set_style(style)
    for _ in range(120):
        ids.append(rng.choice([THE, SKY, BLUE, STOP, CJK, WOMAN, ZWJ, LAPTOP, TAB, E2, REST]))
        asked.clear()
        view.set_tokens(tuple(ids), VOCABULARY, repaint=False)
        grown = on_screen(view)
        new = len(asked)
        view.viewport().update()
        assert grown == on_screen(view), ids
    assert new < len(asked) / 2
