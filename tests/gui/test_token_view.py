"""The token view through a real widget: what is drawn, chosen, copied, and how much it costs."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QColor, QContextMenuEvent, QGuiApplication, QHelpEvent, QImage, QPainter
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

from logitscope.gui import colors, theme
from logitscope.gui.widgets.token_painter import CellStyle, Mark
from logitscope.gui.widgets.token_tooltip import tooltip
from logitscope.gui.widgets.token_view import TokenView
from logitscope.steps import Draw, Origin, StepRecord
from logitscope.vocabulary import TokenKind, Vocabulary

TEXTS = ["<bos>", "The", " sky", " is", " blue", ".\n", "中文", " مرحبا", "\u0000", "\u00a0",
         "👩", "\u200d", "💻", " a", "\t"]  # fmt: skip
PIECES = [text.encode() for text in TEXTS] + [b"\xe2", b"\x82\xac"]
BOS, THE, SKY, IS, BLUE, STOP, CJK, ARABIC, NUL, NBSP, WOMAN, ZWJ, LAPTOP, A, TAB = range(15)
E2, REST = 15, 16
VOCABULARY = Vocabulary.from_pieces(
    PIECES, [TokenKind.CONTROL] + [TokenKind.NORMAL] * (len(PIECES) - 1), bos=BOS, eos=None
)


@pytest.fixture
def view(qtbot: QtBot, styled_app: QApplication) -> Iterator[TokenView]:
    theme.set_mode(theme.Mode.LIGHT)
    view = TokenView()
    qtbot.addWidget(view)
    view.resize(420, 240)
    view.show()
    qtbot.waitExposed(view)
    yield view
    QToolTip.hideText()


@pytest.fixture
def sky(view: TokenView) -> TokenView:
    """<bos>The sky is blue.⏎"""
    view.set_tokens((BOS, THE, SKY, IS, BLUE, STOP), VOCABULARY)
    return view


def middle(view: TokenView, token: int) -> QPoint:
    return view.rect_of(token).center()


def click(
    qtbot: QtBot,
    view: TokenView,
    token: int,
    modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier,
) -> None:
    button = Qt.MouseButton.LeftButton
    qtbot.mouseClick(view.viewport(), button, modifier, middle(view, token))


def picture(view: TokenView, ratio: int) -> QImage:
    size: QSize = view.viewport().size() * ratio
    image = QImage(size, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(ratio)
    painter = QPainter(image)
    view.viewport().render(painter, QPoint())
    painter.end()
    return image


def ground(view: TokenView, token: int, ratio: int = 1) -> QColor:
    """The colour in the upper left of a token's cell, where no glyph reaches."""
    corner = view.rect_of(token).topLeft() + QPoint(3, 4)
    return picture(view, ratio).pixelColor(corner * ratio)


# -- what is drawn -------------------------------------------------------------------------------


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


# -- choosing ------------------------------------------------------------------------------------


def test_a_click_selects_and_a_click_beside_the_text_goes_to_the_end(
    sky: TokenView, qtbot: QtBot
) -> None:
    with qtbot.waitSignal(sky.position_selected) as chosen:
        click(qtbot, sky, 3)
    assert chosen.args == [3]
    with qtbot.waitSignal(sky.position_selected) as chosen:
        qtbot.mouseClick(
            sky.viewport(), Qt.MouseButton.LeftButton, pos=sky.viewport().rect().bottomRight()
        )
    assert chosen.args == [None]


def test_keys_move_the_selection(sky: TokenView, qtbot: QtBot) -> None:
    for key, expected in (
        (Qt.Key.Key_Left, 5),
        (Qt.Key.Key_Left, 4),
        (Qt.Key.Key_Right, 5),
        (Qt.Key.Key_Home, 0),
        (Qt.Key.Key_Left, 0),
        (Qt.Key.Key_Up, 0),
        (Qt.Key.Key_End, None),
        (Qt.Key.Key_Up, 0),
        (Qt.Key.Key_Down, None),
    ):
        qtbot.keyClick(sky, key)
        assert sky.selected_position == expected


def test_up_and_down_stay_in_the_column(view: TokenView, qtbot: QtBot) -> None:
    view.set_tokens((THE, SKY, STOP, THE, SKY, STOP), VOCABULARY)
    view.set_selected_position(1)
    qtbot.keyClick(view, Qt.Key.Key_Down)
    assert view.selected_position == 4
    qtbot.keyClick(view, Qt.Key.Key_Up)
    assert view.selected_position == 1


def test_deleting_and_double_clicking_ask_for_a_rewind(sky: TokenView, qtbot: QtBot) -> None:
    for act, position in (
        (lambda: qtbot.keyClick(sky, Qt.Key.Key_Backspace), 5),
        (lambda: (sky.set_selected_position(3), qtbot.keyClick(sky, Qt.Key.Key_Delete)), 3),
        (
            lambda: qtbot.mouseDClick(
                sky.viewport(), Qt.MouseButton.LeftButton, pos=middle(sky, 4)
            ),
            4,
        ),
    ):
        with qtbot.waitSignal(sky.rewind_requested) as asked:
            act()
        assert asked.args == [position]


def test_a_drag_chooses_a_range_in_both_directions(sky: TokenView, qtbot: QtBot) -> None:
    ranges: list[tuple[int, int]] = []
    sky.range_selected.connect(lambda start, stop: ranges.append((start, stop)))
    for start, stop in ((1, 3), (4, 2)):
        qtbot.mousePress(sky.viewport(), Qt.MouseButton.LeftButton, pos=middle(sky, start))
        qtbot.mouseMove(sky.viewport(), middle(sky, stop))
        qtbot.mouseRelease(sky.viewport(), Qt.MouseButton.LeftButton, pos=middle(sky, stop))
        assert sky.chosen == range(min(start, stop), max(start, stop) + 1)
    assert (1, 4) in ranges
    assert (2, 5) in ranges


def test_shift_extends_the_selection(sky: TokenView, qtbot: QtBot) -> None:
    click(qtbot, sky, 2)
    qtbot.keyClick(sky, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClick(sky, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    assert sky.chosen == range(2, 5)
    qtbot.keyClick(sky, Qt.Key.Key_Left, Qt.KeyboardModifier.ShiftModifier)
    assert sky.chosen == range(2, 4)
    click(qtbot, sky, 5, modifier=Qt.KeyboardModifier.ShiftModifier)
    assert sky.chosen == range(2, 6)
    qtbot.keyClick(sky, Qt.Key.Key_Left)
    assert not sky.chosen


# -- copying -------------------------------------------------------------------------------------


def test_copying_gives_text_ids_and_bytes(view: TokenView, qtbot: QtBot) -> None:
    view.set_tokens((BOS, A, E2, REST, NBSP), VOCABULARY)
    clipboard = QGuiApplication.clipboard()
    qtbot.keyClick(view, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    qtbot.keyClick(view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert clipboard.text() == " a€\u00a0"
    view.choose(2, 4)
    view.copy_ids()
    assert clipboard.text() == f"{E2} {REST}"
    view.copy_bytes()
    assert clipboard.text() == "E2 82 AC"


def test_without_a_range_the_selected_token_is_copied(sky: TokenView, qtbot: QtBot) -> None:
    click(qtbot, sky, 2)
    qtbot.keyClick(sky, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == " sky"


# -- tooltips and menus --------------------------------------------------------------------------


def test_the_tooltip_is_that_of_the_token_under_the_pointer(sky: TokenView) -> None:
    sky.set_tooltip(lambda token: f"token {token}")
    where = middle(sky, 2)
    event = QHelpEvent(QEvent.Type.ToolTip, where, sky.viewport().mapToGlobal(where))
    QApplication.sendEvent(sky.viewport(), event)
    assert QToolTip.text() == "token 2"


def test_hovering_tells_the_token(sky: TokenView, qtbot: QtBot) -> None:
    with qtbot.waitSignal(sky.hovered) as under:
        qtbot.mouseMove(sky.viewport(), middle(sky, 3))
    assert under.args == [3]


def test_the_menu_key_asks_for_the_selected_token(sky: TokenView, qtbot: QtBot) -> None:
    sky.set_selected_position(2)
    with qtbot.waitSignal(sky.menu_requested) as asked:
        menu_key(sky)
    assert asked.args is not None
    assert asked.args[0] == 2


def menu_key(view: TokenView) -> None:
    event = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(0, 0), QPoint(0, 0))
    QApplication.sendEvent(view.viewport(), event)


def test_a_tooltip_tells_bytes_names_and_numbers() -> None:
    step = StepRecord(
        token_id=ZWJ,
        origin=Origin.SAMPLED,
        log_probability=math.log(0.25),
        rank=2,
        entropy=1.5,
        shaped_probability=0.125,
        draw=Draw(0.5, 0.4, 0.6),
        top_ids=(THE, ZWJ),
        top_log_probabilities=(math.log(0.5), math.log(0.25)),
        seconds=0.0,
    )
    text = tooltip(VOCABULARY, ZWJ, 7, step)
    for expected in ("‹ZWJ›", f"id {ZWJ}", "position 7", "E2 80 8D", "U+200D ZERO WIDTH JOINER",
                     "25.0 %", "rank 2", "1.50 nats", "12.5 %", "The", "50.0 %"):  # fmt: skip
        assert expected in text


def test_a_tooltip_of_a_special_token_names_it_and_has_no_markup_of_the_models() -> None:
    text = tooltip(VOCABULARY, BOS, 0, None)
    assert "&lt;bos&gt;" in text
    assert "<bos>" not in text


def test_screen_readers_hear_the_selected_token(sky: TokenView) -> None:
    sky.set_selected_position(2)
    assert "·sky" in sky.accessibleDescription()
    assert f"id {SKY}" in sky.accessibleDescription()


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
