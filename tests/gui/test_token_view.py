"""What the token view draws, through a real widget."""

from __future__ import annotations

from itertools import pairwise

import pytest
import token_view_stage
from PySide6.QtCore import QPoint
from PySide6.QtGui import QColor
from pytestqt.qtbot import QtBot
from token_view_stage import (
    ARABIC,
    BOS,
    CJK,
    E2,
    LAPTOP,
    NBSP,
    NUL,
    REST,
    SKY,
    STOP,
    TAB,
    THE,
    VOCABULARY,
    WOMAN,
    ZWJ,
    A,
    click,
    picture,
)

from logitscope.gui import colors, theme
from logitscope.gui.widgets.token_painter import CellStyle, Mark
from logitscope.gui.widgets.token_view import TokenView

view = token_view_stage.view
sky = token_view_stage.sky


def ground(view: TokenView, token: int, ratio: int = 1) -> QColor:
    """The colour in the upper left of a token's cell, where no glyph reaches."""
    corner = view.rect_of(token).topLeft() + QPoint(3, 4)
    return picture(view, ratio).pixelColor(corner * ratio)


def test_text_is_drawn_as_written_with_marks(view: TokenView) -> None:
    view.set_tokens((BOS, THE, SKY, STOP, A, TAB, NUL, NBSP), VOCABULARY)
    assert view.drawn_lines() == ["<bos>The·sky.⏎", "·a→   ␀⍽"]


def test_marks_can_be_switched_off(view: TokenView) -> None:
    view.set_tokens((BOS, THE, SKY, STOP, A, TAB, NUL, NBSP), VOCABULARY)
    view.set_marks(False)
    assert view.drawn_lines() == ["<bos>The sky.", " a    ␀\u00a0"]
    view.set_marks(True)
    assert view.drawn_lines()[0] == "<bos>The·sky.⏎"


def test_scripts_and_pictures_are_drawn_whole(view: TokenView) -> None:
    view.set_tokens((CJK, ARABIC, WOMAN, ZWJ, LAPTOP, E2, REST), VOCABULARY)
    assert view.drawn_lines() == ["中文·مرحبا👩\u200d💻€"]


def test_tokens_of_one_character_lie_side_by_side_in_it(view: TokenView, qtbot: QtBot) -> None:
    view.set_tokens((A, E2, REST, WOMAN, ZWJ, LAPTOP), VOCABULARY)
    rects = [view.rect_of(token) for token in range(6)]
    assert all(one.right() <= other.left() + 2 for one, other in pairwise(rects))
    assert abs(rects[1].width() - rects[2].width()) <= 1
    for token in range(6):
        click(qtbot, view, token)
        assert view.selected_position == token


def test_arabic_keeps_its_place_among_the_tokens(view: TokenView) -> None:
    view.set_tokens((THE, ARABIC, ARABIC, SKY), VOCABULARY)
    lefts = [view.rect_of(token).left() for token in range(4)]
    assert lefts == sorted(lefts)
    assert len(set(lefts)) == 4


@pytest.mark.parametrize("ratio", [1, 2])
@pytest.mark.parametrize("mode", [theme.Mode.LIGHT, theme.Mode.DARK])
def test_marked_tokens_have_their_colour_and_others_the_page(
    sky: TokenView, ratio: int, mode: theme.Mode
) -> None:
    theme.set_mode(mode)
    tint = theme.palette().generated_tint
    sky.set_style(lambda token: CellStyle(tint if token >= 3 else None, mark=Mark.NONE))
    assert ground(sky, 3, ratio) == tint
    assert ground(sky, 2, ratio) == theme.palette().page
    theme.set_mode(theme.Mode.LIGHT)


@pytest.mark.parametrize("palette", [colors.LIGHT, colors.DARK])
@pytest.mark.parametrize("tint", ["page", "generated_tint", "forced_tint", "selection"])
def test_text_and_marks_are_readable_on_every_tint(palette: colors.Palette, tint: str) -> None:
    for text in (palette.text, palette.muted):
        assert colors.contrast(text, getattr(palette, tint)) >= colors.MINIMUM_CONTRAST


@pytest.mark.parametrize("mark", [mark for mark in Mark if mark is not Mark.NONE])
def test_a_second_mark_is_seen_without_colour(sky: TokenView, mark: Mark) -> None:
    plain = picture(sky, 2)
    sky.set_style(lambda token: CellStyle(mark=mark if token == 1 else Mark.NONE))
    marked = picture(sky, 2)
    rect = sky.rect_of(1)
    changed = {
        (x, y)
        for x in range(plain.width())
        for y in range(plain.height())
        if plain.pixel(x, y) != marked.pixel(x, y)
    }
    assert len(changed) > rect.width() // 3
    assert all(rect.left() <= x / 2 <= rect.right() + 1 for x, _ in changed)


def test_the_selected_token_and_the_end_are_marked(sky: TokenView) -> None:
    sky.set_selected_position(2)
    assert ground(sky, 2) == theme.palette().selection
    sky.set_selected_position(None)
    end = sky.rect_of(len(sky.ids))
    row = picture(sky, 1)
    names = {row.pixelColor(end.left() + x, end.center().y()).name() for x in range(1, 6)}
    assert theme.palette().accent.name() in names


def test_ids_take_a_line_of_their_own(sky: TokenView) -> None:
    before = sky.line_height
    plain = picture(sky, 1)
    sky.set_shows_ids(True)
    assert sky.line_height > before
    assert picture(sky, 1) != plain


def test_larger_text_makes_taller_lines(sky: TokenView) -> None:
    before = sky.line_height
    theme.set_zoom(6)
    assert sky.line_height > before
    assert sky.drawn_lines()[0] == "<bos>The·sky·is·blue.⏎"
    theme.set_zoom(0)
    assert sky.line_height == before


def test_an_empty_view_says_what_to_do(view: TokenView) -> None:
    blank = picture(view, 1)
    view.set_placeholder("Type a prompt.")
    assert picture(view, 1) != blank
